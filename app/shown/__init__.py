"""Runs as people look at them: values made of the ledger alone, the same for the pages and for the terminal.

May import `app.core` and `app.ledger`. Refuses markup, the network and every change: it tells, and decides nothing.
"""
