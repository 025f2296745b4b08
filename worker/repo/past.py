"""The past's answers for a model: who touched a file or its lines, when and why, and what a commit did.

Every answer is bounded plain text; a request that cannot be met is a `Refused` with the reason.
"""

import re
from typing import Protocol

from app.core.paths import shown
from app.core.verdict import Refused
from worker.repo.git import Git
from worker.repo.history import (
    Changed,
    HistoryMissing,
    LastTouch,
    PastChange,
    Traced,
    last_touches,
    past_changes,
    what_changed,
)
from worker.repo.reading import READ_CHARACTERS, READ_LINES, Answer, lines_of, text_of, told_path
from worker.repo.tree import Tree

CHANGES = 15
BLAMED_LINES = READ_LINES
FILES = 60
MESSAGE_CHARACTERS = 4_000
SUBJECT_CHARACTERS = 200
PASSED_OVER = ".git-blame-ignore-revs"
"""Where a repository names, by GitHub's and git's custom, the commits that only formatted."""

MOST_PASSED_OVER = 200


class Committed(Tree, Protocol):
    """A tree that is a commit of a repository."""

    git: Git
    commit: str


def history(tree: Committed, path: str, lines: tuple[int, int] | None = None, text: str = "") -> Answer:
    """The latest commits that touched the file, these lines of it, or how often a text stands in it."""
    place = _place(tree, path, lines)
    if isinstance(place, Refused):
        return place
    if text and lines is not None:
        return Refused("Lines and a text cannot be followed at once.", "Ask for one of them.")
    try:
        changes = past_changes(tree.git, tree.commit, Traced(path, lines, text), CHANGES)
    except HistoryMissing as error:
        return Refused(f"The history of {told_path(path)} cannot be read: {error}")
    rows = [_row(one) for one in changes]
    more = f"\n(the latest {CHANGES}; there may be older ones)" if len(changes) == CHANGES else ""
    return "\n".join(rows) + more if rows else Refused(f"No commit is known that touched this in {told_path(path)}.")


def blame(tree: Committed, path: str, lines: tuple[int, int] | None = None) -> Answer:
    """Which commit last touched each of the lines; whitespace and commits that only formatted are looked through."""
    count = _place(tree, path, lines)
    if isinstance(count, Refused):
        return count
    first, last = lines or (1, count)
    stop = min(last, first + BLAMED_LINES - 1)
    try:
        touches = last_touches(tree.git, tree.commit, Traced(path, (first, stop)), _only_formatted(tree))
    except HistoryMissing as error:
        return Refused(f"Who last touched {told_path(path)} cannot be read: {error}")
    cut = f"; cut at the limit, ask on from line {stop + 1}" if stop < last else ""
    head = f"{told_path(path)}, lines {first}-{stop} of {count:,}{cut}"
    return "\n".join([head, *(_touch(one, path) for one in touches)])


def commit(tree: Committed, name: str, path: str = "") -> Answer:
    """What one commit of the base commit's history did: message, files, and as much of the patch as there is room."""
    if not re.fullmatch(r"[0-9a-f]{7,64}", name):
        return Refused("A commit is named by 7 or more hexadecimal digits of its id.")
    try:
        found = what_changed(tree.git, name, tree.commit, path)
    except HistoryMissing as error:
        return Refused(f"The commit {name[:12]} cannot be read: {error}.")
    if path and not found.files:
        return Refused(f"The commit {name[:12]} did not touch {told_path(path)}.", "Ask for it without a path.")
    files = [f"  {shown(file)} {_size(added, removed)}" for file, added, removed in found.files[:FILES]]
    files += [f"  … {len(found.files) - FILES:,} more files"] if len(found.files) > FILES else []
    message = found.message[:MESSAGE_CHARACTERS]
    message += f"\n[… {len(found.message) - MESSAGE_CHARACTERS:,} more characters]" if message != found.message else ""
    head = f"commit {found.change.commit[:12]} {found.change.when[:10]} {found.change.author}"
    return "\n".join([head, message, f"{len(found.files):,} files:", *files, _patch(found)])


def _place(tree: Committed, path: str, lines: tuple[int, int] | None) -> int | Refused:
    """How many lines the file has, when these are among them."""
    text = text_of(tree, path)
    if isinstance(text, Refused):
        return text
    count = len(lines_of(text))
    if not count:
        return Refused(f"{told_path(path)} is empty.")
    if lines is not None and not 1 <= lines[0] <= lines[1] <= count:
        return Refused(f"{told_path(path)} has {count:,} lines; {lines[0]}-{lines[1]} is not a range of them.")
    return count


def _only_formatted(tree: Tree) -> list[str]:
    text = text_of(tree, PASSED_OVER)
    if isinstance(text, Refused):
        return []
    words = (line.partition("#")[0].strip() for line in lines_of(text))
    return [word for word in words if re.fullmatch(r"[0-9a-f]{40}([0-9a-f]{24})?", word)][:MOST_PASSED_OVER]


def _row(change: PastChange) -> str:
    pull = f" [pull request {change.pull}]" if change.pull else ""
    subject = change.subject[:SUBJECT_CHARACTERS]
    return f"{change.commit[:12]} {change.when[:10]} {change.author[:80]}: {subject}{pull}"


def _touch(one: LastTouch, path: str) -> str:
    lines = f"{one.first}-{one.last}" if one.last > one.first else f"{one.first}"
    then = f" (the file was {told_path(one.path)})" if one.path != path else ""
    return f"{lines}: {_row(one.change)}{then}"


def _size(added: int, removed: int) -> str:
    return "(binary)" if added < 0 else f"+{added:,} -{removed:,}"


def _patch(found: Changed) -> str:
    if found.patch is None:
        return "The patch is too large to be read as a whole; ask for it with a path."
    if len(found.patch) <= READ_CHARACTERS:
        return found.patch.strip("\n")
    kept = found.patch[: found.patch.rfind("\n", 0, READ_CHARACTERS)]
    return f"{kept}\n[… {len(found.patch) - len(kept):,} more characters; ask for it with a path]"
