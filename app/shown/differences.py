"""What differs between two versions of a plan, a line for each part, for pages and terminal alike."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from app.core.differing import Difference
from app.core.plan import AnswerQuestion, Check, MoveFile, Step

ADDED, DROPPED, CHANGED = "add", "del", "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """One part that differs. `sort` is `add`, `del` or `changed`."""

    sort: str
    what: str
    words: str


def changes(found: Difference) -> tuple[Change, ...]:
    """Every part that differs, in the order in which a plan has them; empty where nothing does."""
    return tuple(_changes(found))


def _changes(found: Difference) -> Iterator[Change]:
    yield from _some(DROPPED, "step dropped", map(_step, found.steps_dropped))
    yield from _some(ADDED, "step added", map(_step, found.steps_added))
    yield from _some(CHANGED, "step in other words", map(_step, found.steps_changed))
    yield from _some(DROPPED, "check dropped", map(_check, found.checks_dropped))
    yield from _some(ADDED, "check added", map(_check, found.checks_added))
    yield from _some(CHANGED, "check changed", map(_check, found.checks_changed))
    yield from _some(DROPPED, "no longer promised", (one.words for one in found.criteria_dropped))
    yield from _some(ADDED, "promised as well", (one.words for one in found.criteria_added))
    yield from _some(DROPPED, "constraint dropped", found.constraints_dropped)
    yield from _some(ADDED, "constraint added", found.constraints_added)
    yield from _some(DROPPED, "host dropped", found.hosts_dropped)
    yield from _some(ADDED, "host added", found.hosts_added)
    yield from _some(CHANGED, "limit", (f"{name} {old} → {new}" for name, old, new in found.limits))
    if found.moved:
        yield Change(CHANGED, "base", "made from another commit")
    if found.summary:
        yield Change(CHANGED, "summary", "in other words")


def _some(sort: str, what: str, told: Iterable[str]) -> Iterator[Change]:
    yield from (Change(sort, what, words) for words in told)


def _step(step: Step) -> str:
    if isinstance(step, AnswerQuestion):
        return step.intent
    to = f" → {step.to}" if isinstance(step, MoveFile) else ""
    return f"{step.kind} {step.path}{to}: {step.intent}"


def _check(check: Check) -> str:
    return f"{check.name}, {check.expect.replace('_', ' ')}: {' '.join(check.argv)}"
