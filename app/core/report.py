"""The report: what the checks showed. Written by code from what the box measured; no model fills it in."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from app.core.plan import Check, Evidence, Expectation, Plan, Sha256
from app.core.policy import Policy
from app.core.run import Part
from app.core.verdict import Allowed, Refused, Verdict, all_of

NOT_RUN = "not run"
"""How a check ended that could not be run: what it needs cannot be had here, which says nothing about the change."""


class When(StrEnum):
    """On which tree a check ran."""

    BEFORE = "before"
    AFTER = "after"
    TESTS_ONLY = "tests_only"
    """On the base with only the plan's test files changed: where a regression test must fail."""


class CheckRun(Part):
    """One command run by the box."""

    name: str
    argv: tuple[str, ...]
    when: When
    ended: str
    """`exited`, the limit that ended it (timeout, memory, pids, output, disk), or `not run`, with the reason in
    `excerpt`."""
    exit_status: int | None = None
    seconds: Annotated[float, Field(ge=0)]
    output_ref: Sha256
    limits: Literal["hard", "soft"] = "hard"
    excerpt: str = ""
    """The distilled output; the whole is kept under `output_ref`."""
    tests: Annotated[int, Field(ge=0)] | None = None
    """How many tests the runner said that it ran; None where it did not say."""
    failing: tuple[str, ...] = ()
    """What the runner named as failed."""
    failed: Annotated[int, Field(ge=0)] | None = None
    """How many failed, as the runner counts; None where it did not say."""
    errors: tuple[str, ...] = ()
    """The kinds of errors that the output of a failure names, such as `KeyError`."""
    doubt: str = ""
    """Why a status of 0 shows nothing here: no test ran, failures were reported, a script hides them."""
    marks: str = ""
    """Digest of what is distinctive in the output of a failure; the same for the same failure."""

    def passed(self) -> bool:
        """True only for a command that ended by itself with status 0, and that can be believed."""
        return self.ended == "exited" and self.exit_status == 0 and not self.doubt

    def fails_as(self, other: "CheckRun") -> bool:
        """True where both failed by themselves and for the same reason: the same tests with no other kind of error, or
        else the same output.

        Not where more failed than before: not everything that fails has a name.
        """
        if self.ended != "exited" or other.ended != "exited" or self.passed() or other.passed():
            return False
        if self.failed is not None and other.failed is not None and self.failed > other.failed:
            return False
        if self.failing and other.failing:
            return set(self.failing) <= set(other.failing) and set(self.errors) <= set(other.errors)
        same = (self.exit_status, self.marks, self.doubt) == (other.exit_status, other.marks, other.doubt)
        return same and bool(self.marks) and not self.failing and not other.failing


class Showing(StrEnum):
    """What the runs of one check show, on the same commit with the same command."""

    FIXED = "failed before, passes after"
    PASSES = "passes"
    WAS_FAILING = "was already failing"
    BROKE = "broke it"
    NOT_SHOWN = "not shown"


class Finding(Part):
    """A reviewer's remark."""

    path: str
    line: int | None = None
    text: str


class Judgement(Part):
    """What a reviewer says of one criterion of the plan, with what it cites for that."""

    criterion: int
    met: Literal["yes", "no", "unclear"]
    because: str
    where: str = ""
    """`difference`, `report`, or the name of a check whose output is cited."""
    quote: str = ""
    believed: bool
    """Whether code found the quote there."""


class Answer(StrEnum):
    """What a reviewer says of the whole."""

    ACCEPT = "accept"
    REPAIR = "repair"
    STOP = "stop"


class Review(Part):
    """What the reviewing model said of the patch. It can keep a patch back, and never stand for a check.

    One without an `answer` is of the time when reviews were opinions only.
    """

    agrees: bool
    findings: tuple[Finding, ...] = ()
    model: str = ""
    answer: Answer | None = None
    words: str = ""
    """What is to be repaired, or why to stop."""
    judgements: tuple[Judgement, ...] = ()


class Repair(Part):
    """One round in which the executor's model mended what was made."""

    number: Annotated[int, Field(ge=1)]
    asked_by: Literal["checks", "reviewer"]
    because: str
    note: str = ""
    """What the model says that it mended; empty where it did not come to an end."""
    paths: tuple[str, ...] = ()
    """What it changed."""
    runs: tuple[CheckRun, ...] = ()
    """The runs that asked for it."""
    calls: int = 0
    """Model calls that it took, and what they cost where the price is known."""
    usd: Decimal = Decimal(0)


class Report(Part):
    """Everything the executor shows for its patch."""

    runs: tuple[CheckRun, ...]
    environment: str = ""
    """Digest of the prepared check environment; empty where none was needed."""
    diff_ref: Sha256
    changed_lines: int
    review: Review | None = None
    notes: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] = ()
    unreviewed: str = ""
    """Why no second model read it; empty where one did."""

    def soft_limits(self) -> bool:
        """True where no control group bounded memory and processes of some run; the page and the draft say so."""
        return any(run.limits == "soft" for run in self.runs)


class QuestionAnswered(Part):
    """What was found out about one question of a plan. Code verified that the cited lines are there."""

    step: int
    question: str
    answer: str
    evidence: tuple[Evidence, ...] = ()
    open: str = ""
    """Why it could not be answered; then `answer` is empty."""


class Findings(Part):
    """Everything that came of a plan that answers questions, in the order of its steps."""

    answers: tuple[QuestionAnswered, ...]
    review: Review | None = None


def plan_shown(plan: Plan, report: Report, policy: Policy) -> Verdict:
    """As `checks_shown`. A plan that was approved without a check promises none; its comment and draft say so.

    Checks that could not be run are left out only where the policy lets a draft be opened that says so.
    """
    checks = _to_be_shown(plan, report, policy)
    return checks_shown(checks, report) if checks else Allowed()


def red(plan: Plan, report: Report, policy: Policy) -> tuple[CheckRun, ...]:
    """The runs after the change, or with its tests alone, of the checks that were run and do not show what they must.

    Empty also where one of them could not be run at all: no change of the code mends that.
    """
    checks = [check for check in _to_be_shown(plan, report, policy) if isinstance(_shown(check, report), Refused)]
    if any(_reason_not_run(check, report) for check in checks):
        return ()
    every = [runs_of(check, report) for check in checks]
    return tuple(runs[when] for runs in every for when in (When.TESTS_ONLY, When.AFTER) if when in runs)


def _to_be_shown(plan: Plan, report: Report, policy: Policy) -> tuple[Check, ...]:
    if policy.checks_not_run == "stop":
        return plan.checks
    unrun = not_run(plan, report)
    return tuple(check for check in plan.checks if check not in unrun)


def not_run(plan: Plan, report: Report) -> tuple[Check, ...]:
    """The checks of the plan that could not be run on the changed tree, or with the tests alone where that matters."""
    return tuple(check for check in plan.checks if _reason_not_run(check, report))


def _reason_not_run(check: Check, report: Report) -> str:
    runs = runs_of(check, report)
    matter = [When.AFTER] if check.expect is Expectation.PASSES else [When.AFTER, When.TESTS_ONLY]
    unrun = [runs[when] for when in matter if when in runs and runs[when].ended == NOT_RUN]
    return unrun[0].excerpt if unrun else ""


def review_allows(review: Review | None) -> Verdict:
    """Refused where a reviewer asks for a repair that was not made, or to stop, or finds a criterion not met.

    A reviewer that came to no end keeps nothing back; the draft says that there was none.
    """
    if review is None or review.answer is None:
        return Allowed()
    unmet = [one for one in review.judgements if one.met == "no" and one.believed]
    if review.answer is Answer.ACCEPT and not unmet:
        return Allowed()
    if review.answer is Answer.ACCEPT:
        said = f"finds that criterion {unmet[0].criterion} is not met: {unmet[0].because}"
    else:
        what = "asks for a repair" if review.answer is Answer.REPAIR else "says to stop"
        said = f"{what}: {review.words}"
    return Refused(f"The reviewer {said}", "Read the patch; setting the label again starts a new run.")


def checks_shown(checks: tuple[Check, ...], report: Report) -> Verdict:
    """Allowed when every check of the plan was run by the box and showed what the plan promised."""
    if not checks:
        return Refused("The plan names no check, so nothing shows that the change works.")
    return all_of(*(_shown(check, report) for check in checks))


def showing(check: Check, report: Report) -> Showing:
    """What is known of this check from the box's runs alone."""
    runs = runs_of(check, report)
    before, after = runs.get(When.BEFORE), runs.get(When.AFTER)
    if after is None or after.ended == NOT_RUN:
        return Showing.NOT_SHOWN
    if after.passed():
        without = runs.get(When.TESTS_ONLY) or before
        return Showing.FIXED if without is not None and _failed(without) else Showing.PASSES
    if before is not None and after.fails_as(before):
        return Showing.WAS_FAILING
    return Showing.BROKE if before is not None and before.passed() else Showing.NOT_SHOWN


def fewer_tests(plan: Plan, report: Report) -> tuple[str, ...]:
    """What a reader should know of checks that ran fewer tests after the change than before it."""
    told = []
    for check in plan.checks:
        runs = runs_of(check, report)
        before, after = (runs[when].tests if when in runs else None for when in (When.BEFORE, When.AFTER))
        if before is not None and after is not None and after < before:
            told.append(f"`{check.name}` ran {before} tests before the change and {after} after it.")
    return tuple(told)


def runs_of(check: Check, report: Report) -> dict[When, CheckRun]:
    """The runs of exactly this command, the latest of each moment."""
    return {run.when: run for run in report.runs if run.name == check.name and run.argv == check.argv}


def _failed(run: CheckRun) -> bool:
    """A run in which no test began has shown nothing, whatever its status: the test was not there to fail."""
    return run.ended == "exited" and run.exit_status != 0 and (run.tests != 0 or bool(run.failing))


def _shown(check: Check, report: Report) -> Verdict:
    runs = runs_of(check, report)
    after = runs.get(When.AFTER)
    if after is None:
        return Refused(f"The check `{check.name}` was not run on the changed tree.")
    if reason := _reason_not_run(check, report):
        return Refused(
            f"The check `{check.name}` could not be run, so it is not shown to pass: {reason}",
            "A policy file may let such drafts be opened all the same (`checks_not_run: draft`).",
        )
    if check.expect is Expectation.PASSES and showing(check, report) is Showing.WAS_FAILING:
        return Allowed()  # It did not block before the change either; the report says so.
    if not after.passed():
        return Refused(f"The check `{check.name}` did not pass after the change ({_how(after)}).")
    if check.expect is Expectation.PASSES:
        return Allowed()
    tests_only = runs.get(When.TESTS_ONLY)
    if tests_only is None:
        return Refused(f"The check `{check.name}` was not run with the tests alone, so its test proves nothing.")
    if not _failed(tests_only):
        absent = tests_only.exit_status != 0
        how = "was not there to fail without the fix: no test ran" if absent else "did not fail without the fix"
        return Refused(f"The regression test behind `{check.name}` {how}.")
    return Allowed()


def _how(run: CheckRun) -> str:
    if run.ended != "exited":
        return f"stopped: {run.ended}"
    return run.doubt or f"exit status {run.exit_status}"
