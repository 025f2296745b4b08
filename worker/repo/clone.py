"""A repository that is on this machine already: read as a mirror is, and never written to, fetched into or removed."""

import os
import re
from pathlib import Path
from typing import IO

from worker.repo.git import Git, GitError


class NoClone(Exception):
    """The folder holds no repository; the text says which folder."""


class Clone:
    """A bare repository, or the one of a working folder. Its working files are not looked at."""

    def __init__(self, folder: Path) -> None:
        """Raises NoClone where there is no repository."""
        inner = folder / ".git"
        directory = inner if inner.is_dir() else _linked(inner) if inner.is_file() else folder
        shared = directory / _text(directory / "commondir") if (directory / "commondir").is_file() else directory
        if not (shared / "objects").is_dir() or not (directory / "HEAD").exists():
            raise NoClone(f"{folder} is no git repository.")
        self.git = Git(directory.resolve())

    def hold(self) -> IO[bytes]:
        """Nobody removes it; what is held is nothing."""
        return open(os.devnull, "rb")

    def holds(self, commit: str) -> bool:
        """True when the commit is here."""
        return self.git.ask(["cat-file", "-e", f"{commit}^{{commit}}"])[0] == 0

    def commit(self, name: str) -> str:
        """The id of a commit by its id's beginning, a branch or a tag. Raises KeyError."""
        if not re.fullmatch(r"[\w./@^~-]{1,200}", name) or name.startswith("-"):
            raise KeyError(name)
        try:
            return self.git.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").decode().strip()
        except GitError as error:
            raise KeyError(name) from error


def _linked(file: Path) -> Path:
    """Where the repository of a linked work tree or a submodule is (git-worktree(1), gitrepository-layout(5))."""
    return file.parent / _text(file).removeprefix("gitdir:").strip()


def _text(file: Path) -> str:
    return file.read_text("utf-8", "surrogateescape")[:4096].strip()
