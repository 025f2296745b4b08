#!/bin/sh
# Writes what can be made by chance into secrets/: passwords, the addresses that hold them, and each belt's credential
# for the mint, the same at both ends. What is there stays. What only you have it names at its end.
set -eu
cd "$(dirname "$0")"
umask 077
made() { head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }
put() {
    mkdir -p "secrets/$1"
    [ -s "secrets/$1/$2" ] || printf '%s\n' "$3" >"secrets/$1/$2"
}

put postgres PASSWORD "$(made)"
put redis PASSWORD "$(made)"
put migrate DATABASE_URL "postgresql://countersign:$(cat secrets/postgres/PASSWORD)@postgres:5432/countersign"
for process in web mint planner executor publisher; do
    put accounts $process "$(made)"
    put $process DATABASE_URL \
        "postgresql://countersign_${process}_account:$(cat secrets/accounts/$process)@postgres:5432/countersign"
done
for process in web beat planner executor publisher; do
    put $process CELERY_BROKER_URL "redis://:$(cat secrets/redis/PASSWORD)@redis:6379/0"
done
for belt in planner executor publisher; do
    put $belt COUNTERSIGN_MINT_CREDENTIAL "$(made)"
    put mint "COUNTERSIGN_MINT_CREDENTIAL_$(echo $belt | tr a-z A-Z)" "$(cat secrets/$belt/COUNTERSIGN_MINT_CREDENTIAL)"
done
# Without a client secret in it nobody signs in to the pages, and everything else works; the old webhook secret is there
# while it is replaced.
for name in GITHUB_CLIENT_SECRET GITHUB_WEBHOOK_SECRET_OLD; do
    [ -e secrets/web/$name ] || : >secrets/web/$name
done
# Compose hands files on with their owner and mode. The folder keeps them from others on this machine.
chmod 700 secrets
find secrets -mindepth 1 -type d -exec chmod 755 {} +
find secrets -type f -exec chmod 444 {} +
for name in GITHUB_CLIENT_SECRET GITHUB_WEBHOOK_SECRET_OLD; do
    [ -s secrets/web/$name ] || chmod 644 secrets/web/$name
done

missing=
for file in web/GITHUB_WEBHOOK_SECRET mint/GITHUB_PRIVATE_KEY planner/ANTHROPIC_API_KEY executor/ANTHROPIC_API_KEY; do
    [ -s "secrets/$file" ] || missing="$missing infra/compose/secrets/$file"
done
[ -z "$missing" ] || { echo "Now put these files there yourself, readable for all inside the folder:$missing" >&2; exit 1; }
