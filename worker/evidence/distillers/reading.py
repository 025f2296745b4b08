"""Lines of an output become marks: each line is asked of the readers that are awake, and the best are kept, bounded."""

from collections.abc import Iterable

from worker.evidence.distillers.alarms import alarmed_lines, is_calm
from worker.evidence.distillers.cleaning import cleaned_batches
from worker.evidence.distillers.kinds import ALWAYS, KINDS
from worker.evidence.distillers.marks import Kind, Mark, Reader, Role
from worker.evidence.distillers.placing import place
from worker.evidence.distillers.pool import Ends, Pool

KEPT_SHARE = 12
"""Characters of one role that are kept at either end of the output, as a multiple of the limit."""
SMALLEST_KEPT = 60_000
SEEN_LINES = 100_000
LONGEST_BLOCK = 3_000
"""Lines after which a failure's first line does not speak for what follows."""
LINES_AFTER = 3
"""Lines after an alarm that are kept with it."""
LEAST_APART = 3
"""Lines within which a traceback belongs to the failing test named above it."""

_BELONGING = frozenset({Role.PLACE, Role.DETAIL})
_ATTACHED = frozenset({Role.MESSAGE, Role.PLACE, Role.DETAIL, Role.FRAME})


class Reading:
    """One output being read."""

    def __init__(self, limit: int, hint: str) -> None:
        self.lines = 0
        self.whole: list[str] | None = []
        self._whole_size = -1
        self._empty = 0
        self._limit = limit
        self._pool = Pool(max(SMALLEST_KEPT, KEPT_SHARE * limit))
        self._ends = Ends()
        self._asleep = list(KINDS)
        self._signs: dict[str, list[Kind]] = {}
        self._awake: list[tuple[Kind, Reader]] = []
        self._always = [kind.reader() for kind in ALWAYS]
        self._readers: list[Reader] = []
        self._seen: set[int] = set()
        self._after = 0
        self._kept = -1
        self._block = 0
        self._opened = -LONGEST_BLOCK
        self._first: Mark | None = None
        self._wake([kind for kind in KINDS if kind.name == hint])

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of output that were met."""
        return tuple(kind.name for kind, _ in self._awake)

    @property
    def length(self) -> int:
        """Lines of the output, empty ones at its end left out."""
        return max(self.lines - self._empty, 1)

    def read(self, batch: list[str]) -> None:
        """Takes the next lines."""
        self._keep_whole(batch)
        self._look_for_signs(batch)
        alarmed = alarmed_lines(batch)
        quiet = bytearray(len(batch))
        asked = [reader.role for reader in self._readers]
        blank, start, never = 0, self.lines, Role.NEVER
        for at, line in enumerate(batch):
            if not line or line.isspace():
                blank += 1
                continue
            for ask in asked:
                role = ask(line)
                if role is not None:
                    break
            else:
                role = None
            if role is never:
                quiet[at] = 1
            elif role is not None:
                self._claimed(Mark(start + at, line, role, self._block, blank))
            elif at in alarmed:
                before = batch[at - 1] if at and not quiet[at - 1] else ""
                self._alarming(Mark(start + at, line, Role.ALARM, self._block, blank), before)
            elif self._after:
                self._following(Mark(start + at, line, Role.CONTEXT, self._block, blank))
            blank = 0
        self._ends.add(start, batch, quiet)
        self.lines += len(batch)
        filled = next((at for at in range(len(batch) - 1, -1, -1) if batch[at]), None)
        self._empty = self._empty + len(batch) if filled is None else len(batch) - 1 - filled

    def _keep_whole(self, batch: list[str]) -> None:
        if self.whole is None:
            return
        self.whole += batch
        self._whole_size += sum(map(len, batch)) + len(batch)
        if self._whole_size > 2 * self._limit:
            self.whole = None

    def _look_for_signs(self, batch: list[str]) -> None:
        for line in batch:
            start = line.lstrip()
            for kind in self._signs.get(start[:2], ()):
                if start.startswith(kind.signs) and kind.proof.match(start):
                    self._wake([kind])
                    break

    def _wake(self, kinds: list[Kind]) -> None:
        for kind in kinds:
            self._asleep.remove(kind)
            self._awake.append((kind, kind.reader()))
        self._awake.sort(key=lambda each: KINDS.index(each[0]))
        self._readers = [reader for _, reader in self._awake] + self._always
        self._signs = {}
        for kind in self._asleep:
            for key in {sign[:2] for sign in kind.signs}:
                self._signs.setdefault(key, []).append(kind)

    def _claimed(self, mark: Mark) -> None:
        role = mark.role
        if role is Role.HEAD or (role is Role.OPEN and mark.number - self._opened > LEAST_APART):
            self._block += 1
            mark.block, self._opened, self._first = self._block, mark.number, None
        if role in _ATTACHED and mark.number - self._opened < LONGEST_BLOCK:
            mark.head = self._first
        if role is not Role.CLOSING:
            within = self._first.line if self._first is not None and role in _BELONGING else ""
            if self._known(hash((mark.line.strip(), within))):
                mark.role, mark.first_role = Role.REPEAT, role
        if role is Role.HEAD:
            self._first = mark
        self._after, self._kept = 0, mark.number
        self._pool.add(mark)

    def _alarming(self, mark: Mark, before: str) -> None:
        if is_calm(mark.line.lower()):
            if self._after:
                self._following(mark)
            return
        if self._known(hash(mark.line.strip())):
            return
        if before.strip() and mark.number - 1 > self._kept:
            self._pool.add(Mark(mark.number - 1, before, Role.CONTEXT, mark.block, 0))
        self._after, self._kept = LINES_AFTER, mark.number
        self._pool.add(mark)

    def _following(self, mark: Mark) -> None:
        self._after, self._kept = self._after - 1, mark.number
        mark.role = Role.CONTEXT
        self._pool.add(mark)

    def _known(self, key: int) -> bool:
        if key in self._seen:
            return True
        if len(self._seen) < SEEN_LINES:
            self._seen.add(key)
        return False

    def marks(self) -> list[Mark]:
        """The marks that are kept, settled and placed; to be asked for once, at the end."""
        kept = self._pool.marks()
        for mark in self._ends.marks():
            kept.setdefault(mark.number, mark)
        marks = [kept[number] for number in sorted(kept)]
        for _, reader in self._awake:
            reader.settle(marks)
        place(marks)
        return marks


def read_output(chunks: Iterable[str | bytes], limit: int, hint: str) -> Reading:
    """The output read to its end."""
    reading = Reading(limit, hint)
    for batch in cleaned_batches(chunks):
        reading.read(batch)
    return reading
