#!/bin/sh
# Gives each process the rights of its role, and an account with the password of its file, over psql's own variables:
# no password is in an argument or in the text of a statement here. Run after each migration; run twice, it changes
# nothing but passwords that were changed.
set -eu
secrets=${SECRETS:-/secrets}
roles=${ROLES:-/roles/roles.sql}
PGPASSWORD=$(cat "$secrets/PASSWORD")
PGOPTIONS="-c client_min_messages=warning"
export PGPASSWORD PGOPTIONS

psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --file "$roles"
for file in "$secrets"/accounts/*; do
    process=${file##*/}
    ACCOUNT=countersign_${process}_account ROLE=countersign_$process WORD=$(cat "$file")
    [ -n "$WORD" ] || { echo "$file is empty" >&2; exit 1; }
    export ACCOUNT ROLE WORD
    psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 <<'SQL'
\getenv account ACCOUNT
\getenv role ROLE
\getenv word WORD
SELECT format('CREATE ROLE %I LOGIN', :'account')
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'account') \gexec
SET log_statement = 'none';
ALTER ROLE :"account" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'word';
GRANT :"role" TO :"account";
SQL
done
