"""The view: lines by what they are worth, as they fit, in the order they stood, with what is left out between them."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence

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
    Role.DETAIL: 1.8,
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
_NEAR = 3
"""Lines of one sort that come first within a failure."""
_REASON = 1.25
"""Worth of the first details of the first failure and of the last: a name alone says little."""
_FAR = 0.15
_EARLY = 0.5


def worth(mark: Mark, lines: int, closing: int) -> float:
    """What taking the line is worth: less for later failures, and for later lines of the same sort in one failure."""
    role = mark.role
    value = WORTH[role]
    alike = bisect_right(_LIKENESS, mark.likeness)
    if role is Role.ID:
        return value + 0.8 * bisect_right(_BLOCKS, mark.place)
    if role is Role.FRAME:
        # Nobody knows which of them matters: the first of each trace, then the shorter ones.
        far = _FAR if mark.place >= _NEAR else 0.0
        return value + 0.4 * bisect_right(_BLOCKS, mark.block) + far + len(mark.line) / LINE_CHARACTERS
    if role in _COUNTED:
        value += 0.8 * bisect_right(_BLOCKS, mark.block) + 0.4 * bisect_right(_PLACES, mark.place) + 0.6 * alike
        return _REASON if role is Role.DETAIL and mark.block == 0 and mark.place < _NEAR else value
    from_end = lines - mark.number
    if role is Role.CLOSING and mark.number < closing - _CLOSING_LINES:
        return 6.0
    if role is Role.AMBIENT and from_end < _LAST_LINES:
        return 2.6 + from_end / 1_000
    if role is Role.ALARM:
        # A run goes on after what it can live with: the later of such lines are nearer to why it failed.
        value += _EARLY * from_end / lines
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
    view = _View(lines, _line_limit(limit))
    closing = max((mark.number for mark in marks if mark.role is Role.CLOSING), default=0)
    order = sorted((worth(mark, lines, closing), mark.number, mark) for mark in marks)
    filling = limit - view.size
    if order and order[0][0] < _FILLING:
        filling //= 2
        order = [each for each in order if each[0] < WORTH[Role.REPEAT]]
    for value, _, mark in order:
        size = view.size
        if value < _FILLING:
            view.take([mark, *_heads(mark)], limit)
        elif view.take([mark, *_heads(mark)], min(limit, size + filling)):
            filling -= view.size - size
    return [view.taken[number] for number in sorted(view.taken)]


def _heads(mark: Mark) -> Iterator[Mark]:
    while mark.head is not None:
        mark = mark.head
        yield mark


class _View:
    """The lines taken so far, and how long they are with what stands for the others."""

    def __init__(self, lines: int, cut: int) -> None:
        self.taken: dict[int, Mark] = {}
        self.size = len(_gap(0, lines))
        self._cut = cut
        self._lines = lines
        self._numbers: list[int] = []

    def take(self, wanted: Sequence[Mark], limit: int) -> bool:
        """Takes all of them where they fit within `limit` characters, or none."""
        size = self.size
        done = []
        for mark in wanted:
            if mark.number in self.taken:
                continue
            self.size += self._grows(mark)
            self.taken[mark.number] = mark
            insort(self._numbers, mark.number)
            done.append(mark.number)
        if self.size <= limit:
            return True
        for number in done:
            del self.taken[number]
            self._numbers.remove(number)
        self.size = size
        return False

    def _grows(self, mark: Mark) -> int:
        at = bisect_left(self._numbers, mark.number)
        before = self._numbers[at - 1] + 1 if at else 0
        after = self._numbers[at] if at < len(self._numbers) else self._lines
        blank = self.taken[after].blank if after in self.taken else 0
        gaps = _gap_size(before, mark.number, mark.blank) + _gap_size(mark.number + 1, after, blank)
        return len(cut_line(mark.line, self._cut)) + 1 + gaps - _gap_size(before, after, blank)


def _line_limit(limit: int) -> int:
    return min(max(LINE_CHARACTERS, limit // 8), limit // 3)


def rendered(chosen: Sequence[Mark], lines: int, limit: int) -> str:
    """The view's text. `[… 12–40 …]` stands for lines 12 to 40 of the output."""
    cut = _line_limit(limit)
    out: list[str] = []
    last = -1
    for mark in chosen:
        if mark.number - last - 1 > mark.blank:
            out.append(_gap(last + 1, mark.number))
        out.append(cut_line(mark.line, cut))
        last = mark.number
    if lines > last + 1:
        out.append(_gap(last + 1, lines))
    return "\n".join(out)


def _gap_size(start: int, end: int, blank: int) -> int:
    return len(_gap(start, end)) + 1 if end - start > blank else 0


def _gap(start: int, end: int) -> str:
    return f"[… {start + 1}–{end} …]" if end > start + 1 else f"[… {end} …]"


def cut_line(line: str, limit: int) -> str:
    """The line as a view shows it."""
    return line if len(line) <= limit + _CUT else bounded(line, limit)
