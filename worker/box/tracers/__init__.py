"""Programs that say, inside the box, which functions of the tree another program goes through.

They are mounted read-only and run by the interpreters of the box, old ones too, so they import nothing of the
product. They refuse to change what the program sees or does: where they cannot follow they fall silent.
"""
