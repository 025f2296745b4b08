"""What a line of an output is, and what reads lines."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol


class Role(IntEnum):
    """What a line is worth to the one who must decide. The names are also names of groups in `LineRules`."""

    VERDICT = 0
    """How it ended: counts, the last word of a run."""
    HEAD = 1
    """The first line of one failure: a failing test's name, a diagnostic. What follows belongs to it."""
    ID = 2
    """A failing test or file in a list."""
    MESSAGE = 3
    """An assertion, an exception, an error's own words."""
    PLACE = 4
    """A frame or a place in the user's own code."""
    DETAIL = 5
    """Expected and actual, the code that is pointed at."""
    ALARM = 6
    """A line that speaks of an error, and nothing is known of its kind."""
    CLOSING = 7
    """What a failed run says when it goes."""
    FRAME = 8
    """Any other frame."""
    CONTEXT = 9
    """Near something that matters."""
    NOTE = 10
    """Warnings and advice."""
    OPEN = 11
    """Begins a failure, and says nothing itself."""
    AMBIENT = 12
    """Anything else; the ends of the output come first."""
    REPEAT = 13
    """A line that has been seen before."""
    NEVER = 14
    """Progress, passing tests, downloads."""


@dataclass(slots=True)
class Mark:
    """A line that may be chosen. `block` counts the failures before it, from 0; `head` is its failure's first line."""

    number: int
    line: str
    role: Role
    block: int
    blank: int
    """Blank lines directly before it."""
    head: "Mark | None" = None
    place: int = 0
    """Position among the lines of the same role in its block."""
    likeness: int = 0
    """How many lines like it, but for names and numbers, come before it."""
    first_role: Role | None = None
    """What it was before it was seen to be a repetition."""


class Reader(Protocol):
    """Reads lines one after the other. One reader is used for one output."""

    def role(self, line: str) -> Role | None:
        """What this (not blank) line is; None where that is for others to say."""

    def settle(self, marks: Iterable[Mark]) -> None:
        """Corrects the roles of kept lines when the whole output has been seen."""


@dataclass(frozen=True)
class Kind:
    """One kind of output. `signs` are beginnings of lines, without blanks; `proof` fits such a line."""

    name: str
    signs: tuple[str, ...]
    proof: re.Pattern[str]
    reader: Callable[[], Reader]


class LineRules:
    """A reader by one pattern with groups named after roles. Lines that fit `continues` are details of what opened."""

    def __init__(self, rules: re.Pattern[str], continues: re.Pattern[str] | None = None, most: int = 14) -> None:
        self._match = rules.match
        self._roles = {name: Role[name.upper().rstrip("_0123456789")] for name in rules.groupindex}
        self._continues = continues
        self._most = most
        self._left = 0

    def role(self, line: str) -> Role | None:
        found = self._match(line)
        if found is not None:
            role = self._roles[found.lastgroup or ""]
            if role is Role.DETAIL:
                self._left = max(self._left - 1, 0)
            else:
                self._left = self._most if role in _OPENING else 0
            return role
        if self._left and self._continues is not None:
            if self._continues.match(line):
                self._left -= 1
                return Role.DETAIL
            self._left = 0
        return None

    def settle(self, marks: Iterable[Mark]) -> None:
        return


_OPENING = frozenset({Role.HEAD, Role.MESSAGE, Role.OPEN})
