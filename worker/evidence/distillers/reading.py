"""Lines of an output become marks: each line is asked of the readers that are awake, and the best are kept, bounded."""

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from worker.evidence.distillers.cleaning import cleaned_batches
from worker.evidence.distillers.kinds import ALWAYS, KINDS
from worker.evidence.distillers.marks import Kind, Mark, Reader, Role

KEPT_SHARE = 12
"""Characters of one role that are kept at either end of the output, as a multiple of the limit."""
SMALLEST_KEPT = 60_000
SEEN_LINES = 100_000
AMBIENT_LINES = 200
"""Lines at either end that stay in reach whatever they are."""
LONGEST_BLOCK = 3_000
"""Lines after which a failure's first line does not speak for what follows."""

_ALARM = re.compile(
    r"error|fail|fatal|exception|panic|cannot|can't|could not|couldn't|unable to|undefined|not found|no such|denied"
    r"|refused|timeout|timed out|abort|assert|unexpected|invalid|missing|killed|segmentation|conflict|unsafe"
    r"|went wrong|not allowed|not permitted|unresolved|unsupported|no space left|out of memory|mismatch|does not exist"
    r"|unknown|unreachable|crash|rejected|illegal|[✗✘✖×❌]"
)
_CALM = re.compile(
    r"\b(?:0|no) (?:errors?|fail(?:ures?|ed)|conflicts?)|(?:errors?|fail(?:ures?|ed)|skipped)\s*[:=]\s*0\b"
    r"|ignored|passed|\bok\b|\[info\]|\binfo\b|\bdebug\b|\btrace\b|^\s*(?:[✓✔√]|pass\b)|checking for"
    r"|installing|download"
    r"|-werror|extracting|unpacking|preparing|setting up|selecting|compiling|collecting|failed=0|\+ [a-z]+ "
)


@dataclass
class Pool:
    """Marks by role: the first and the last of each, in bounded memory."""

    most: int
    first: dict[Role, list[Mark]] = field(default_factory=dict)
    last: dict[Role, deque[Mark]] = field(default_factory=dict)
    size: dict[Role, int] = field(default_factory=dict)
    late: dict[Role, int] = field(default_factory=dict)

    def add(self, mark: Mark) -> None:
        role, cost = mark.role, len(mark.line) + 16
        if (size := self.size.get(role, 0)) < self.most:
            self.size[role] = size + cost
            self.first.setdefault(role, []).append(mark)
            return
        queue = self.last.setdefault(role, deque())
        queue.append(mark)
        late = self.late.get(role, 0) + cost
        while late > self.most:
            late -= len(queue.popleft().line) + 16
        self.late[role] = late

    def marks(self) -> list[Mark]:
        """All that is kept, in the order of the output."""
        kept = [mark for marks in self.first.values() for mark in marks]
        kept += [mark for queue in self.last.values() for mark in queue]
        return sorted(kept, key=lambda mark: mark.number)


class Reading:
    """One output being read."""

    def __init__(self, limit: int, hint: str) -> None:
        self._limit = limit
        self._pool = Pool(max(SMALLEST_KEPT, KEPT_SHARE * limit))
        self._asleep = list(KINDS)
        self._awake: list[tuple[Kind, Reader]] = []
        self._readers: list[Reader] = []
        self._always = [kind.reader() for kind in ALWAYS]
        self._seen: set[int] = set()
        self._head: list[Mark] = []
        self._tail: deque[Mark] = deque(maxlen=AMBIENT_LINES)
        self._before: Mark | None = None
        self._after = 0
        self._block = -1
        self._opened = -LONGEST_BLOCK
        self._first: Mark | None = None
        self.lines = 0
        self._blank = 0
        self._empty = 0
        self.whole: list[str] | None = []
        self._whole_size = -1
        self._wake([kind for kind in KINDS if kind.name == hint])

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of output that were met, in order."""
        return tuple(kind.name for kind, _ in self._awake)

    def read(self, batch: list[str]) -> None:
        """Takes the next lines."""
        self._keep_whole(batch)
        stripped = [line.lstrip() for line in batch]
        starts = {line[:2] for line in stripped}
        for kind in [kind for kind in self._asleep if any(sign[:2] in starts for sign in kind.signs)]:
            if any(kind.proof.match(line) for line in stripped if line.startswith(kind.signs)):
                self._wake([kind])
        readers, seen = self._readers, self._seen
        for number, line in enumerate(batch, self.lines):
            if not line or line.isspace():
                self._blank += 1
                continue
            role = None
            for reader in readers:
                role = reader.role(line)
                if role is not None:
                    break
            if role is None:
                self._plain(number, line)
            elif role is not Role.NEVER:
                self._marked(number, line, role, seen)
            self._blank = 0
        self.lines += len(batch)
        filled = next((at for at in range(len(batch) - 1, -1, -1) if batch[at]), None)
        self._empty = self._empty + len(batch) if filled is None else len(batch) - 1 - filled

    def _wake(self, kinds: list[Kind]) -> None:
        for kind in kinds:
            self._asleep.remove(kind)
            self._awake.append((kind, kind.reader()))
        self._awake.sort(key=lambda each: KINDS.index(each[0]))
        self._readers = [reader for _, reader in self._awake] + self._always

    def _keep_whole(self, batch: list[str]) -> None:
        if self.whole is None:
            return
        self.whole += batch
        self._whole_size += sum(map(len, batch)) + len(batch)
        if self._whole_size > self._limit + 2 and "".join(self.whole[-3:]).strip():
            self.whole = None

    def _plain(self, number: int, line: str) -> None:
        mark = Mark(number, line, Role.AMBIENT, max(self._block, 0), self._blank)
        lowered = line.lower()
        if _ALARM.search(lowered) and not _CALM.search(lowered):
            key = hash(line.strip())
            if key not in self._seen:
                if len(self._seen) < SEEN_LINES:
                    self._seen.add(key)
                mark.role = Role.ALARM
                self._near(mark)
                self._pool.add(mark)
        elif self._after > 0:
            self._after -= 1
            mark.role = Role.CONTEXT
            self._pool.add(mark)
        self._ends(mark)

    def _near(self, mark: Mark) -> None:
        before = self._before
        if before is not None and before.number >= mark.number - 2 and before.role is Role.AMBIENT:
            before.role = Role.CONTEXT
            self._pool.add(before)
        self._after = 3

    def _ends(self, mark: Mark) -> None:
        self._before = mark
        if len(self._head) < AMBIENT_LINES // 4:
            self._head.append(mark)
        else:
            self._tail.append(mark)

    def _marked(self, number: int, line: str, role: Role, seen: set[int]) -> None:
        if role in (Role.HEAD, Role.OPEN) and (role is Role.HEAD or number - self._opened > 3):
            self._block += 1
            self._opened, self._first = number, None
        mark = Mark(number, line, role, max(self._block, 0), self._blank)
        if role in _ATTACHED and number - self._opened < LONGEST_BLOCK:
            mark.head = self._first
        if role is not Role.CLOSING:
            key = hash((line.strip(), self._first.line if self._first and role in _BELONGING else ""))
            if key in seen:
                mark.role, mark.first_role = Role.REPEAT, role
            elif len(seen) < SEEN_LINES:
                seen.add(key)
        if role is Role.HEAD:
            self._first = mark
        self._after = 0
        self._pool.add(mark)
        self._ends(mark)

    @property
    def length(self) -> int:
        """Lines of the output, empty ones at its end left out."""
        return max(self.lines - self._empty, 1)

    def marks(self) -> list[Mark]:
        """The marks that are kept, settled; to be asked for once, at the end."""
        kept = {mark.number: mark for mark in self._pool.marks()}
        for mark in (*self._head, *self._tail):
            kept.setdefault(mark.number, mark)
        marks = [kept[number] for number in sorted(kept)]
        for _, reader in self._awake:
            reader.settle(marks)
        _renumber(marks)
        return marks


_BELONGING = frozenset({Role.PLACE, Role.DETAIL})
_ATTACHED = frozenset({Role.MESSAGE, Role.PLACE, Role.DETAIL, Role.FRAME})


_ECHO = 30
"""Where a failure stands that only says what others have said."""


def _renumber(marks: list[Mark]) -> None:
    """Failures are counted from whichever end is nearer: the first cause, the last word. So are lines within one."""
    told = {mark.block for mark in marks if mark.role is Role.MESSAGE}
    echoes = {mark.block for mark in marks if mark.first_role is Role.MESSAGE} - told
    order: dict[int, int] = {}
    groups: dict[tuple[Role, int], list[Mark]] = {}
    for mark in marks:
        if mark.role in (Role.HEAD, Role.MESSAGE) and mark.block not in echoes:
            order.setdefault(mark.block, len(order))
        groups.setdefault((mark.role, 0 if mark.role is Role.ID else mark.block), []).append(mark)
    for mark in marks:
        at = order.get(mark.block, _ECHO)
        mark.block = _ECHO if mark.block in echoes else min(at, max(len(order) - 1 - at, 0))
    for (role, _), group in groups.items():
        for place, mark in enumerate(group):
            mark.place = place if role in (Role.FRAME, Role.DETAIL) else min(place, len(group) - 1 - place)


def read_output(chunks: Iterable[str | bytes], limit: int, hint: str) -> Reading:
    """The output read to its end."""
    reading = Reading(limit, hint)
    for batch in cleaned_batches(chunks):
        reading.read(batch)
    return reading
