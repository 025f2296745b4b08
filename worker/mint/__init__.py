"""The mint: the one process that holds the App's private key and cuts narrow, short-lived tokens.

It may import the ledger's views, `app.core` and `worker.github`; it re-reads both the ledger and, before a
write, GitHub, since it trusts no caller's word.
It refuses effects that are not owed, claims that are not the caller's, grants that do not live, and any call
that does not prove its belt; it starts no process, talks to no model and parses no repository content.
"""
