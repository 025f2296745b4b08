"""A folder of the user's own: what is tried on, and what came of it as a patch and, in a git repository, a branch."""

import argparse
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.demo.playing import say
from infra.demo.stage import DemoRefused

_WHO = ("-c", "user.name=countersign", "-c", "user.email=countersign@localhost", "-c", "commit.gpgsign=false")


@contextmanager
def exported(folder: Path) -> Iterator[tuple[Path, str]]:
    """A copy of what is tried on, and the commit that it is of: HEAD; of a plain folder itself, and no commit."""
    head = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if head.returncode or not (folder / ".git").exists():
        yield folder, ""
        return
    room = Path(tempfile.mkdtemp(prefix="countersign-try-"))
    try:
        tree = room / (folder.resolve().name or "repository")
        tree.mkdir()
        index = {"GIT_INDEX_FILE": str(room / "index")}
        commit = head.stdout.strip()
        for words in (("read-tree", commit), ("checkout-index", "--all", f"--prefix={tree}/")):
            if (failed := _git(folder, *words, **index)).returncode:
                raise DemoRefused(f"{folder} cannot be read by git: {failed.stderr.strip()[:300]}")
        yield tree, commit
    finally:
        shutil.rmtree(room, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Kept:
    """Under what the change is kept in a git repository: on this commit, as this branch, with these words."""

    commit: str
    branch: str
    title: str


def keep_locally(asked: argparse.Namespace, diff: bytes, kept: Kept) -> None:
    """The patch is in the folder asked for; the branch is there whole or not at all, and no work tree is touched."""
    out = asked.out or Path()
    out.mkdir(parents=True, exist_ok=True)
    patch = out / f"{kept.branch.rsplit('/', 1)[-1]}.patch"
    patch.write_bytes(diff)
    say(f"The change is in {patch}.")
    if kept.commit:
        say(_branched(asked.path, patch.resolve(), kept))


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
