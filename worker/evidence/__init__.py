"""What the planner knows: full outputs by reference, distilled views of them, and the case file.

May import `app.core`; the ledger reaches it as a small shelf that keeps bytes by their hash.
Refuses to lose what it shortens, and to take text from people or repositories for anything but data.
"""
