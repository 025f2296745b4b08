"""Code owners: who owns which path, as GitHub reads the file (its page "About code owners").

The last line whose pattern fits a path decides; one without owners takes ownership away. A line that GitHub calls
invalid is skipped: an owner that is none, `!`, `[ ]`, an escaped `#` at the beginning. Case counts in paths.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from app.core.pattern import Pattern, read_pattern
from app.core.run import Part
from app.core.verdict import Refused

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where the file is looked for; the first that is there counts."""

MAX_BYTES = 3_000_000
"""A larger file is not read, and then nothing has owners (GitHub's limit is 3 MB)."""

_OWNER = re.compile(r"@[A-Za-z0-9][A-Za-z0-9_-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?|[^@\s]+@[^@\s]+\.[^@\s]+")
_WORDS = re.compile(r"(?:\\.|\S)+")


@dataclass(frozen=True, slots=True)
class Line:
    """One line that counts: its number, its pattern, and its owners as they are written."""

    number: int
    pattern: Pattern
    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CodeOwners:
    """A whole file. `skipped` says which lines GitHub does not count either, and why."""

    lines: tuple[Line, ...] = ()
    skipped: tuple[tuple[int, str], ...] = ()

    def of(self, path: str) -> tuple[str, ...]:
        """The owners of a path; empty where it has none."""
        deciding = next((line for line in reversed(self.lines) if line.pattern.owns(path)), None)
        return deciding.owners if deciding else ()


class Owned(Part):
    """Some of the paths of a plan that have the same owners."""

    path: str
    """One of them, to be shown."""
    count: Annotated[int, Field(ge=1)]
    owners: tuple[str, ...]
    """As they are written: `@login`, `@organisation/team`, or an address, which nobody can be held against."""


def read_code_owners(content: bytes) -> CodeOwners:
    """The file's lines. Bytes that are not UTF-8 stand for themselves and fit no path that people write."""
    if len(content) > MAX_BYTES:
        return CodeOwners(skipped=((0, f"The file is larger than {MAX_BYTES:,} bytes, so none of it counts."),))
    lines: list[Line] = []
    skipped: list[tuple[int, str]] = []
    for number, text in enumerate(content.decode("utf-8", "replace").split("\n"), start=1):
        read = _read_line(number, text)
        if isinstance(read, Line):
            lines.append(read)
        elif read is not None:
            skipped.append((number, read.reason))
    return CodeOwners(tuple(lines), tuple(skipped))


def owned(owners: CodeOwners, paths: Iterable[str]) -> tuple[Owned, ...]:
    """The paths that have owners, put together by who owns them; in the order of the paths."""
    found: dict[tuple[str, ...], list[str]] = {}
    for path in paths:
        if by := owners.of(path):
            found.setdefault(tuple(dict.fromkeys(one.casefold() for one in by)), []).append(path)
    return tuple(Owned(path=having[0], count=len(having), owners=by) for by, having in found.items())


def teams_of(parts: Iterable[Owned]) -> tuple[str, ...]:
    """The teams among the owners, as `organisation/team`."""
    return tuple(
        dict.fromkeys(one.removeprefix("@") for part in parts for one in part.owners if one[0] == "@" and "/" in one)
    )


def is_owner(part: Owned, login: str, teams: Sequence[str]) -> bool:
    """True for one of the owners: by the login that the person has now, or by a team that they are in now."""
    names = {f"@{login.casefold()}", *(f"@{team.casefold()}" for team in teams)}
    return any(owner.casefold() in names for owner in part.owners)


def _read_line(number: int, text: str) -> Line | Refused | None:
    words = _WORDS.findall(text)
    if not words or words[0].startswith("#"):
        return None
    # What begins with `#` behind the pattern is a comment to the end of the line.
    comment = next((at for at, word in enumerate(words) if at and word.startswith("#")), len(words))
    pattern, owners = read_pattern(words[0]), words[1:comment]
    if isinstance(pattern, Refused):
        return pattern
    strangers = [owner for owner in owners if not _OWNER.fullmatch(owner)]
    if strangers:
        return Refused(f"`{strangers[0][:80]}` is no user, team or address.")
    return Line(number, pattern, tuple(owners))
