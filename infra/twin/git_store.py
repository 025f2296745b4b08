"""One bare git repository per repository of the twin, reached through plain `git` only."""

import base64
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

ZERO = "0" * 40
LONGEST_KEPT = 100_000
WORKFLOWS = ".github/workflows/"
SETTINGS = """
[uploadpack]
	allowAnySHA1InWant = true
	allowFilter = true
[http]
	receivepack = true
[gc]
	auto = 0
[core]
	quotePath = false
"""
HOOK = """#!/bin/sh
# Refuses workflow changes for a token without that permission (github-facts 66).
[ "$TWIN_WORKFLOWS" = refused ] || exit 0
while read -r old new ref; do
  case "$new" in *[!0]*) ;; *) continue ;; esac
  found=$(git -c core.quotePath=false log --format= --name-only --no-renames "$new" --not --all \\
    -- .github/workflows | head -n 1)
  if [ -n "$found" ]; then
    echo "refusing to allow a GitHub App to create or update workflow \\`$found\\` without \\`workflows\\` permission"
    exit 1
  fi
done
"""


class GitFailed(Exception):
    """A git command ended badly; carries its standard error."""


@dataclass(frozen=True)
class Signature:
    """Who made a commit and when."""

    name: str
    email: str
    when: datetime


@dataclass(frozen=True)
class TreeEntry:
    """One line of a tree: mode, kind (blob, tree, commit), object name, path, and size for blobs."""

    mode: str
    kind: str
    sha: str
    path: str
    size: int | None


@dataclass(frozen=True)
class CommitObject:
    """A commit as git holds it."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Signature
    committer: Signature
    message: str


class GitStore:
    """The repositories' folder. Methods take the repository's id; a missing object raises GitFailed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._said: dict[tuple[object, ...], bytes] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, repo_id: int) -> Path:
        """The bare repository's folder."""
        return self.folder / f"{repo_id}.git"

    def create(self, repo_id: int, branch: str) -> None:
        """An empty bare repository whose HEAD names `branch`, open to fetch by SHA and partial clone."""
        path = self.path(repo_id)
        _run(["git", "init", "-q", "--bare", f"--initial-branch={branch}", str(path)])
        with (path / "config").open("a") as stream:
            stream.write(SETTINGS)
        hook = path / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(HOOK)
        hook.chmod(0o755)

    def git(
        self,
        repo_id: int,
        arguments: list[str],
        stdin: bytes = b"",
        extra: Mapping[str, str] | None = None,
        seconds: float = 60.0,
    ) -> bytes:
        """Run git in the repository; its standard output. GitFailed when it ends otherwise than with 0, or not in time.
        """
        return _run(["git", "--git-dir", str(self.path(repo_id)), *arguments], stdin, extra, seconds)

    def text(self, repo_id: int, arguments: list[str]) -> str:
        """Standard output of git as one stripped line of text."""
        return self.git(repo_id, arguments).decode("utf-8", "surrogateescape").strip()

    def _object(self, repo_id: int, name: str, arguments: list[str]) -> bytes:
        """What git says of one object; what it said of a full object name once stays true."""
        key = (repo_id, *arguments)
        said = self._said.get(key)
        if said is None:
            said = self.git(repo_id, arguments)
            if len(name) == len(ZERO) and len(said) <= LONGEST_KEPT:
                self._said[key] = said
        return said

    def resolve(self, repo_id: int, name: str) -> str | None:
        """The commit that a branch, tag, full ref or object name stands for, or None."""
        for candidate in (name, f"refs/heads/{name}", f"refs/tags/{name}", f"refs/{name}"):
            if candidate.startswith("-"):
                return None
            try:
                return self.text(repo_id, ["rev-parse", "--verify", "-q", f"{candidate}^{{commit}}"])
            except GitFailed:
                continue
        return None

    def kind(self, repo_id: int, sha: str) -> str | None:
        """blob, tree, commit or tag; None when there is no such object."""
        if not sha or not all(letter in "0123456789abcdef" for letter in sha.lower()):
            return None
        try:
            return self._object(repo_id, sha, ["cat-file", "-t", sha]).decode().strip()
        except GitFailed:
            return None

    def refs(self, repo_id: int, prefix: str = "refs/heads/") -> dict[str, str]:
        """Full ref name -> object name, sorted by name."""
        folder = self.path(repo_id)
        packed = folder / "packed-refs"
        lines = packed.read_text().splitlines() if packed.is_file() else []
        found = {line[41:]: line[:40] for line in lines if line[:1] not in ("#", "^")}
        for path in (folder / "refs").rglob("*"):
            with suppress(FileNotFoundError, IsADirectoryError):
                if path.suffix != ".lock":
                    found[path.relative_to(folder).as_posix()] = path.read_text().strip()
        return {name: found[name] for name in sorted(found) if name.startswith(prefix)}

    def ref(self, repo_id: int, name: str) -> str | None:
        """The object that the full ref `name` points at."""
        return self.refs(repo_id, name).get(name)

    def move_ref(self, repo_id: int, name: str, new: str, old: str | None = None) -> None:
        """Set a ref; with `old`, only when it still points there (all zeros: only when it is new)."""
        self.git(repo_id, ["update-ref", name, new, *([] if old is None else [old])])

    def drop_ref(self, repo_id: int, name: str) -> None:
        """Delete a ref."""
        self.git(repo_id, ["update-ref", "-d", name])

    def write_blob(self, repo_id: int, content: bytes) -> str:
        """Store bytes; the blob's name."""
        return self.git(repo_id, ["hash-object", "-w", "--stdin"], content).decode().strip()

    def read_blob(self, repo_id: int, sha: str) -> bytes:
        """The bytes of a blob."""
        return self._object(repo_id, sha, ["cat-file", "blob", sha])

    def list_tree(self, repo_id: int, tree: str, depth: str = "flat") -> list[TreeEntry]:
        """The entries of a tree, with everything below when `depth` is `recursive`; paths byte-exact."""
        arguments = ["ls-tree", "-z", "-l", *(["-r", "-t"] if depth == "recursive" else []), tree]
        entries = []
        for line in self._object(repo_id, tree, arguments).decode("utf-8", "surrogateescape").split("\0"):
            if line:
                head, path = line.split("\t", 1)
                mode, kind, sha, size = head.split()
                entries.append(TreeEntry(mode, kind, sha, path, int(size) if size != "-" else None))
        return entries

    def write_tree(self, repo_id: int, start: str | None, changes: Iterable[tuple[str, str | None, str]]) -> str:
        """A tree made from `start` (None: empty) and changes (mode, object or None to delete, path)."""
        with tempfile.TemporaryDirectory() as scratch:
            extra = {"GIT_INDEX_FILE": os.path.join(scratch, "index")}
            if start:
                self.git(repo_id, ["read-tree", start], extra=extra)
            lines = []
            for mode, sha, path in changes:
                if sha is None:
                    lines.append(f"0 {ZERO}\t{path}\0")
                elif mode == "040000":
                    self.git(repo_id, ["read-tree", f"--prefix={path}/", sha], extra=extra)
                else:
                    lines.append(f"{mode} {sha}\t{path}\0")
            listing = "".join(lines).encode("utf-8", "surrogateescape")
            self.git(repo_id, ["update-index", "-z", "--index-info"], listing, extra)
            return self.git(repo_id, ["write-tree"], extra=extra).decode().strip()

    def write_commit(
        self, repo_id: int, tree: str, parents: Iterable[str], message: str, by: tuple[Signature, Signature]
    ) -> str:
        """A commit object by (author, committer); its name. No ref moves."""
        author, committer = by
        extra = {
            "GIT_AUTHOR_NAME": author.name, "GIT_AUTHOR_EMAIL": author.email,
            "GIT_AUTHOR_DATE": author.when.isoformat(), "GIT_COMMITTER_NAME": committer.name,
            "GIT_COMMITTER_EMAIL": committer.email, "GIT_COMMITTER_DATE": committer.when.isoformat(),
        }
        arguments = ["commit-tree", tree]
        for parent in parents:
            arguments += ["-p", parent]
        return self.git(repo_id, arguments, message.encode(), extra).decode().strip()

    def read_commit(self, repo_id: int, sha: str) -> CommitObject:
        """A commit's fields; the message without its last newline, as GitHub shows it."""
        layout = "%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B"
        raw = self._object(repo_id, sha, ["show", "-s", f"--format={layout}", sha]).decode("utf-8", "replace")
        name, tree, parents, an, ae, at, cn, ce, ct, message = raw.split("\0", 9)
        return CommitObject(
            name, tree, tuple(parents.split()), Signature(an, ae, datetime.fromisoformat(at)),
            Signature(cn, ce, datetime.fromisoformat(ct)), message.rstrip("\n"),
        )

    def is_ancestor(self, repo_id: int, old: str, new: str) -> bool:
        """True when `old` is reachable from `new`."""
        return self.merge_point(repo_id, old, new) == old

    def merge_point(self, repo_id: int, one: str, other: str) -> str | None:
        """The best common ancestor."""
        try:
            return self.text(repo_id, ["merge-base", one, other])
        except GitFailed:
            return None

    def commits_between(self, repo_id: int, old: str, new: str) -> list[str]:
        """Commits reachable from `new` and not from `old`, oldest first."""
        return self.text(repo_id, ["rev-list", "--reverse", "--topo-order", new, f"^{old}"]).split()

    def fresh_workflow(self, repo_id: int, commit: str) -> str | None:
        """A workflow file that commits reachable from `commit` and from no ref yet would change."""
        return next(iter(self.fresh_paths(repo_id, commit, WORKFLOWS)), None)

    def fresh_paths(self, repo_id: int, commit: str, below: str = ".") -> list[str]:
        """The paths that commits reachable from `commit` and from no ref yet would change."""
        arguments = ["log", "-z", "--format=", "--name-only", "--no-renames", commit, "--not", "--all", "--", below]
        return [path for path in self.text(repo_id, arguments).split("\0") if path]


def decoded(content: str, encoding: str) -> bytes:
    """Bytes of a blob given as `utf-8` text or `base64`; ValueError for bad base64."""
    if encoding == "base64":
        return base64.b64decode("".join(content.split()), validate=True)
    return content.encode("utf-8", "surrogateescape")


def _run(
    arguments: list[str], stdin: bytes = b"", extra: Mapping[str, str] | None = None, seconds: float = 60.0
) -> bytes:
    environment = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "twin", "GIT_AUTHOR_EMAIL": "twin@localhost", "GIT_COMMITTER_NAME": "twin",
        "GIT_COMMITTER_EMAIL": "twin@localhost", "LC_ALL": "C.UTF-8", **(extra or {}),
    }
    try:
        done = subprocess.run(
            arguments, input=stdin, capture_output=True, env=environment, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired as error:
        raise GitFailed(f"git took longer than {seconds:g} seconds") from error
    if done.returncode != 0:
        raise GitFailed(done.stderr.decode("utf-8", "replace").strip() or f"git ended with {done.returncode}")
    return done.stdout
