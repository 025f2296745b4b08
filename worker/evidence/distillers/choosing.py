"""The view: lines by what they are worth, as they fit, in the order they stood, with what is left out between them."""

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
    Role.PLACE: 2.0,
    Role.DETAIL: 3.0,
    Role.ALARM: 3.2,
    Role.CLOSING: 2.6,
    Role.FRAME: 5.0,
    Role.CONTEXT: 5.5,
    Role.NOTE: 6.5,
    Role.OPEN: 7.0,
    Role.AMBIENT: 7.5,
    Role.REPEAT: 9.0,
}
"""Lower is taken first."""

_BLOCKS = (3, 8, 20, 60)
_PLACES = (2, 5, 12, 30)


def _step(value: int, steps: Sequence[int]) -> int:
    return sum(value >= step for step in steps)


def worth(mark: Mark, lines: int, closing: int) -> float:
    """What taking the line is worth: less for later failures, and for later lines of the same sort in one failure."""
    role = mark.role
    value = WORTH[role]
    if role is Role.ID:
        return value + 0.8 * _step(mark.place, _BLOCKS)
    if role in _COUNTED:
        return value + 0.8 * _step(mark.block, _BLOCKS) + 0.4 * _step(mark.place, _PLACES)
    from_end = lines - mark.number
    if role is Role.CLOSING and mark.number < closing - _CLOSING_LINES:
        return 6.0
    if role is Role.AMBIENT:
        return 2.6 + from_end / 1_000 if from_end < 8 else value + min(from_end, mark.number * 3) / 1_000
    return value


_COUNTED = frozenset({Role.HEAD, Role.MESSAGE, Role.PLACE, Role.DETAIL, Role.FRAME})
_CLOSING_LINES = 40


def choose(marks: Sequence[Mark], lines: int, limit: int) -> list[Mark]:
    """The marks that make the view, in the order of the output."""
    taken: dict[int, Mark] = {}
    cut = _line_limit(limit)
    room = limit - _gap_size(lines)
    closing = max((mark.number for mark in marks if mark.role is Role.CLOSING), default=0)
    order = sorted((worth(mark, lines, closing), mark.number, mark) for mark in marks if mark.role is not Role.NEVER)
    for _, _, mark in order:
        if mark.number in taken:
            continue
        wanted = [mark] if mark.head is None or mark.head.number in taken else [mark, mark.head]
        cost = sum(_cost(each, taken, lines, cut) for each in wanted)
        if cost <= room:
            room -= cost
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
