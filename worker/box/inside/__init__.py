"""Programs of ours that run inside the box, beside what is run there: tracers, a session of cells, a page's visit.

They are mounted read-only and run by the interpreters of the box, old ones too, so they import nothing of the
product. They refuse to change what a program sees or does: where they cannot follow they fall silent.
"""
