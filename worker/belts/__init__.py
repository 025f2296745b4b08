"""The belts: planner, executor and publisher, each what one role does with the capabilities it is given.

A belt may import `app.core`, `app.comments` and the rooms below it, and takes a Reader, a Commenter, a Model or a
Box as an argument; the belts are strangers to one another and meet only in the ledger.
It refuses tokens and the ledger itself: `worker.tasks` claims, hands over and settles.
"""
