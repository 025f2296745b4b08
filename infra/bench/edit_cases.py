"""Edits of real files, taken from patches and commits: search text, new text, and what the file then is."""

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.bench.rank_cases import clone_of
from worker.repo.clone import Clone
from worker.repo.git import Bounds, GitError
from worker.repo.snapshot import Snapshot

_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
_LOOKED_AT = 4000

Row = tuple[str, str]
"""A sign (blank, `-` or `+`) and the line."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One change of one file. `start` is the number of the first row's line, from 0; `lines` are the whole file's."""

    path: str
    lines: tuple[str, ...]
    start: int
    rows: tuple[Row, ...]

    def narrowed(self, context: int) -> "Hunk":
        """With at most this many unchanged lines before and after what changes."""
        changed = [number for number, (sign, _) in enumerate(self.rows) if sign != " "]
        first, last = max(changed[0] - context, 0), changed[-1] + 1 + context
        return Hunk(self.path, self.lines, self.start + first, self.rows[first:last])

    @property
    def old(self) -> tuple[str, ...]:
        return tuple(line for sign, line in self.rows if sign != "+")

    @property
    def new(self) -> tuple[str, ...]:
        return tuple(line for sign, line in self.rows if sign != "-")

    @property
    def before(self) -> str:
        """The file as it is."""
        return text(self.lines)

    @property
    def after(self) -> str:
        """The file with this change alone."""
        stop = self.start + len(self.old)
        return text((*self.lines[: self.start], *self.new, *self.lines[stop:]))


def text(lines: Sequence[str]) -> str:
    """Each line with its LF."""
    return "".join(f"{line}\n" for line in lines)


def hunks_of_issues(file: Path, repos: Path) -> Iterator[Hunk]:
    """The hunks of the patches in a file of issues, each with the file at the issue's base commit."""
    for line in file.read_text("utf-8").splitlines():
        one = json.loads(line)
        with Snapshot(clone_of(repos, one["repo"]), one["base_commit"]) as snapshot:
            yield from _hunks(one["gold_patch"] + "\n" + one["test_patch"], snapshot)


def hunks_of_commits(repos: Path, many: int, seed: int) -> Iterator[Hunk]:
    """The hunks of some commits of every clone."""
    for folder in sorted(repos.glob("*.git")):
        git = Clone(folder).git
        words = ["log", "--no-merges", "--all", f"--max-count={_LOOKED_AT}", "--format=%H %P"]
        commits = [line.split() for line in git.run(*words, bounds=Bounds(300.0, 64_000_000)).decode().splitlines()]
        random.Random(seed).shuffle(commits)
        for commit, *parents in commits[:many]:
            if len(parents) != 1:
                continue
            words = ["diff", "--no-ext-diff", "--no-renames", parents[0], commit]
            try:
                diff = git.run(*words).decode("utf-8", "replace")
                with Snapshot(Clone(folder), parents[0]) as snapshot:
                    yield from _hunks(diff, snapshot)
            except (GitError, KeyError):
                continue


def _hunks(diff: str, snapshot: Snapshot) -> Iterator[Hunk]:
    path, start = "", 0
    lines: tuple[str, ...] = ()
    rows: list[Row] = []
    for line in [*diff.split("\n"), "diff --git"]:
        if line.startswith(("diff --git", "@@ ")) and rows:
            yield from _whole(Hunk(path, lines, start, tuple(rows)))
            rows = []
        if line.startswith("diff --git"):
            path = ""
        elif line.startswith("--- "):
            path = line.removeprefix("--- a/").rstrip("\t")
            lines = _lines_of(path, snapshot)
        elif match := _HUNK.match(line):
            start = int(match[1]) - 1
        elif path and line[:1] in (" ", "-", "+") and not line.startswith("+++ "):
            rows.append((line[0], line[1:]))


def _whole(hunk: Hunk) -> Iterator[Hunk]:
    """The hunk, where it really is one of this file: text with LF alone, and a last newline."""
    stands = hunk.lines[hunk.start : hunk.start + len(hunk.old)] == hunk.old
    if hunk.lines and stands and hunk.old != hunk.new and len(hunk.old) < 200:
        yield hunk


def _lines_of(path: str, snapshot: Snapshot) -> tuple[str, ...]:
    entry = snapshot.entry(path)
    if entry is None or entry.kind != "file" or entry.size > 1_000_000:
        return ()
    content = snapshot.read(path)
    if b"\r" in content or b"\0" in content or not content.endswith(b"\n"):
        return ()
    try:
        return tuple(content.decode("utf-8").removesuffix("\n").split("\n"))
    except UnicodeDecodeError:
        return ()
