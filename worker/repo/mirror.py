"""Bare mirrors of repositories, fetched incrementally. Credentials are never in a URL, an argument or a file."""

import fcntl
import ipaddress
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final
from urllib.parse import urlsplit

from app.core.redact import redacted
from worker.repo.git import Bounds, Git, GitError, GitMissing, GitTooSlow

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_NETWORK_NAMES: Final = frozenset({"https_proxy", "http_proxy", "no_proxy", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"})
_PACKS_BEFORE_REPACKING = 20

# git asks this program for a name and for a password. The token reaches it in the environment of that one git
# process, which only this account can read; it is in no argument list and in no file.
_ASKPASS = """#!/bin/sh
case "$1" in
Username*) printf '%s\\n' x-access-token ;;
Password*) printf '%s\\n' "$COUNTERSIGN_REMOTE_TOKEN" ;;
esac
"""


class MirrorError(Exception):
    """A repository could not be brought here. The text is one sentence for a person and holds no credential."""


class RepositoryMissing(MirrorError):
    """There is no such repository, or the token may not see it."""


class AccessDenied(MirrorError):
    """The remote refused the token."""


class RepositoryMoved(MirrorError):
    """The remote redirects to another address."""


class CommitMissing(MirrorError):
    """The repository is there and does not hold the commit."""


class RemoteUnreachable(MirrorError):
    """The remote did not answer, or answered with an error of its own; later may be better."""


class MirrorBroken(MirrorError):
    """What came from the remote is damaged or hostile, or git cannot work on this machine."""


@dataclass(frozen=True, slots=True)
class Remote:
    """Where a repository is fetched from. `token` may be empty for a public one.

    The URL is https, or http to a loopback address, without user information. Raises ValueError otherwise.
    """

    url: str
    token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        plain = parts.scheme == "http" and _is_loopback(host)
        if not host or not (parts.scheme == "https" or plain):
            raise ValueError("a repository is fetched over https only, or http from this machine")
        if parts.username or parts.password or parts.query or parts.fragment or not self.url.isprintable():
            raise ValueError("a repository URL holds no credentials, query or fragment")
        if "\n" in self.token or "\r" in self.token:
            raise ValueError("a token is one line")

    @property
    def scheme(self) -> str:
        return urlsplit(self.url).scheme


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


class Mirrors:
    """All mirrors of this machine, below `root`. `network` may name a proxy and certificates, and nothing else."""

    def __init__(self, root: Path, network: Mapping[str, str] | None = None) -> None:
        unknown = set(network or {}) - _NETWORK_NAMES
        if unknown:
            raise ValueError(f"not a network setting: {', '.join(sorted(unknown))}")
        self.root = root
        self._network = dict(network or {})
        (root / "locks").mkdir(parents=True, exist_ok=True)
        self._askpass = root / "askpass"
        fresh = root / f"askpass.{os.getpid()}"
        fresh.write_text(_ASKPASS)
        fresh.chmod(0o700)
        fresh.replace(self._askpass)

    def mirror(self, host: str, repository_id: int) -> "Mirror":
        """The mirror of one repository, by its numeric id: renames and transfers do not change it."""
        name = re.sub(r"[^a-z0-9.-]", "_", host.lower()).strip(".") or "_"
        return Mirror(self.root / f"{name}+{repository_id}.git", self._askpass, self._network)

    def keep_under(self, limit_bytes: int) -> tuple[str, ...]:
        """Removes the least recently used mirrors until all together take at most `limit_bytes`; names of the removed.

        A mirror that somebody reads or fetches stays, so that the limit may be exceeded while work is going on.
        """
        mirrors = [Mirror(path, self._askpass, self._network) for path in self.root.glob("*+*.git")]
        sizes = {mirror.directory: _size(mirror.directory) for mirror in mirrors}
        removed = []
        for mirror in sorted(mirrors, key=lambda each: each.last_used):
            if sum(sizes.values()) <= limit_bytes:
                break
            if mirror.remove():
                removed.append(mirror.directory.name)
                del sizes[mirror.directory]
        return tuple(removed)


class Mirror:
    """A bare mirror of one repository. Many may read at once; one fetches; nobody removes what is read."""

    def __init__(self, directory: Path, askpass: Path, network: Mapping[str, str]) -> None:
        self.directory = directory
        self.git = Git(directory)
        self._askpass = askpass
        self._network = network
        self._locks = directory.parent / "locks"

    @property
    def last_used(self) -> float:
        """When it was last fetched or opened for reading, in seconds since the epoch; 0 for never."""
        with suppress(FileNotFoundError):
            return (self._locks / f"{self.directory.name}.use").stat().st_mtime
        return 0.0

    def holds(self, commit: str) -> bool:
        """True when the commit is here."""
        if not _COMMIT.fullmatch(commit) or not (self.directory / "HEAD").exists():
            return False
        return self.git.ask(["cat-file", "-e", f"{commit}^{{commit}}"])[0] == 0

    def fetch(self, remote: Remote, commit: str, *, depth: int | None = None, seconds: float = 600.0) -> None:
        """Afterwards the mirror holds `commit`: with its whole history, or at least `depth` commits of it.

        Nothing is asked of the remote when it is here already. A mirror that is new or cut takes only that many
        commits; one that is whole is fetched into as ever, since there only what is new travels. Raises a MirrorError
        with the reason.
        """
        if not _COMMIT.fullmatch(commit):
            raise CommitMissing(f"{commit[:80]!r} is not a commit id.")
        with self.in_use(), self._locked("fetch", fcntl.LOCK_EX):
            if self.holds(commit) and (depth is not None or not self._shallow()):
                return
            whole = (self.directory / "HEAD").exists() and not self._shallow()
            self._prepare()
            transport = {
                **self._network,
                "GIT_ALLOW_PROTOCOL": remote.scheme,
                "GIT_ASKPASS": str(self._askpass),
                "COUNTERSIGN_REMOTE_TOKEN": remote.token,
            }
            asked = _Fetch(Git(self.directory, transport), remote, commit, Bounds(seconds))
            asked.run(_depth(None if whole else depth, self._shallow()))
            self._tidy()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """While inside, the mirror is not removed."""
        held = self.hold()
        try:
            yield
        finally:
            held.close()

    def hold(self) -> IO[bytes]:
        """An open file; until it is closed the mirror is not removed."""
        path = self._locks / f"{self.directory.name}.use"
        file = path.open("ab")
        os.utime(path)
        fcntl.flock(file, fcntl.LOCK_SH)
        return file

    def remove(self) -> bool:
        """Removes the mirror from the disk unless somebody uses it; says whether it did."""
        try:
            with self._locked("use", fcntl.LOCK_EX | fcntl.LOCK_NB):
                shutil.rmtree(self.directory, ignore_errors=True)
        except BlockingIOError:
            return False
        return True

    @contextmanager
    def _locked(self, name: str, how: int) -> Iterator[None]:
        with (self._locks / f"{self.directory.name}.{name}").open("ab") as file:
            fcntl.flock(file, how)
            yield

    def _shallow(self) -> bool:
        return (self.directory / "shallow").exists()

    def _prepare(self) -> None:
        try:
            if not (self.directory / "HEAD").exists():
                shutil.rmtree(self.directory, ignore_errors=True)
                self.directory.mkdir(parents=True)
                self.git.run("init", "--quiet", "--bare", "--template=")
        except GitError as error:
            raise MirrorBroken(f"The mirror cannot be set up: {redacted(str(error))}.") from error
        # What a killed fetch left behind. Nobody else writes: the fetch lock is held.
        for pattern in ("objects/pack/tmp_*", "*.lock", "refs/**/*.lock"):
            for leftover in self.directory.glob(pattern):
                leftover.unlink(missing_ok=True)

    def _tidy(self) -> None:
        """Joins packs now and then: every fetch brings one, and reading slows down with their number."""
        packs = len(list((self.directory / "objects" / "pack").glob("*.pack")))
        if packs > _PACKS_BEFORE_REPACKING:
            with suppress(GitError):
                self.git.run("repack", "--geometric=2", "-d", "-q", bounds=Bounds(300.0))


def _depth(depth: int | None, shallow: bool) -> list[str]:
    if depth is not None:
        return [f"--depth={depth}"]
    return ["--unshallow"] if shallow else []


def _size(directory: Path) -> int:
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total


@dataclass(frozen=True, slots=True)
class _Fetch:
    """One fetch: by commit id, and by all branches where the remote does not give out a commit by its id."""

    git: Git
    remote: Remote
    commit: str
    bounds: Bounds

    def run(self, depth: list[str]) -> None:
        status, said = self._once(depth, f"+{self.commit}:refs/countersign/{self.commit}")
        if status != 0 and re.search(r"not our ref|unadvertised object", said):
            status, said = self._once(depth, "+refs/heads/*:refs/remotes/origin/*")
        if status != 0:
            raise _translated(self.remote, said)
        if self.git.ask(["cat-file", "-e", f"{self.commit}^{{commit}}"])[0] != 0:
            raise CommitMissing(f"{_named(self.remote)} has no commit {self.commit[:12]}.")

    def _once(self, depth: list[str], refspec: str) -> tuple[int, str]:
        words = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"]
        words += ["--no-recurse-submodules", "--force", *depth, "--", self.remote.url, refspec]
        try:
            status, _, said = self.git.ask(words, None, self.bounds)
        except GitTooSlow as error:
            raise RemoteUnreachable(
                f"Fetching {_named(self.remote)} took longer than {self.bounds.seconds:g} s."
            ) from error
        except GitMissing as error:
            raise MirrorBroken("git is not installed on this machine.") from error
        return status, said


def _named(remote: Remote) -> str:
    return redacted(remote.url, remote.token)


_REASONS: tuple[tuple[str, type[MirrorError], str], ...] = (
    (
        r"returned error: 404|repository '.*' not found",
        RepositoryMissing,
        "was not found, or the token may not see it",
    ),
    (
        r"Authentication failed|could not read (Username|Password)|returned error: 40[13]",
        AccessDenied,
        "refused the token",
    ),
    (r"returned error: 30\d|unable to update url base|redirect", RepositoryMoved, "redirects to another address"),
    (r"not our ref|unadvertised object|couldn't find remote ref", CommitMissing, "does not hold the commit"),
    (r"fsck error|index-pack (failed|died)|invalid index-pack|bad object", MirrorBroken, "sent damaged objects"),
    (r"transport '.*' not allowed", MirrorBroken, "asked for a transport that is not allowed"),
    (r"", RemoteUnreachable, "could not be fetched"),
)


def _translated(remote: Remote, said: str) -> MirrorError:
    for pattern, kind, words in _REASONS:
        if re.search(pattern, said, re.IGNORECASE):
            detail = " ".join(redacted(said, remote.token).split())[:300]
            return kind(f"{_named(remote)} {words}: {detail}")
    raise AssertionError("the last pattern fits every text")
