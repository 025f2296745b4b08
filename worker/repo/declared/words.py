"""The words of this room: a need, and what one file declares."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

Role = Literal["manifest", "lock"]


@dataclass(frozen=True, slots=True)
class Need:
    """A name with the range that is asked for, or in a lock the version that was settled on; `range` is empty for any.

    `group` says what it is for, in the file's own words (`dev`, `test`, `build` …); empty for the product itself.
    """

    name: str
    range: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Unread:
    """Something in a file that declares needs and could not be read; the text says what and why."""

    why: str


Found = Iterable[Need | Unread]
Reading = Callable[[str], Found]
"""Reads a file's text. Raises ValueError, SyntaxError or RecursionError where it is not what its name says."""
