"""What differs between two versions of a plan, in a few lines that an approver reads first."""

from collections.abc import Iterable, Iterator

from app.comments.markdown import code, inline
from app.core.differing import Difference, difference
from app.core.plan import AnswerQuestion, Check, MoveFile, Plan, Step

MOST = 8
"""Lines of one sort; the rest is counted, since the plan itself stands below."""

WORDS = 300
"""Characters of a part that stands in full in the plan, or stood in the one before."""


def differs(before: Plan, after: Plan) -> str:
    """The difference as a list under a title; it says so where there is none in what is carried out."""
    found = difference(before, after)
    title = f"**What differs from version {before.version}**"
    lines = [*_steps(found), *_checks(found), *_rest(found)]
    if found.moved:
        lines.append(f"- now on {code(after.base_commit[:12])}; before on {code(before.base_commit[:12])}")
    if found.is_empty():
        lines.append("- steps, checks, promises and limits are the same")
    return f"{title}\n\n" + "\n".join(lines)


def _steps(found: Difference) -> Iterator[str]:
    yield from _some("step dropped", (_step(one) for one in found.steps_dropped))
    yield from _some("step added", (_step(one) for one in found.steps_added))
    yield from _some("step in other words", (_step(one) for one in found.steps_changed))


def _checks(found: Difference) -> Iterator[str]:
    yield from _some("check dropped", (code(one.name) for one in found.checks_dropped))
    yield from _some("check added", (_check(one) for one in found.checks_added))
    yield from _some("check changed", (_check(one) for one in found.checks_changed))


def _rest(found: Difference) -> Iterator[str]:
    yield from _some("no longer promised", (inline(one.words, WORDS) for one in found.criteria_dropped))
    yield from _some("promised as well", (inline(one.words, WORDS) for one in found.criteria_added))
    yield from _some("constraint dropped", (inline(one, WORDS) for one in found.constraints_dropped))
    yield from _some("constraint added", (inline(one, WORDS) for one in found.constraints_added))
    yield from _some("host dropped", map(code, found.hosts_dropped))
    yield from _some("host added", map(code, found.hosts_added))
    yield from _some("limit", (f"{name} {old} → {new}" for name, old, new in found.limits))


def _some(what: str, parts: Iterable[str]) -> Iterator[str]:
    told = list(parts)
    yield from (f"- {what}: {one}" for one in told[:MOST])
    if len(told) > MOST:
        yield f"- {what}: {len(told) - MOST} more"


def _step(step: Step) -> str:
    if isinstance(step, AnswerQuestion):
        return inline(step.intent, WORDS)
    to = f" → {code(step.to)}" if isinstance(step, MoveFile) else ""
    return f"{step.kind} {code(step.path)}{to} ({inline(step.intent, WORDS)})"


def _check(check: Check) -> str:
    return f"{code(check.name)}, {check.expect.replace('_', ' ')}"
