"""The doctor's checks that need a key, a model, a command or another process; `app.doctor` has those that do not.

It may import every room below it and is imported by the entry alone: it runs in a terminal, as the operator, and ends.
It refuses to hand a check another process' settings, to keep a token that it cut, and to write anything on GitHub.
"""
