"""The plans of a run, newest first, each with what differs from the version before it."""

from dataclasses import dataclass

from app.core.differing import difference
from app.core.facts import AmendmentProposed, PlanDrafted
from app.core.plan import Plan
from app.ledger.errors import LedgerCorrupt
from app.ledger.outcomes import RunView
from app.ledger.store import Ledger
from app.shown.differences import Change, changes


@dataclass(frozen=True, slots=True)
class Drafted:
    """A plan as it was drafted. Without `plan` there is only `trouble`, a sentence."""

    fact: PlanDrafted | AmendmentProposed
    plan: Plan | None
    trouble: str = ""
    since: int | None = None
    """The version that it is compared with; None where there is none that can be read."""
    differs: tuple[Change, ...] = ()
    """Empty where nothing does, and where there is nothing to compare with."""


def drafted(ledger: Ledger, view: RunView) -> list[Drafted]:
    """The drafted plans, newest first. What was tampered with is not shown as a plan."""
    found: list[Drafted] = []
    before: Plan | None = None
    for each in view.facts:
        if isinstance(each.fact, PlanDrafted | AmendmentProposed):
            one = _drafted(ledger, each.fact, before)
            found.append(one)
            before = one.plan or before
    return found[::-1]


def _drafted(ledger: Ledger, fact: PlanDrafted | AmendmentProposed, before: Plan | None) -> Drafted:
    try:
        plan = ledger.plan_by_digest(fact.digest)
    except LedgerCorrupt as trouble:
        return Drafted(fact, None, str(trouble))
    if plan is None:
        return Drafted(fact, None, "The ledger holds no plan with this digest.")
    if before is None:
        return Drafted(fact, plan)
    return Drafted(fact, plan, since=before.version, differs=changes(difference(before, plan)))
