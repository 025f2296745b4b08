"""Of a very large tree, the files that are compared at all: those whose path or text holds what the issue names."""

import math
import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from worker.repo.git import Bounds, Git, GitError
from worker.repo.ranking.issue import Asked
from worker.repo.ranking.words import looks_like_code, parts
from worker.repo.tree import Entry


class Commit(Protocol):
    """Where the names are searched for."""

    git: Git
    commit: str


_NAMES = 8
_GREP_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class Most:
    """What is compared at most, and how long names are searched for in the whole tree.

    4,000 files take about 20 seconds of one processor where none of them was read before, and 3 where all were.
    """

    files: int = 4_000
    bytes: int = 64_000_000
    seconds: float = 30.0


USUAL = Most()


def narrowed(asked: Asked, commit: Commit, entries: Sequence[Entry], most: Most = USUAL) -> list[Entry]:
    """All entries, or the likeliest of them. The same input gives the same list.

    A tree in which the names cannot be searched in time is narrowed by paths alone.
    """
    if len(entries) <= most.files and sum(entry.size for entry in entries) <= most.bytes:
        return list(entries)
    scores = _by_path(asked, entries)
    for path, score in _by_names(asked, commit, most.seconds).items():
        scores[path] += score
    chosen: list[Entry] = []
    room = most.bytes
    for entry in sorted(entries, key=lambda one: (-scores[one.path], one.path))[: most.files]:
        room -= entry.size
        if room >= 0:
            chosen.append(entry)
    return chosen


def _by_path(asked: Asked, entries: Sequence[Entry]) -> dict[str, float]:
    """Words of the issue in a file's name count in full, those of its folders less, a path that it names most."""
    named = [*asked.paths, *(frame.path for frame in asked.frames), *(one.replace(".", "/") for one in asked.dotted)]
    ends = {tuple(one.strip("/").split("/")[-2:]) for one in named if one.strip("/")}
    scores: dict[str, float] = defaultdict(float)
    for entry in entries:
        *folders, name = entry.path.split("/")
        stem = name.partition(".")[0]
        above = folders[-1] if folders else ""
        for end in ends:
            if end[-1] in (name, stem) and end[:-1] in ((), (above,)):
                scores[entry.path] += 20.0 * len(end)
        scores[entry.path] += sum(asked.words.get(word, 0.0) for word in parts(stem))
        scores[entry.path] += sum(asked.words.get(word, 0.0) for one in folders for word in parts(one)) / 4
    return scores


def _by_names(asked: Asked, commit: Commit, seconds: float) -> dict[str, float]:
    """Files that hold the names most plainly asked for, each name counting by how few files hold it."""
    plain = sorted(asked.names, key=lambda name: (not looks_like_code(name), -asked.names[name], name))[:_NAMES]
    if not plain:
        return {}
    words = ["grep", "-I", "-o", "-z", "-w", "-F", "--no-color", "--full-name"]
    words += [word for name in plain for word in ("-e", name)]
    try:
        status, out, _ = commit.git.ask([*words, commit.commit, "--"], None, Bounds(seconds, _GREP_BYTES))
    except GitError:
        return {}
    if status != 0:
        return {}
    holds: dict[str, set[str]] = defaultdict(set)
    for record in out.split(b"\n")[:-1]:
        path, _, name = record.rpartition(b"\0")
        holds[os.fsdecode(path).removeprefix(f"{commit.commit}:")].add(name.decode("utf-8", "replace"))
    found = Counter(name for names in holds.values() for name in names)
    value = {name: 10.0 * asked.names.get(name, 0.0) / math.sqrt(count) for name, count in found.items()}
    return {path: sum(value[name] for name in names) for path, names in holds.items()}
