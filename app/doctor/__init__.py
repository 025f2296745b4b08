"""The doctor: whether an installation can do its work, before the first label shows it.

May import `app.core`, settings, the ledger and the queue; `worker.doctor` adds what needs a key, a model or a box.
Refuses to call anything well that it did not look at, to repair anything, and to repeat a secret.
"""
