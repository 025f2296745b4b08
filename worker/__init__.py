"""What acts: the belts and their duties, the mint, and one room for each vendor and for the box.

It may import `app` and its own rooms downwards (see the ladder in `.importlinter`).
It refuses to decide what counts: a worker does one claimed effect and settles it with facts.
"""
