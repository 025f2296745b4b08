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
ASKED_CHARACTERS = 1_000
"""Of a line; what it is stands at its beginning, and some rules take the square of a line's length."""
LEAST_APART = 3
"""Lines within which a traceback belongs to the failing test named above it."""

_SIGNS: dict[str, list[Kind]] = {}
for _kind in KINDS:
    for _key in sorted({sign[:2] for sign in _kind.signs}):
        _SIGNS.setdefault(_key, []).append(_kind)

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
        self._awake: dict[str, Reader] = {}
        self._always = [kind.reader() for kind in ALWAYS]
        self._readers: list[Reader] = list(self._always)
        self._seen: set[int] = set()
        self._after = 0
        self._kept = -1
        self._block = 0
        self._opened = -LONGEST_BLOCK
        self._first: Mark | None = None
        for kind in KINDS:
            if kind.name == hint:
                self._wake(kind)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of output that were met."""
        return tuple(kind.name for kind in KINDS if kind.name in self._awake)

    @property
    def length(self) -> int:
        """Lines of the output, empty ones at its end left out."""
        return max(self.lines - self._empty, 1)

    def read(self, batch: list[str]) -> None:
        """Takes the next lines."""
        self._keep_whole(batch)
        self._look_for_signs(batch)
        roles = self._asked(batch)
        alarmed = alarmed_lines([line for line, role in zip(batch, roles, strict=True) if role is None])
        start, blank, unclaimed = self.lines, 0, -1
        quiet = bytearray(len(batch))
        for at, role in enumerate(roles):
            line = batch[at]
            if role is None:
                unclaimed += 1
                if not line or line.isspace():
                    blank += 1
                    continue
                if unclaimed in alarmed:
                    before = batch[at - 1] if at and not quiet[at - 1] else ""
                    self._alarming(Mark(start + at, line, Role.ALARM, self._block, blank), before)
                elif self._after:
                    self._following(Mark(start + at, line, Role.CONTEXT, self._block, blank))
            elif role is Role.NEVER:
                quiet[at] = 1
            else:
                self._claimed(Mark(start + at, line, role, self._block, blank))
            blank = 0
        self._ends.add(start, batch, quiet)
        self.lines += len(batch)
        filled = next((at for at in range(len(batch) - 1, -1, -1) if batch[at]), None)
        self._empty = self._empty + len(batch) if filled is None else len(batch) - 1 - filled

    def _asked(self, batch: list[str]) -> list[Role | None]:
        """What the readers say of each line, the first that knows it; None also for blank lines."""
        asked = [reader.role for reader in self._readers]
        roles: list[Role | None] = []
        for line in batch:
            role = None
            if line and not line.isspace():
                begun = line[:ASKED_CHARACTERS]
                for ask in asked:
                    role = ask(begun)
                    if role is not None:
                        break
            roles.append(role)
        return roles

    def _keep_whole(self, batch: list[str]) -> None:
        if self.whole is None:
            return
        self.whole += batch
        self._whole_size += sum(map(len, batch)) + len(batch)
        if self._whole_size > 2 * self._limit:
            self.whole = None

    def _look_for_signs(self, batch: list[str]) -> None:
        signs = _SIGNS
        for line in batch:
            start = line.lstrip()
            for kind in signs.get(start[:2], ()):
                if kind.name not in self._awake and start.startswith(kind.signs) and kind.proof.match(start):
                    self._wake(kind)

    def _wake(self, kind: Kind) -> None:
        self._awake[kind.name] = kind.reader()
        awake = [self._awake[each.name] for each in KINDS if each.name in self._awake]
        self._readers = [*awake, *self._always]

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
        if is_calm(mark.line[:ASKED_CHARACTERS].lower()):
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
        for reader in self._readers:
            reader.settle(marks)
        place(marks)
        return marks


def read_output(chunks: Iterable[str | bytes], limit: int, hint: str) -> Reading:
    """The output read to its end."""
    reading = Reading(limit, hint)
    for batch in cleaned_batches(chunks):
        reading.read(batch)
    return reading
