"""What comes of looking for a search text: a placement, the word that all is done already, or why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.core.verdict import Refused
from worker.repo.filetext import Splice

ENOUGH_TO_KNOW = 8
"""Characters other than blanks that a text needs before anything but an exact match is believed."""

SHOWN_PLACES = 100
SHOWN_LINES = 40
_SHOWN_CHARACTERS = 300


class Why(StrEnum):
    """What kept an edit from being made."""

    EMPTY = "empty search text"
    SEVERAL = "several places"
    NOT_FOUND = "not found"
    DONE = "perhaps done already"
    UNCLEAR = "unclear"
    CHANGED_BEFORE = "changed by an earlier edit"
    LEFT_OUT = "placeholder"


@dataclass(frozen=True, slots=True)
class NotPlaced(Refused):
    """A refusal with its kind."""

    why: Why = Why.NOT_FOUND


@dataclass(frozen=True, slots=True)
class Placement:
    """The splices to make. `line`, from 1, is the first that the search text meant; `how` says what was overlooked."""

    splices: tuple[Splice, ...]
    line: int
    how: str = ""


@dataclass(frozen=True, slots=True)
class AlreadyThere:
    """The new text stands at `line` already; `same` where it is what was searched for."""

    line: int
    same: bool = False


Placed = Placement | AlreadyThere | NotPlaced


def several(lines: Sequence[int]) -> NotPlaced:
    """Names every line at which the text begins."""
    named = ", ".join(str(line) for line in lines[:SHOWN_PLACES]) + (" …" if len(lines) > SHOWN_PLACES else "")
    return NotPlaced(
        f"The search text stands in {len(lines)} places, at lines {named}.",
        "Give more of the lines around the one that is meant.",
        Why.SEVERAL,
    )


def perhaps_done(line: int) -> NotPlaced:
    """The new text is there, which can have another reason than that the edit was made."""
    return NotPlaced(
        f"The search text is not in the file, and the new text stands at line {line} already.",
        "If that is the place, the edit is made: go on. If not, read the file again.",
        Why.DONE,
    )


def shows_the_change(old: Sequence[str], new: Sequence[str]) -> bool:
    """False for a new text that only leaves out lines of the old one, and so stands without the change as well."""
    ours, theirs = ([line.strip() for line in lines if line.strip()] for lines in (old, new))
    return (ours == theirs and len(old) == len(new)) or not set(theirs) <= set(ours)


def telling(text: str) -> bool:
    """True for a text that hardly stands anywhere by chance."""
    return len("".join(text.split())) >= ENOUGH_TO_KNOW


def numbered(first: int, lines: Sequence[str]) -> str:
    """Lines as a reading tool shows them, the first with the number `first`."""
    return "\n".join(
        f"{number}| {line[:_SHOWN_CHARACTERS]}" for number, line in enumerate(lines[:SHOWN_LINES], start=first)
    )


def repeated(around: tuple[str, str], at: tuple[int, int], old: Sequence[str], new: Sequence[str]) -> NotPlaced | None:
    """A new text that brings along the line before or after its place, which would then stand twice.

    `around` are those two lines and `at` their numbers.
    """
    if not new or not old:
        return None
    above, below = around
    if _same(above, new[0]) and new[0].rstrip() != old[0].rstrip():
        line = at[0]
    elif _same(below, new[-1]) and new[-1].rstrip() != old[-1].rstrip():
        line = at[1]
    else:
        return None
    return NotPlaced(
        f"The new text repeats line {line}, which the search text does not hold: it would stand twice.",
        "Take that line into the search text, or out of the new text.",
        Why.UNCLEAR,
    )


def _same(standing: str, ours: str) -> bool:
    """One and the same line; a short one only with its indent, and none without a letter."""
    if not any(letter.isalnum() for letter in standing) or standing.strip() != ours.strip():
        return False
    return telling(standing) or standing.rstrip() == ours.rstrip()
