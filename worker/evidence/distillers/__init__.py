"""How each kind of output is read: one file per kind, listed in `kinds`, and what chooses lines by their worth.

May import the standard library and `app.core`.
Refuses to reword: every line of a view stood in the output, in that order, and what is left out is said where it was.
"""
