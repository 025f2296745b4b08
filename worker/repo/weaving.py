"""A change, given as old lines and new lines, woven into the lines of a file that the old ones were found to mean.

Lines that the change keeps stay as the file has them; what it puts in is written with the file's indents. Where the
texts differ in something that the change touches, such as a blank line just there, there is no weaving.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from worker.repo.filetext import Splice
from worker.repo.indents import Shift, indent_of

_Opcode = tuple[str, int, int, int, int]

QUOTES = "\"'‘’“”"


@dataclass(frozen=True, slots=True)
class Found:
    """Where old lines stand: the number of each in the file (from 0), rising. The file may have more in between."""

    lines: tuple[int, ...]

    @property
    def start(self) -> int:
        """The first line."""
        return self.lines[0]

    @property
    def end(self) -> int:
        """One behind the last line."""
        return self.lines[-1] + 1

    @property
    def spares_blanks(self) -> bool:
        """True where the file has lines in between that the old ones lack, which can only be blank."""
        return self.end - self.start != len(self.lines)

    def between(self, start: int, end: int) -> tuple[int, int]:
        """The file's lines from behind the old line before `start` to the one at `end`."""
        first = self.lines[start - 1] + 1 if start else self.start
        return first, self.lines[end] if end < len(self.lines) else self.end

    def gaps(self, first: int, last: int) -> list[int]:
        """The file's lines between the old lines `first` and `last` that are none of the old ones."""
        known = self.lines[max(first, 0) : last + 1]
        return sorted(set(range(known[0], known[-1])) - set(known)) if known else []


@dataclass(frozen=True, slots=True)
class Change:
    """From what the model took the lines to be, to what it wants of them."""

    old: Sequence[str]
    new: Sequence[str]


def woven_exactly(standing: Sequence[str], wanted: Sequence[str]) -> tuple[Splice, ...]:
    """The splices that make the one into the other, with every line that is in both left alone."""
    return tuple(
        Splice(i1, i2, tuple(wanted[j1:j2])) for tag, i1, i2, j1, j2 in _opcodes(standing, wanted) if tag != "equal"
    )


def woven(file: Sequence[str], found: Found, change: Change, shift: Shift) -> tuple[Splice, ...] | None:
    """The splices that carry the change over to the lines found; None where that would be a guess."""
    splices: list[Splice] = []
    opcodes = _opcodes(change.old, change.new)
    knows = _new_text_knows_blanks(found, change, opcodes)
    for tag, i1, i2, j1, j2 in opcodes:
        if tag == "equal":
            continue
        place = found.between(i1, i2)
        new = _written(change.new, range(j1, j2), shift)
        if new is None:
            return None
        standing = file[place[0] : place[1]]
        gaps = [number - place[0] for number in found.gaps(i1 - 1, i2)]
        if found.spares_blanks and _beside_a_blank(file, found, (i1, i2)):
            return None
        if gaps and not (_has_the_blanks(standing, gaps, new) and (knows or _filled(new) <= i2 - i1)):
            return None
        if not gaps and not _same_quotes(standing, change.old[i1:i2]):
            new = _requoted(standing, change.old[i1:i2], change.new[j1:j2], new)
        if new is None:
            return None
        splices += [Splice(place[0] + s.start, place[0] + s.end, s.new) for s in woven_exactly(standing, new)]
    return tuple(splices)


def _new_text_knows_blanks(found: Found, change: Change, opcodes: Sequence[_Opcode]) -> bool:
    """True where one sees that only the search text lacks the file's blank lines, and the new text has them."""
    if any(found.gaps(i1, i2 - 1) for tag, i1, i2, _, _ in opcodes if tag == "equal"):
        return False
    return any(
        found.gaps(i1 - 1, i2) and not _filled(change.new[j1:j2]) for tag, i1, i2, j1, j2 in opcodes if tag == "insert"
    )


def _filled(lines: Sequence[str]) -> int:
    return sum(bool(line.strip()) for line in lines)


def _has_the_blanks(standing: Sequence[str], gaps: Sequence[int], new: Sequence[str]) -> bool:
    """The new lines have the blank ones that the search text lacks."""
    blank = [not line.strip() for line in new]
    return sum(blank) >= len(gaps) and (gaps[0] > 0 or blank[0]) and (gaps[-1] < len(standing) - 1 or blank[-1])


def _beside_a_blank(file: Sequence[str], found: Found, old: tuple[int, int]) -> bool:
    """True for a change at an end of the place, beyond which a blank line follows that the texts may have dropped."""
    above = file[found.start - 1] if found.start and old[0] == 0 else "-"
    below = file[found.end] if found.end < len(file) and old[1] == len(found.lines) else "-"
    return not above.strip() or not below.strip()


def _opcodes(old: Sequence[str], new: Sequence[str]) -> list[_Opcode]:
    """Opcodes with the common ends cut off first, which keeps long texts quick."""
    head = 0
    most = min(len(old), len(new))
    while head < most and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < most - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    middle = difflib.SequenceMatcher(_is_blank, left, right, autojunk=False)
    return [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in middle.get_opcodes()]


def _is_blank(line: str) -> bool:
    """Blank lines are the same everywhere, so that texts are not matched by them."""
    return not line.strip()


def _written(lines: Sequence[str], wanted: range, shift: Shift) -> list[str] | None:
    """Those of the new lines with the file's indents; None where one cannot be known."""
    out = []
    first = next((number for number, line in enumerate(lines) if line.strip()), -1)
    for number in wanted:
        line = lines[number]
        indent: str | None = indent_of(line)
        if shift.first is not None and number == first and indent == shift.first[0]:
            indent = shift.first[1]
        elif line.strip():
            indent = shift.carried(indent_of(line))
        elif line and not shift.same:
            return None
        if indent is None:
            return None
        out.append(indent + line.lstrip(" \t"))
    return out


def _same_quotes(file: Sequence[str], old: Sequence[str]) -> bool:
    return all(_quotes(theirs) == _quotes(ours) for theirs, ours in zip(file, old, strict=True))


def _quotes(line: str) -> str:
    return "".join(letter for letter in line if letter in QUOTES)


def _requoted(file: Sequence[str], old: Sequence[str], asked: Sequence[str], new: Sequence[str]) -> list[str] | None:
    """The new lines with the file's quotes where they keep the old ones; None where it is not plain which those are.

    In many languages another quote is another meaning, and a string that begins on a kept line ends with its quote.
    """
    kinds = [set(_quotes("".join(lines))) for lines in (file, old, new)]
    if kinds[2] <= kinds[0] and not kinds[1] <= kinds[0]:
        return list(new)  # The model took other quotes into its search text only.
    if len(old) != len(new):
        return None
    out = []
    for theirs, ours, wish, line in zip(file, old, asked, new, strict=True):
        kept = _kept_quotes(theirs.strip(), ours.strip(), wish.strip())
        if kept is None:
            return None
        out.append(indent_of(line) + kept)
    return out


def _kept_quotes(theirs: str, ours: str, wish: str) -> str | None:
    out = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, ours, wish, autojunk=False).get_opcodes():
        if tag == "equal":
            out.append(theirs[i1:i2])
        elif _quotes(ours[i1:i2] + wish[j1:j2]):
            return None
        else:
            out.append(wish[j1:j2])
    return "".join(out)
