"""The program of ours that runs a repository's set-up commands inside the box, apart from those beside other programs.

It is mounted read-only and imports nothing of the product. It refuses nothing: what comes of it is judged outside.
Its folder holds nothing else, so that no command finds a module of ours in the place of one of its own.
"""
