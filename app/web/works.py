"""The work of a run as the pages show it: what the executor made and what the box ran, finished or not."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from app.core.facts import AmendmentProposed, ExecutionFailed, StepsDone
from app.core.report import Report
from app.ledger.errors import LedgerCorrupt
from app.ledger.outcomes import RunView
from app.ledger.store import Ledger

DROPPED = "It was dropped by its age: `countersign prune` keeps what happened, and no full outputs for ever."


@dataclass(frozen=True, slots=True)
class Work:
    """One execution's report. Without `report` there is only `trouble`, a sentence."""

    fact: StepsDone | ExecutionFailed | AmendmentProposed
    report: Report | None
    trouble: str = ""


def works(ledger: Ledger, view: RunView) -> list[Work]:
    """The executions that left a report, newest first."""
    facts = [each.fact for each in reversed(view.facts)]
    left = [fact for fact in facts if isinstance(fact, StepsDone | ExecutionFailed | AmendmentProposed)]
    return [_work(ledger, fact) for fact in left if fact.report_ref]


def kept(ledger: Ledger, view: RunView, reference: str) -> bytes | None:
    """A patch or an output of this run by its reference; None for whatever no report of this run names."""
    if reference not in set(_named(works(ledger, view))):
        return None
    return ledger.artifact(reference)


def _named(found: list[Work]) -> Iterator[str]:
    for work in found:
        if work.report is not None:
            yield work.report.diff_ref
            yield from (run.output_ref for run in work.report.runs)
            yield from (run.output_ref for repair in work.report.repairs for run in repair.runs)


def _work(ledger: Ledger, fact: StepsDone | ExecutionFailed | AmendmentProposed) -> Work:
    try:
        content = ledger.artifact(fact.report_ref)
    except LedgerCorrupt as trouble:
        return Work(fact, None, str(trouble))
    if content is None:
        dropped = ledger.is_dropped(fact.report_ref)
        return Work(fact, None, DROPPED if dropped else "The ledger does not hold this report any more.")
    try:
        return Work(fact, Report.model_validate_json(content))
    except ValidationError:
        return Work(fact, None, "What the ledger holds under this reference is not a report.")
