"""The work of a run: what the executor made, what the box ran and what was found out, finished or not."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from app.core.facts import AmendmentProposed, ExecutionFailed, QuestionsAnswered, StepsDone
from app.core.report import CheckRun, Findings, Report, When
from app.ledger.errors import LedgerCorrupt
from app.ledger.outcomes import RunView
from app.ledger.store import Ledger

DROPPED = "It was dropped by its age: `countersign prune` keeps what happened, and no full outputs for ever."

_Kept = TypeVar("_Kept", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class CheckShown:
    """One command of the checks with its newest run on each tree; None where it was not run there."""

    name: str
    argv: tuple[str, ...]
    before: CheckRun | None
    tests_only: CheckRun | None
    after: CheckRun | None

    def runs(self) -> tuple[CheckRun | None, ...]:
        """In the order of the columns."""
        return self.before, self.tests_only, self.after


@dataclass(frozen=True, slots=True)
class Work:
    """One execution's report, or its findings. Without either there is only `trouble`, a sentence."""

    fact: StepsDone | ExecutionFailed | AmendmentProposed | QuestionsAnswered
    report: Report | None
    trouble: str = ""
    findings: Findings | None = None
    patch: str = ""
    """The patch as text, cut at `PATCH_CHARACTERS`; empty where it was dropped or nothing was changed."""
    patch_is_cut: bool = False

    def checks(self) -> tuple[CheckShown, ...]:
        """The checks of the report, each with its runs before and after."""
        if self.report is None:
            return ()
        ordered = sorted(self.report.runs, key=lambda run: (run.name, run.argv))
        return tuple(_check(*of) for of in groupby(ordered, key=lambda run: (run.name, run.argv)))


PATCH_CHARACTERS = 120_000
"""Of a patch so much stands on the page of its run; the whole is kept behind its reference."""


def works(ledger: Ledger, view: RunView) -> list[Work]:
    """The executions that left something, newest first."""
    found = []
    for each in reversed(view.facts):
        match each.fact:
            case StepsDone() | ExecutionFailed() | AmendmentProposed() if each.fact.report_ref:
                found.append(_work(ledger, each.fact))
            case QuestionsAnswered():
                findings, trouble = read_kept(ledger, each.fact.findings_ref, Findings)
                found.append(Work(each.fact, None, trouble, findings))
    return found


def named(found: list[Work]) -> Iterator[str]:
    """The references that these works lead to."""
    for work in found:
        if work.report is not None:
            yield work.report.diff_ref
            yield from (run.output_ref for run in work.report.runs)
            yield from (run.output_ref for repair in work.report.repairs for run in repair.runs)


def read_kept(ledger: Ledger, reference: str, model: type[_Kept]) -> tuple[_Kept | None, str]:
    """What is kept under the reference, read as this model; or None, and why."""
    try:
        content = ledger.artifact(reference)
    except LedgerCorrupt as trouble:
        return None, str(trouble)
    what = model.__name__.lower()
    if content is None:
        dropped = ledger.is_dropped(reference)
        return None, DROPPED if dropped else f"The ledger does not hold this {what} any more."
    try:
        return model.model_validate_json(content), ""
    except ValidationError:
        return None, f"What the ledger holds under this reference is not a {what}."


def _work(ledger: Ledger, fact: StepsDone | ExecutionFailed | AmendmentProposed) -> Work:
    report, trouble = read_kept(ledger, fact.report_ref, Report)
    if report is None:
        return Work(fact, None, trouble)
    try:
        whole = (ledger.artifact(report.diff_ref) or b"").decode("utf-8", "replace")
    except LedgerCorrupt as corrupt:
        return Work(fact, report, str(corrupt))
    return Work(fact, report, patch=whole[:PATCH_CHARACTERS], patch_is_cut=len(whole) > PATCH_CHARACTERS)


def _check(place: tuple[str, tuple[str, ...]], runs: Iterator[CheckRun]) -> CheckShown:
    by_moment = {run.when: run for run in runs}
    return CheckShown(
        *place, by_moment.get(When.BEFORE), by_moment.get(When.TESTS_ONLY), by_moment.get(When.AFTER)
    )
