"""What knows and decides: the core, the ledger, the words said on GitHub, the web process and the command line.

It may import its own rooms downwards (see the ladder in `.importlinter`), and never anything of `worker`.
It refuses the App's key, models and commands: the web process cannot reach the code that has them.
"""
