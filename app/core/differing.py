"""What differs between two versions of a plan, told by code from the two alone. Pure."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from app.core.plan import AnswerQuestion, Check, Criterion, MoveFile, Plan, Step

Part = TypeVar("Part", Step, Check, Criterion)


@dataclass(frozen=True, slots=True)
class Difference:
    """What the newer plan has that the older one had not, and the other way round.

    Steps are the same when they do the same thing to the same path in the same words, whatever their number; a step
    on the same path in other words is changed. `moved` is true where the base commit is another one.
    """

    steps_dropped: tuple[Step, ...]
    steps_added: tuple[Step, ...]
    steps_changed: tuple[Step, ...]
    checks_dropped: tuple[Check, ...]
    checks_added: tuple[Check, ...]
    checks_changed: tuple[Check, ...]
    criteria_dropped: tuple[Criterion, ...]
    criteria_added: tuple[Criterion, ...]
    constraints_dropped: tuple[str, ...]
    constraints_added: tuple[str, ...]
    hosts_added: tuple[str, ...]
    hosts_dropped: tuple[str, ...]
    limits: tuple[tuple[str, str, str], ...]
    """Name, older and newer value of each hard limit that differs."""
    moved: bool
    summary: bool

    def is_empty(self) -> bool:
        """True where nothing that is carried out differs."""
        return not any(getattr(self, name) for name in self.__slots__ if name not in ("moved", "summary"))


def difference(old: Plan, new: Plan) -> Difference:
    """What `new` changes about `old`."""
    dropped, added, changed = _compared(old.steps, new.steps, _place, _done)
    fewer, more, others = _compared(old.checks, new.checks, lambda one: one.name, lambda one: (one.argv, one.expect))
    unsaid, said, _ = _compared(old.acceptance or (), new.acceptance or (), lambda one: one.words, lambda one: ())
    return Difference(
        steps_dropped=dropped,
        steps_added=added,
        steps_changed=changed,
        checks_dropped=fewer,
        checks_added=more,
        checks_changed=others,
        criteria_dropped=unsaid,
        criteria_added=said,
        constraints_dropped=_only(old.constraints, new.constraints),
        constraints_added=_only(new.constraints, old.constraints),
        hosts_added=_only(new.hosts, old.hosts),
        hosts_dropped=_only(old.hosts, new.hosts),
        limits=_limits(old, new),
        moved=old.base_commit != new.base_commit,
        summary=old.summary != new.summary,
    )


def _compared(
    old: Sequence[Part], new: Sequence[Part], place: Callable[[Part], Hashable], said: Callable[[Part], Hashable]
) -> tuple[tuple[Part, ...], tuple[Part, ...], tuple[Part, ...]]:
    """Dropped, added and changed parts. What is the same in full goes first; the rest pairs up by place, in order."""
    before = _rest(old, [(place(one), said(one)) for one in new], lambda one: (place(one), said(one)))
    after = _rest(new, [(place(one), said(one)) for one in old], lambda one: (place(one), said(one)))
    dropped = _rest(before, [place(one) for one in after], place)
    added = _rest(after, [place(one) for one in before], place)
    changed = tuple(one for one in after if one not in added)
    return dropped, added, changed


def _rest(parts: Sequence[Part], taken: Iterable[Hashable], key: Callable[[Part], Hashable]) -> tuple[Part, ...]:
    """The parts that are left when each key of `taken` takes one part with it."""
    left, rest = Counter(taken), []
    for part in parts:
        if left[key(part)] > 0:
            left[key(part)] -= 1
        else:
            rest.append(part)
    return tuple(rest)


def _place(step: Step) -> Hashable:
    if isinstance(step, AnswerQuestion):
        return step.kind, step.intent
    return step.kind, step.path, step.to if isinstance(step, MoveFile) else ""


def _done(step: Step) -> Hashable:
    return step.intent, step.constraints, step.done_when, step.who


def _only(these: Sequence[str], those: Sequence[str]) -> tuple[str, ...]:
    return tuple(one for one in these if one not in those)


def _limits(old: Plan, new: Plan) -> tuple[tuple[str, str, str], ...]:
    names = {"usd": "dollars", "calls": "model calls", "minutes": "minutes", "files": "files", "lines": "changed lines"}
    pairs = ((word, str(getattr(old.budget, key)), str(getattr(new.budget, key))) for key, word in names.items())
    return tuple(pair for pair in pairs if pair[1] != pair[2])
