"""Search in files: `git grep` with fixed arguments, on a commit or on a folder of edited files.

It needs nothing beside git on the user's machine, reads packed objects with no tree on a disk, and takes 1.3 to 1.8
times what ripgrep takes on a tree that was already written. Its regular expressions have match limits, which
Python's have not.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from app.core.verdict import Refused
from worker.repo.export import TreeWriter
from worker.repo.git import Bounds, Git, GitTooLong, GitTooSlow
from worker.repo.tree import FILE, Tree

SearchMode = Literal["literal", "regex"]
MAX_PATTERN = 1_000


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for: one line of text or a Perl-compatible regular expression, below `path`.

    At most `limit` lines are shown; files in `left_out` are neither shown nor counted.
    """

    pattern: str
    mode: SearchMode = "literal"
    path: str = ""
    limit: int = 100
    left_out: frozenset[str] = frozenset()

    def refusal(self) -> Refused | None:
        """Why this cannot be searched for, or None."""
        if not self.pattern or len(self.pattern) > MAX_PATTERN or re.search(r"[\0\n]", self.pattern):
            return Refused(f"A pattern is one line of 1 to {MAX_PATTERN:,} characters.")
        try:
            self.pattern.encode("utf-8")
        except UnicodeEncodeError:
            return Refused("The pattern is not valid Unicode.")
        return None


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that matches; `text` is without its line end, bytes that are not UTF-8 replaced."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """The first hits in path order, and totals: `lines` and `files` count all that match."""

    hits: tuple[Hit, ...]
    lines: int
    files: int
    note: str = ""


class Edited(Tree, Protocol):
    """A tree with edits on it."""

    def edited_paths(self) -> frozenset[str]: ...


class Searchable(Protocol):
    """What can be searched as a whole."""

    git: Git

    def search(self, query: Query) -> Found: ...


def search_edited(base: Searchable, edited: Edited, query: Query) -> Found:
    """A search that sees the edits: the commit without the edited files, and the edited files."""
    changed = edited.edited_paths()
    below = query.path.strip("/")
    query = Query(query.pattern, query.mode, query.path, query.limit, query.left_out | changed)
    found = base.search(query)
    wanted = [path for path in sorted(changed) if not below or path == below or path.startswith(below + "/")]
    present = [path for path in wanted if (entry := edited.entry(path)) is not None and entry.kind == "file"]
    if not present:
        return found
    with tempfile.TemporaryDirectory(prefix="countersign-search-") as name:
        folder = Path(name) / "tree"
        folder.mkdir()
        with TreeWriter(folder) as writer:
            for path in present:
                writer.write(path, FILE, edited.read(path))
        there = search_in(Git(base.git.directory, folder=folder), Query(query.pattern, query.mode, limit=query.limit))
    hits = sorted([*there.hits, *found.hits], key=lambda hit: (hit.path, hit.line))
    note = " ".join(filter(None, (found.note, there.note)))
    return Found(tuple(hits[: query.limit]), found.lines + there.lines, found.files + there.files, note)


class SearchRefused(Exception):
    """The search cannot be made; the text is one sentence that says why."""


def search_in(git: Git, query: Query, commit: str = "") -> Found:
    """Two passes: counts for all files, then the lines of the first files that together fill the limit.

    On the commit, or without one on git's own folder. Raises SearchRefused.
    """
    refused = query.refusal()
    if refused is not None:
        raise SearchRefused(refused.reason)
    how = ["-I", "-z", "--no-color", "--full-name", "-F" if query.mode == "literal" else "-P", "-e", query.pattern]
    how += [commit] if commit else ["--no-index"]
    below = query.path.strip("/")
    counted = _grep(git, ["-c", *how], [below] if below else [])
    counts = [(path, int(count[0])) for path, count in _records(counted, commit, 1) if path not in query.left_out]
    chosen, room = [], query.limit
    for path, count in counts:
        if room > 0:
            chosen.append(path)
            room -= count
    hits: list[Hit] = []
    note = ""
    if chosen:
        try:
            out = _grep(git, ["-n", *how], chosen)
        except GitTooLong:
            out, note = b"", "The lines that match are too long to show."
        for path, (number, text) in _records(out, commit, 2):
            hits.append(Hit(path, int(number), text.rstrip(b"\r").decode("utf-8", "replace")))
    return Found(tuple(hits[: query.limit]), sum(count for _, count in counts), len(counts), note)


def _grep(git: Git, words: Sequence[str], paths: Sequence[str]) -> bytes:
    try:
        status, out, said = git.ask(["grep", *words, "--", *paths], None, Bounds(30.0, 32_000_000))
    except GitTooSlow as error:
        raise SearchRefused("The search took too long; narrow the pattern or the path.") from error
    if status not in (0, 1):
        raise SearchRefused(f"git grep: {re.sub('^(fatal|error): ', '', said.strip())[:300]}")
    return out


def _records(out: bytes, commit: str, count: int) -> Iterator[tuple[str, list[bytes]]]:
    """Each record's path and its `count` further fields. A path may hold a newline: order decides, not lines."""
    at = 0
    while at < len(out):
        stop = out.index(b"\0", at)
        path = os.fsdecode(out[at:stop])
        fields = []
        for number in range(count):
            end = out.index(b"\n" if number == count - 1 else b"\0", stop + 1)
            fields.append(out[stop + 1 : end])
            stop = end
        at = stop + 1
        yield path.removeprefix(f"{commit}:") if commit else path, fields
