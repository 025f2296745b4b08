"""Which new files git would not see: its own answer, by the ignore files of the tree as it is to be."""

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from worker.repo.git import Git, GitError
from worker.repo.tree import Tree

_IGNORE_FILE = ".gitignore"
_LONGEST = 300
"""Characters of a line that is told."""


def ignored_among(git: Git, tree: Tree, paths: Iterable[str]) -> Mapping[str, str]:
    """Those of the paths that an ignore file of the tree hides, each with the line that does it.

    That a file is in git all the same makes no difference: ask for new ones. Raises GitError.
    """
    asked = tuple(paths)
    files = {name: tree.read(name) for name in _ignore_files(asked) if _is_file(tree, name)}
    if not files:
        return {}
    with tempfile.TemporaryDirectory(prefix="countersign-ignored-") as place:
        for name, content in files.items():
            target = Path(place, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        words = ("check-ignore", "--no-index", "--verbose", "-z", "--stdin")
        # This command knows no literal paths; with `./` before it no name is taken for a pattern.
        listed = b"".join(b"./" + os.fsencode(path) + b"\0" for path in asked)
        here = Git(git.directory, {"GIT_LITERAL_PATHSPECS": "0"}, Path(place))
        status, out, said = here.ask(words, listed)
    if status not in (0, 1):
        raise GitError(said.strip() or f"git check-ignore ended with status {status}")
    fields = [os.fsdecode(one) for one in out.split(b"\0")[:-1]]
    lines = {path.removeprefix("./"): line for line, path in zip(fields[2::4], fields[3::4], strict=True)}
    return {path: line[:_LONGEST] for path, line in lines.items() if not line.startswith("!")}


def _ignore_files(paths: Iterable[str]) -> list[str]:
    """Where the ignore files can stand that speak of the paths: beside them, and in every folder above."""
    names = {_IGNORE_FILE}
    for path in paths:
        above = path.rpartition("/")[0]
        while above and f"{above}/{_IGNORE_FILE}" not in names:
            names.add(f"{above}/{_IGNORE_FILE}")
            above = above.rpartition("/")[0]
    return sorted(names)


def _is_file(tree: Tree, path: str) -> bool:
    entry = tree.entry(path)
    return entry is not None and entry.kind == "file"
