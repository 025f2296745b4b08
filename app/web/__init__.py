"""The web process' own room, and the only FastAPI of the product: deliveries come in here, and pages show what is.

May import `app.core`, `app.settings`, `app.ledger`, `app.queue` and `app.comments`. Refuses every key, every model
and every command: it records and rings, changes nothing on a page, and never asks GitHub.
"""
