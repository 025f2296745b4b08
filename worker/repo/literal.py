"""A search text that stands in a file byte for byte, once: what its replacement makes of the lines there."""

from collections.abc import Iterator
from dataclasses import dataclass

from worker.repo.filetext import Splice
from worker.repo.indents import indent_of
from worker.repo.placed import AlreadyThere, NotPlaced, Placed, Placement, Why, numbered, repeated
from worker.repo.weaving import woven_exactly


def occurrences(plain: str, old: str) -> Iterator[int]:
    """Every offset at which `old` stands, those that overlap included."""
    at = plain.find(old)
    while at >= 0:
        yield at
        at = plain.find(old, at + 1)


def line_at(plain: str, offset: int) -> int:
    """The number of the line, from 1."""
    return plain.count("\n", 0, offset) + 1


@dataclass(frozen=True, slots=True)
class Spot:
    """`old` at `at`, and what stands on its first line before it and on its last line after it."""

    plain: str
    at: int
    old: str

    @property
    def begin(self) -> int:
        """Where the first line begins."""
        return self.plain.rfind("\n", 0, self.at) + 1

    @property
    def end(self) -> int:
        """Where the last line ends; its newline may be part of the search text."""
        end = self.plain.find("\n", self.at + len(self.old.removesuffix("\n")))
        return end if end >= 0 else len(self.plain)

    @property
    def before(self) -> str:
        return self.plain[self.begin : self.at]

    @property
    def after(self) -> str:
        return "" if self.old.endswith("\n") else self.plain[self.at + len(self.old) : self.end]

    @property
    def lines(self) -> list[str]:
        """The whole lines."""
        return self.plain[self.begin : self.end].split("\n")

    def replaced(self, new: str) -> list[str]:
        """The lines with `new` in the place of `old`."""
        if not self.old.endswith("\n"):
            lines = (self.before + new + self.after).split("\n")
        elif not new and not self.before.strip():
            return []
        else:
            lines = (self.before + new.removesuffix("\n")).split("\n")
        return ["" if lines[0] == self.before and not self.before.strip() else lines[0], *lines[1:]]


def exactly(plain: str, at: int, old: str, new: str) -> Placed:
    """Widened to whole lines, of which those that stay the same are left alone."""
    spot = Spot(plain, at, old)
    for offset in occurrences(new, old):
        if at >= offset and _stands(spot, at - offset, new):
            return AlreadyThere(line_at(plain, at - offset))
    if spot.before and old.startswith("\n") and new.startswith("\n"):
        return exactly(plain, at + 1, old[1:], new[1:])  # The end of the line before, in both texts.
    lines = spot.replaced(new)
    first = line_at(plain, at)
    unclear = _cut_short(spot, new) or _repeats(spot, first, lines)
    if unclear is not None:
        return unclear
    splices = tuple(
        Splice(first - 1 + one.start, first - 1 + one.end, one.new) for one in woven_exactly(spot.lines, lines)
    )
    return Placement(splices, first, _overlooked(spot, new)) if splices else AlreadyThere(first)


def _overlooked(spot: Spot, new: str) -> str:
    if spot.old.endswith("\n") and new and not new.endswith("\n"):
        return "the newline after the new text, which was left out"
    return "the indent before the search text" if "\n" in spot.old and spot.before else ""


def _stands(spot: Spot, at: int, new: str) -> bool:
    """True when all of `new` is there, and not only as a part of other words or lines."""
    plain, stop = spot.plain, at + len(new)
    begins_line = plain[at - 1 : at] in ("", "\n") or spot.before
    if not plain.startswith(new, at) or not begins_line:
        return False
    ended = spot.old.endswith("\n") or not spot.after
    if ended and not new.endswith("\n") and plain[stop : stop + 1] not in ("", "\n"):
        return False
    return not (_one_word(plain[at - 1 : at], new[0]) or _one_word(new[-1], plain[stop : stop + 1]))


def _one_word(left: str, right: str) -> bool:
    """True where two texts that touch would be one word."""
    return all(letter.isalnum() or letter == "_" for letter in (left[-1:], right[:1])) and bool(left and right)


def _cut_short(spot: Spot, new: str) -> NotPlaced | None:
    """A search text that begins or ends inside a line, where it or the new text may be meant for the whole one."""
    lead, tail, old = spot.before.lstrip(" \t"), spot.after.rstrip(" \t"), spot.old
    if _one_word(lead, old) or _one_word(old, tail):
        return _unclear(spot, "begins or ends inside a word of line {}")
    if "\n" in old and (lead or tail):
        return _unclear(spot, "is of more than one line, and not of whole ones: see line {}")
    if tail and not lead and not new.strip():
        return _unclear(spot, "is the beginning of line {}, whose rest would stay alone")
    indented = new[:1] in " \t" and old[:1] not in " \t"
    if lead and (indented or _one_word(lead, new) or _repeats_word(lead, old, new)):
        return _unclear(spot, "begins inside line {}, and the new text does not go on from there")
    repeats = _has_word(tail) and new.endswith(tail) and not old.endswith(tail)
    if tail and (repeats or new.endswith("\n") or _one_word(new, tail)):
        return _unclear(spot, "ends inside line {}, and the new text does not end there")
    return None if lead or not spot.before or not new.strip() else _indents_unclear(spot, new)


def _repeats_word(lead: str, old: str, new: str) -> bool:
    """True for a new text that begins as the line does before the place."""
    if not _has_word(lead):
        return False
    first = [text.split()[0] if text.split() else "" for text in (lead, old, new)]
    whole = new.lstrip(" \t").startswith(lead) and not old.lstrip(" \t").startswith(lead)
    return whole or first[0] == first[2] != first[1]


def _indents_unclear(spot: Spot, new: str) -> NotPlaced | None:
    """Without its own indent a first line does not say whether the lines after it have theirs."""
    first, *more = new.split("\n")
    shown = any(line.strip() for line in spot.old.split("\n")[1:])
    searched = spot.old.split("\n")[0]
    rises = bool(first.strip()) and indent_of(first) != indent_of(searched)
    other = "\n" in spot.old.removesuffix("\n") and first.strip() != searched.strip()
    if rises or other or (any(line.strip() for line in more) and not shown):
        return indent_missing(spot)
    return None


def indent_missing(spot: Spot) -> NotPlaced:
    """The refusal of a text whose first line lacks its indent, where that matters."""
    return _unclear(spot, "begins after the indent of line {}, so that the indents of the new text can mean two things")


def _unclear(spot: Spot, what: str) -> NotPlaced:
    number = line_at(spot.plain, spot.at)
    return NotPlaced(
        f"The search text {what.format(number)}.",
        f"Give whole lines, with their indents, in both texts:\n{numbered(number, spot.lines)}",
        Why.UNCLEAR,
    )


def _has_word(text: str) -> bool:
    return any(letter.isalnum() for letter in text)


def _repeats(spot: Spot, first: int, lines: list[str]) -> NotPlaced | None:
    plain, begin, end = spot.plain, spot.begin, spot.end
    above = plain[plain.rfind("\n", 0, begin - 1) + 1 : begin - 1] if begin else ""
    stop = plain.find("\n", end + 1)
    below = plain[end + 1 : stop if stop >= 0 else len(plain)]
    return repeated((above, below), (first - 1, first + len(spot.lines)), spot.lines, lines)
