"""Package clients: the programs that fetch what a project's package files name."""

import re

PACKAGE_CLIENTS = frozenset({"pip", "pip3", "uv", "npm", "pnpm", "yarn", "go", "cargo", "mvn"})
"""Programs that fetch what a project's package files name."""


def client_of(words: tuple[str, ...]) -> str:
    """The package client that a command starts, by its name or by Python; empty where it starts anything else."""
    name = words[0].rpartition("/")[2]
    if re.fullmatch(r"python[\d.]*", name):
        # What Python is given by a path within the tree is the repository's, whatever its name is.
        rest = [word for word in words[1:3] if word not in ("-I", "-m")]
        given = rest[0] if rest else ""
        name = given.rpartition("/")[2] if words[1:2] == ("-m",) or given.startswith("/") else ""
    return name if name in PACKAGE_CLIENTS else ""
