"""What is kept of an output while it is read, in bounded memory."""

from collections import deque

from worker.evidence.distillers.marks import Mark, Role

END_LINES = 200
"""Lines before the end that stay in reach whatever they are; of those at the beginning a quarter."""
_OVERHEAD = 16


class Pool:
    """Marks by role: the first and the last of each, `most` characters of either."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._first: list[list[Mark]] = [[] for _ in Role]
        self._last: list[deque[Mark]] = [deque() for _ in Role]
        self._room = [most for _ in Role]
        self._late = [0 for _ in Role]

    def add(self, mark: Mark) -> None:
        """Keeps the mark; where there is no room it takes the place of the oldest of the last ones."""
        role, cost = mark.role, len(mark.line) + _OVERHEAD
        if self._room[role] > 0:
            self._room[role] -= cost
            self._first[role].append(mark)
            return
        queue = self._last[role]
        queue.append(mark)
        late = self._late[role] + cost
        while late > self._most:
            late -= len(queue.popleft().line) + _OVERHEAD
        self._late[role] = late

    def marks(self) -> dict[int, Mark]:
        """All that is kept, by number."""
        kept = {mark.number: mark for marks in self._first for mark in marks}
        kept.update((mark.number, mark) for queue in self._last for mark in queue)
        return kept


class Ends:
    """The lines at both ends of an output. `quiet` holds 1 for lines that are never worth a place."""

    def __init__(self) -> None:
        self._head: list[Mark] | None = None
        self._batches: deque[tuple[int, list[str], bytearray]] = deque()

    def add(self, start: int, batch: list[str], quiet: bytearray) -> None:
        """Takes a batch whose first line has the number `start`."""
        if self._head is None:
            self._head = _marks(start, batch[: END_LINES // 4], quiet)
        self._batches.append((start, batch, quiet))
        while len(self._batches) > 1 and sum(len(each[1]) for each in list(self._batches)[1:]) >= END_LINES:
            self._batches.popleft()

    def marks(self) -> list[Mark]:
        """The first and the last lines, blank ones left out."""
        last: list[Mark] = []
        for start, batch, quiet in self._batches:
            skipped = max(len(batch) - END_LINES, 0)
            last += _marks(start + skipped, batch[skipped:], quiet[skipped:])
        return [*(self._head or []), *last[-END_LINES:]]


def _marks(start: int, batch: list[str], quiet: bytearray) -> list[Mark]:
    marks, blank = [], 0
    for number, (line, silent) in enumerate(zip(batch, quiet, strict=False), start):
        if not line or line.isspace():
            blank += 1
            continue
        marks.append(Mark(number, line, Role.NEVER if silent else Role.AMBIENT, 0, blank))
        blank = 0
    return marks
