"""A search text that is not in the file as it was given, and the lines that it means, where they are not in doubt.

All places are looked at together, whatever sets them apart from the text: blanks at line ends first, then indents,
blank lines and quotes. So two places that could both be meant are never told apart by how far off the text is.
"""

from collections.abc import Sequence

from worker.repo.filetext import Splice, lines_of
from worker.repo.indents import indent_of, shift_of, unit_of
from worker.repo.leftout import stands_for_others
from worker.repo.likeness import closest
from worker.repo.placed import (
    SHOWN_PLACES,
    AlreadyThere,
    NotPlaced,
    Placed,
    Placement,
    Why,
    numbered,
    perhaps_done,
    repeated,
    several,
    shows_the_change,
    telling,
)
from worker.repo.spelling import Spelling, spellings
from worker.repo.weaving import QUOTES, Change, Found, woven

_SAME_QUOTES = str.maketrans(dict.fromkeys(QUOTES, "'"))


def by_meaning(page: "Page", old: str, new: str) -> Placed | None:
    """The one place that the text can mean; None where it means no lines of the file."""
    if not telling(old):
        return None
    for spelling in spellings(old, new):
        if not telling(spelling.old):
            continue
        placed = _spelled(page, spelling)
        if isinstance(placed, Placement):
            how = " and ".join(word for word in (spelling.undone, placed.how) if word)
            return Placement(placed.splices, placed.line, how)
        if placed is not None:
            return placed
    return None


def _spelled(page: "Page", spelling: Spelling) -> Placed | None:
    change = Change(lines_of(spelling.old), lines_of(spelling.new))
    return (
        _one_of(page, page.tidy(change.old), change)
        or _one_of(page, page.folded(change.old), change)
        or _in_pieces(page, change)
    )


class Page:
    """A file's lines, as search texts are held against them."""

    def __init__(self, plain: str) -> None:
        self.lines = lines_of(plain)
        self._filled = [number for number, line in enumerate(self.lines) if line.strip()]
        self._folded: list[str] = []

    def tidy(self, wanted: Sequence[str]) -> list[Found]:
        """Where the wanted lines stand, blanks at their ends apart."""
        keys = [line.rstrip(" \t") for line in self.lines]
        goal = [line.rstrip(" \t") for line in wanted]
        return [Found(tuple(range(at, at + len(goal)))) for at in runs(keys, goal)]

    def folded(self, wanted: Sequence[str]) -> list[Found]:
        """Where they stand whatever their indents and quotes are, and blank lines apart."""
        self._folded = self._folded or [_folded(self.lines[number]) for number in self._filled]
        goal = [_folded(line) for line in wanted if line.strip()]
        places = (self._aligned(wanted, self._filled[at : at + len(goal)]) for at in runs(self._folded, goal))
        return [place for place in places if place is not None]

    def _aligned(self, wanted: Sequence[str], numbers: Sequence[int]) -> Found | None:
        """With the blank lines that are wanted between those; None where the file has none there."""
        out: list[int] = []
        rest = list(numbers)
        for line in wanted:
            beside = out[-1] + 1 if out else numbers[0] - 1
            if line.strip():
                out.append(rest.pop(0))
            elif 0 <= beside < len(self.lines) and not self.lines[beside].strip():
                out.append(beside)
            else:
                return None
        return Found(tuple(out))

    def carried(self, found: Found, change: Change) -> tuple[Splice, ...] | None:
        """The change in the lines found; None where their indents do not belong to one another, or it is a guess."""
        pairs = [
            (indent_of(ours), indent_of(self.lines[number]))
            for ours, number in zip(change.old, found.lines, strict=True)
            if ours.strip()
        ]
        shift = shift_of(pairs, unit_of(self.lines))
        return None if shift is None else woven(self.lines, found, change, shift)

    def line(self, number: int) -> str:
        """The line with this number from 0; empty beyond the file's ends."""
        return self.lines[number] if 0 <= number < len(self.lines) else ""

    def not_found(self, old: str) -> NotPlaced:
        """Says so, with the closest lines."""
        near = closest(self.lines, old.strip("\n").split("\n"))
        if near is None:
            return NotPlaced("The search text is not in the file, nor anything like it.", "Read the file again.")
        first, lines = near
        return NotPlaced(
            "The search text is not in the file.", f"The closest lines that are:\n{numbered(first, lines)}"
        )


def runs(keys: Sequence[str], goal: Sequence[str]) -> list[int]:
    """Every place at which all of `goal` stands in `keys`."""
    out: list[int] = []
    at = -1
    while goal:
        try:
            at = keys.index(goal[0], at + 1)
        except ValueError:
            break
        if list(keys[at : at + len(goal)]) == list(goal):
            out.append(at)
    return out


def _folded(line: str) -> str:
    return line.strip().translate(_SAME_QUOTES)


def _one_of(page: Page, places: list[Found], change: Change) -> Placed | None:
    if len(places) > 1:
        return several([one.start + 1 for one in places])
    if not places:
        return None
    found = places[0]
    standing = _standing(page, found, change.new)
    if standing is not None and telling("".join(change.new)) and shows_the_change(change.old, change.new):
        return AlreadyThere(standing + 1)
    if standing is not None and found.spares_blanks:
        return perhaps_done(standing + 1)
    around = (page.line(found.start - 1), page.line(found.end))
    twice = repeated(around, (found.start, found.end + 1), change.old, change.new)
    if twice is not None:
        return twice
    splices = page.carried(found, change)
    if splices is None or (not splices and change.old != change.new):
        return _no_weaving(page, found)
    overlooked = _overlooked(page, found, change.old)
    return Placement(splices, found.start + 1, overlooked) if splices else AlreadyThere(found.start + 1, same=True)


def _standing(page: Page, found: Found, new: Sequence[str]) -> int | None:
    """The line at which all of the new text stands already, in the lines found or around them."""
    first = max(found.start - len(new) + 1, 0)
    around = [first + at for at in runs(page.lines[first : found.end + len(new)], new) if first + at < found.end]
    return around[0] if around else None


def _no_weaving(page: Page, found: Found) -> NotPlaced:
    return NotPlaced(
        f"The search text is like lines {found.start + 1} to {found.end}, but not the same where it is to be changed.",
        f"The lines are:\n{numbered(found.start + 1, page.lines[found.start : found.end])}",
        Why.UNCLEAR,
    )


def _overlooked(page: Page, found: Found, old: Sequence[str]) -> str:
    pairs = [(page.lines[number], ours) for number, ours in zip(found.lines, old, strict=True)]
    words = {
        "the indent": any(indent_of(a) != indent_of(b) for a, b in pairs if b.strip()),
        "blank lines": found.spares_blanks,
        "the kind of quotes": any(a.strip() != b.strip() for a, b in pairs),
    }
    return " and ".join(word for word, so in words.items() if so) or "blanks at line ends"


def _in_pieces(page: Page, change: Change) -> Placed | None:
    """Old and new text leave out the same runs of lines: each piece is found, in order, and what is between stays."""
    old, new = _pieces(change.old), _pieces(change.new)
    if len(old) < 2 or not all(any(line.strip() for line in piece) for piece in old):
        return None
    if len(old) != len(new):
        return NotPlaced(
            "The search text leaves out lines with `...`, and the new text does not leave out the same ones.",
            "Write the lines in full.",
            Why.LEFT_OUT,
        )
    chains = _chains([page.folded(piece) for piece in old])
    if len(chains) > 1:
        return several([chain[0].start + 1 for chain in chains])
    if not chains:
        return None
    splices: list[Splice] = []
    for found, ours, theirs in zip(chains[0], old, new, strict=True):
        made = page.carried(found, Change(ours, theirs))
        if made is None:
            return _no_weaving(page, found)
        splices += made
    if not splices:
        return _no_weaving(page, chains[0][0])
    return Placement(tuple(splices), chains[0][0].start + 1, "lines left out with `...`")


def _pieces(lines: Sequence[str]) -> list[list[str]]:
    out: list[list[str]] = [[]]
    for line in lines:
        if stands_for_others(line):
            out.append([])
        else:
            out[-1].append(line)
    return out


def _chains(places: Sequence[Sequence[Found]]) -> list[list[Found]]:
    """The ways to take one place of each piece, in the order of the file."""
    chains: list[list[Found]] = [[one] for one in places[0]]
    for piece in places[1:]:
        chains = [[*chain, one] for chain in chains for one in piece if one.start >= chain[-1].end][:SHOWN_PLACES]
    return chains
