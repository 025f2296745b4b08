"""A folder of the user's own: what is tried on, and what came of it as a patch and, in a git repository, a branch."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from infra.demo.playing import say
from infra.demo.stage import DemoRefused, Told

_WHO = ("-c", "user.name=countersign", "-c", "user.email=countersign@localhost", "-c", "commit.gpgsign=false")


@dataclass(frozen=True, slots=True)
class Subject:
    """What is tried on: the files, the commit that they are of ("" without git), and the issue or its file.

    `home` is the user's own folder, or a clone that was made for this; that one is kept as `keep_as`.
    """

    tree: Path
    commit: str
    home: Path
    issue: Told | Path
    keep_as: str = ""


@contextmanager
def exported(folder: Path, issue: Path) -> Iterator[Subject]:
    """A copy of what HEAD holds; of a folder without git, or without a commit, the folder itself."""
    head = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if head.returncode or not (folder / ".git").exists():
        say(f"{folder} is no git repository with a commit: its files are tried on as they are, and a patch is left.")
        yield Subject(folder, "", folder, issue)
        return
    if _git(folder, "status", "--porcelain").stdout.strip():
        say(f"What is not committed in {folder} is not tried on, and stays as it is.")
    room = Path(tempfile.mkdtemp(prefix="countersign-try-"))
    try:
        tree = room / (folder.resolve().name or "repository")
        tree.mkdir()
        index = {"GIT_INDEX_FILE": str(room / "index")}
        commit = head.stdout.strip()
        for words in (("read-tree", commit), ("checkout-index", "--all", f"--prefix={tree}/")):
            if (failed := _git(folder, *words, **index)).returncode:
                raise DemoRefused(f"{folder} cannot be read by git: {failed.stderr.strip()[:300]}")
        yield Subject(tree, commit, folder, issue)
    finally:
        shutil.rmtree(room, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Kept:
    """Under what the change is kept in a git repository: on this commit, as this branch, with these words."""

    commit: str
    branch: str
    title: str


def keep_locally(subject: Subject, out: Path | None, diff: bytes, kept: Kept) -> None:
    """The patch is in the folder asked for; the branch is there whole or not at all, and no work tree is touched.

    A clone that was made for this lies beside the patch then, under a name that nothing else had.
    """
    place = out or Path()
    place.mkdir(parents=True, exist_ok=True)
    patch = place / f"{kept.branch.rsplit('/', 1)[-1]}.patch"
    patch.write_bytes(diff)
    say(f"The change is in {patch}.")
    if kept.commit:
        say(_branched(subject.home, patch.resolve(), kept))
    if subject.keep_as:
        home = _free(place, subject.keep_as)
        shutil.move(subject.home, home)
        say(f"The clone is {home}, one commit deep (`git fetch --unshallow` brings the rest). Nothing went to GitHub.")


def _free(place: Path, name: str) -> Path:
    """A path that nothing is at."""
    tried = (place / (name if number == 1 else f"{name}-{number}") for number in count(1))
    return next(path for path in tried if not path.exists() and not path.is_symlink())


def _branched(folder: Path, patch: Path, kept: Kept) -> str:
    room = Path(tempfile.mkdtemp(prefix="countersign-try-"))
    index = {"GIT_INDEX_FILE": str(room / "index")}
    try:
        tree = ""
        for words in (("read-tree", kept.commit), ("apply", "--cached", str(patch)), ("write-tree",)):
            done = _git(folder, *words, **index)
            if done.returncode:
                return f"No branch was made ({done.stderr.strip()[:300]}); the patch is whole."
            tree = done.stdout.strip()
        made = _git(folder, *_WHO, "commit-tree", tree, "-p", kept.commit, "-m", kept.title)
        done = _git(folder, "branch", kept.branch, made.stdout.strip()) if not made.returncode else made
        if done.returncode:
            return f"No branch was made ({done.stderr.strip()[:300]}); the patch is whole."
        return f"It is the branch {kept.branch} as well; your work tree is as it was."
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _git(folder: Path, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["git", "-C", str(folder), *words], env=dict(os.environ) | more, check=False, capture_output=True, text=True
    )
