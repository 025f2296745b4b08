"""A repository at one commit, read through git objects: no checkout, no attributes, no filters."""

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self

from app.core.paths import shown, unsafe_in_tree
from worker.repo.export import TreeWriter
from worker.repo.git import Bounds, Git, GitError
from worker.repo.globs import glob_pattern
from worker.repo.searching import Found, Query, search_in
from worker.repo.tree import Entry

MAX_READ_BYTES = 20_000_000
_BATCH_BYTES = 16_000_000
_BATCH_FILES = 2_000
_KEPT_BYTES = 8_000_000
_KEPT_FILE_BYTES = 500_000


class TooLarge(Exception):
    """A blob is larger than the limit for reading."""


class UnsafeTree(Exception):
    """A commit holds paths that are not written to a disk."""


class Holding(Protocol):
    """A repository on this machine: a mirror, or a clone that somebody else made."""

    @property
    def git(self) -> Git: ...

    def hold(self) -> IO[bytes]:
        """An open file; until it is closed the repository is not removed."""
        ...

    def holds(self, commit: str) -> bool:
        """True when the commit is here."""
        ...


class _Kept:
    """What was read last, so that a file read ten times is one process and not ten; bounded, for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._contents: dict[str, bytes] = {}
        self._bytes = 0

    def get(self, blob: str) -> bytes | None:
        return self._contents.get(blob)

    def put(self, blob: str, content: bytes) -> None:
        if len(content) > _KEPT_FILE_BYTES:
            return
        with self._lock:
            if blob not in self._contents:
                self._contents[blob] = content
                self._bytes += len(content)
            while self._bytes > _KEPT_BYTES:
                self._bytes -= len(self._contents.pop(next(iter(self._contents))))


class Snapshot:
    """One commit of a mirror. While it is open the mirror is not removed; close it, or use it in `with`."""

    def __init__(self, mirror: Holding, commit: str) -> None:
        """Raises KeyError when the mirror does not hold the commit."""
        self._held = mirror.hold()
        self._kept = _Kept()
        self.git = mirror.git
        self.commit = commit
        if not mirror.holds(commit):
            self._held.close()
            raise KeyError(commit)

    def close(self) -> None:
        """Lets the mirror go."""
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        """Every file by path, in git's order. With -z git quotes nothing, so that no name is lost (case GT-03)."""
        bounds = Bounds(120.0, 512_000_000)
        listed = self.git.run("ls-tree", "-r", "-z", "-l", "--full-tree", self.commit, bounds=bounds)
        entries = {}
        for record in listed.split(b"\0")[:-1]:
            head, _, raw = record.partition(b"\t")
            mode, _, blob, size = head.split()
            path = os.fsdecode(raw)
            number = 0 if size == b"-" else int(size)
            entries[path] = Entry(path, mode.decode(), number, blob.decode())
        return entries

    @cached_property
    def _folders(self) -> frozenset[str]:
        folders: set[str] = set()
        for path in self._entries:
            above = path.rpartition("/")[0]
            while above and above not in folders:
                folders.add(above)
                above = above.rpartition("/")[0]
        return frozenset(folders)

    def entry(self, path: str) -> Entry | None:
        return self._entries.get(path)

    def is_folder(self, path: str) -> bool:
        return path in self._folders

    def paths(self) -> Iterable[str]:
        return self._entries

    def list(self, prefix: str = "", glob: str = "") -> tuple[Entry, ...]:
        """The entries below a folder (or the one file so named) whose path fits the glob.

        In a glob `*` and `?` stay within one part, `**` spans parts; a glob without `/` is held against file names.
        """
        below = prefix.strip("/")
        fits = glob_pattern(glob) if glob else None
        return tuple(
            entry
            for path, entry in self._entries.items()
            if (not below or path == below or path.startswith(below + "/")) and (fits is None or fits.search(path))
        )

    def read(self, path: str) -> bytes:
        """The blob's bytes; a link's are the path it points to. Raises KeyError, or TooLarge beyond 20 MB."""
        entry = self._entries[path]
        if entry.kind == "submodule":
            raise KeyError(path)
        if entry.size > MAX_READ_BYTES:
            raise TooLarge(f"{shown(path)} has {entry.size:,} bytes; at most {MAX_READ_BYTES:,} are read.")
        content = self._kept.get(entry.blob)
        if content is None:
            content = next(iter(self.read_many([entry])))[1]
            self._kept.put(entry.blob, content)
        return content

    def read_many(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """Each entry with its bytes, in the order given, some megabytes at a time. Submodules are left out."""
        batch: list[Entry] = []
        size = 0
        for entry in entries:
            if entry.kind == "submodule":
                continue
            if batch and (size + entry.size > _BATCH_BYTES or len(batch) >= _BATCH_FILES):
                yield from self._batch(batch, size)
                batch, size = [], 0
            batch.append(entry)
            size += entry.size
        if batch:
            yield from self._batch(batch, size)

    def _batch(self, batch: Sequence[Entry], size: int) -> Iterator[tuple[Entry, bytes]]:
        ids = "".join(f"{entry.blob}\n" for entry in batch).encode()
        out = self.git.run("cat-file", "--batch", input=ids, bounds=Bounds(120.0, size + 200 * len(batch)))
        at = 0
        for entry in batch:
            head_end = out.index(b"\n", at)
            head = out[at:head_end].split()
            if len(head) != 3 or head[1] != b"blob":
                raise GitError(f"object {entry.blob} is missing from the mirror")
            at = head_end + 1 + int(head[2])
            yield entry, out[head_end + 1 : at]
            at += 1

    def export(self, directory: Path, limit_bytes: int = 4_000_000_000) -> int:
        """Writes the tree into a new directory and answers with the number of files.

        No `.git`; files are 644 or 755, links are made and never followed, submodules are empty folders.
        Raises UnsafeTree, before anything is written, for paths that name a git directory or leave the tree.
        """
        entries = list(self._entries.values())
        for entry in entries:
            unsafe = unsafe_in_tree(entry.path)
            if unsafe is not None:
                raise UnsafeTree(unsafe.reason)
        total = sum(entry.size for entry in entries)
        if total > limit_bytes:
            raise TooLarge(f"The tree has {total:,} bytes; at most {limit_bytes:,} are written.")
        directory.mkdir(mode=0o755)
        with TreeWriter(directory) as writer:
            for entry in entries:
                if entry.kind == "submodule":
                    writer.folder(entry.path)
            for entry, content in self.read_many(entries):
                writer.write(entry.path, entry.mode, content)
        return len(entries)

    def search(self, query: Query) -> Found:
        """Lines that match, binary files left out. Raises SearchRefused."""
        return search_in(self.git, query, self.commit)
