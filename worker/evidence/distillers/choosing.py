"""The view: lines by what they are worth, as they fit, in the order they stood, with what is left out between them."""

from bisect import bisect_right
from collections.abc import Sequence

from worker.evidence.distillers.cleaning import bounded
from worker.evidence.distillers.marks import Mark, Role

LINE_CHARACTERS = 400
_CUT = 30

WORTH = {
    Role.VERDICT: 0.0,
    Role.HEAD: 1.0,
    Role.ID: 1.2,
    Role.MESSAGE: 1.4,
    Role.PLACE: 1.7,
    Role.DETAIL: 2.2,
    Role.ALARM: 2.6,
    Role.CLOSING: 1.3,
    Role.FRAME: 4.4,
    Role.CONTEXT: 5.5,
    Role.NOTE: 6.5,
    Role.OPEN: 7.0,
    Role.AMBIENT: 7.5,
    Role.REPEAT: 9.0,
    Role.NEVER: 9.5,
}
"""Lower is taken first."""

_BLOCKS = (3, 8, 20, 60)
_LIKENESS = (2, 4, 8, 16)
_PLACES = (1, 3, 8, 20)


def worth(mark: Mark, lines: int, closing: int) -> float:
    """What taking the line is worth: less for later failures, and for later lines of the same sort in one failure."""
    role = mark.role
    value = WORTH[role]
    alike = bisect_right(_LIKENESS, mark.likeness)
    if role is Role.ID:
        return value + 0.8 * bisect_right(_BLOCKS, mark.place)
    if role is Role.FRAME:
        return value + 0.4 * bisect_right(_BLOCKS, mark.block) + 0.15 * bisect_right(_PLACES, mark.place)
    if role in _COUNTED:
        return value + 0.8 * bisect_right(_BLOCKS, mark.block) + 0.4 * bisect_right(_PLACES, mark.place) + 0.6 * alike
    from_end = lines - mark.number
    if role is Role.CLOSING and mark.number < closing - _CLOSING_LINES:
        return 6.0
    if role is Role.AMBIENT and from_end < _LAST_LINES:
        return 2.6 + from_end / 1_000
    if role in (Role.AMBIENT, Role.NEVER):
        return value + min(from_end, mark.number * 3) / 1_000
    return value + 0.6 * alike


_COUNTED = frozenset({Role.HEAD, Role.MESSAGE, Role.PLACE, Role.DETAIL})
_FILLING = 6.9
"""Worth from which a line only fills what is left."""
_CLOSING_LINES = 40
_LAST_LINES = 8


def choose(marks: Sequence[Mark], lines: int, limit: int) -> list[Mark]:
    """The marks that make the view, in the order of the output.

    Where anything is known to matter, what does not fills half of the view at most: characters are money.
    """
    taken: dict[int, Mark] = {}
    cut = _line_limit(limit)
    room = limit - _gap_size(lines)
    closing = max((mark.number for mark in marks if mark.role is Role.CLOSING), default=0)
    order = sorted((worth(mark, lines, closing), mark.number, mark) for mark in marks)
    filling = room
    if order and order[0][0] < _FILLING:
        filling = room // 2
        order = [each for each in order if each[0] < WORTH[Role.REPEAT]]
    for value, _, mark in order:
        if mark.number in taken:
            continue
        wanted = [mark] if mark.head is None or mark.head.number in taken else [mark, mark.head]
        cost = sum(_cost(each, taken, lines, cut) for each in wanted)
        if cost > room or (value >= _FILLING and cost > filling):
            continue
        room -= cost
        filling -= cost if value >= _FILLING else 0
        taken.update((each.number, each) for each in wanted)
    return [taken[number] for number in sorted(taken)]


def _line_limit(limit: int) -> int:
    return min(max(LINE_CHARACTERS, limit // 8), limit // 3)


def _cost(mark: Mark, taken: dict[int, Mark], lines: int, cut: int) -> int:
    size = min(len(mark.line), cut + _CUT) + 1
    neighbours = (mark.number - 1 - mark.blank in taken) + (mark.number + 1 in taken)
    return size + (_gap_size(lines) if neighbours == 0 else 0)


def _gap_size(lines: int) -> int:
    return 8 + 2 * len(str(lines))


def rendered(chosen: Sequence[Mark], lines: int, limit: int) -> str:
    """The view's text. `[… 12–40 …]` stands for lines 12 to 40 of the output."""
    cut = _line_limit(limit)
    out: list[str] = []
    last = -1
    for mark in chosen:
        if mark.number - last - 1 > mark.blank:
            _gap(out, last + 1, mark.number)
        out.append(cut_line(mark.line, cut))
        last = mark.number
    _gap(out, last + 1, lines)
    return "\n".join(out)


def _gap(out: list[str], start: int, end: int) -> None:
    if end > start:
        out.append(f"[… {start + 1}–{end} …]" if end > start + 1 else f"[… {end} …]")


def cut_line(line: str, limit: int) -> str:
    """The line as a view shows it."""
    return line if len(line) <= limit + _CUT else bounded(line, limit)
