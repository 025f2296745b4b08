"""Lint: everything that is wrong with a plan, found by code before anybody sees it. Pure: no tree is read here."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from app.core.clients import client_of
from app.core.fit import is_manifest, is_test, policy_allows
from app.core.paths import safe_path, shown
from app.core.plan import AnswerQuestion, ChangeFile, Expectation, MoveFile, Plan, Step
from app.core.policy import Policy
from app.core.template import Must, Size, Template
from app.core.verdict import Allowed, Refused, Verdict


class Code(StrEnum):
    """What sort of fault it is."""

    SHAPE = "shape"
    CHECK = "check"
    CITATION = "citation"
    PATH = "path"
    POLICY = "policy"
    LIMIT = "limit"
    TEMPLATE = "template"
    ACCEPTANCE = "acceptance"
    TEST = "regression test"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a plan, in a sentence that says where."""

    code: Code
    words: str

    def __str__(self) -> str:
        return f"[{self.code}] {self.words}"


_CODE_OF = {
    Must.ACCEPTANCE: Code.ACCEPTANCE,
    Must.REGRESSION_TEST: Code.TEST,
    Must.REGRESSION_TEST_OR_REASON: Code.TEST,
    Must.FAILS_BEFORE_PASSES_AFTER: Code.TEST,
}


def plan_faults(plan: Plan, template: Template, policy: Policy) -> tuple[Fault, ...]:
    """Every fault that the plan has under its template and the policy, none of them twice; empty where it fits.

    Whether paths and cited lines are there is for who has the base commit (`worker.belts.plan_form`).
    """
    return tuple(dict.fromkeys(_faults(plan, template, policy)))


def plan_fits(plan: Plan, template: Template, policy: Policy) -> Verdict:
    """Allowed when the plan may be shown; else its first fault."""
    faults = plan_faults(plan, template, policy)
    return Refused(faults[0].words) if faults else Allowed()


def _faults(plan: Plan, template: Template, policy: Policy) -> Iterator[Fault]:
    for path in sorted(plan.paths()):
        yield from _path_faults(path, plan, policy)
    for step in plan.steps:
        if step.kind not in template.step_kinds:
            yield Fault(
                Code.TEMPLATE, f"Step {step.id}: the template {template.name} has no step of the kind {step.kind}."
            )
    for must in template.must_have:
        yield from _demanded(must, plan)
    yield from _check_faults(plan, template)
    if plan.hosts and plan.setup is None:
        yield Fault(Code.POLICY, "The plan names hosts to reach, and has no set-up commands that would reach them.")
    if plan.setup is not None and plan.setup != policy.setup and (policy.setup or not all(map(client_of, plan.setup))):
        yield Fault(Code.POLICY, "The plan's set-up commands are those neither of the policy nor of a package client.")
    yield from _made_twice(plan)
    yield from _uncovered(plan)
    yield from _at_most("steps", len(plan.steps), template.limits.steps)
    yield from _budget_faults(plan, template.budget.execution.most, policy)


def _path_faults(path: str, plan: Plan, policy: Policy) -> Iterator[Fault]:
    safe = safe_path(path)
    if isinstance(safe, Refused):
        yield Fault(Code.PATH, str(safe))
        return
    allowed = policy_allows(path, plan, policy)
    if isinstance(allowed, Refused):
        yield Fault(Code.POLICY, str(allowed))


def _demanded(must: Must, plan: Plan) -> Iterator[Fault]:
    if must is Must.REGRESSION_TEST_OR_REASON:
        yield from _regression_test(plan)
    elif not _has(must, plan):
        words = f"The template asks for {must.replace('_', ' ')}, and the plan has none."
        yield Fault(_CODE_OF.get(must, Code.TEMPLATE), words)


def _has(must: Must, plan: Plan) -> bool:
    tests = [path for path in plan.paths() if is_test(path)]
    return {
        Must.EVIDENCE: bool(plan.evidence),
        Must.HYPOTHESIS: bool(plan.hypothesis.strip()),
        Must.ACCEPTANCE: bool(plan.acceptance),
        Must.REGRESSION_TEST: bool(tests),
        Must.TEST: bool(tests),
        Must.NOTHING_BUT_TESTS: bool(tests) and len(tests) == len(plan.paths()),
        Must.MANIFEST: any(is_manifest(path) for path in plan.paths()),
        Must.CONSTRAINTS: bool(plan.constraints),
        Must.OUT_OF_SCOPE: bool(plan.out_of_scope),
        Must.RISKS: bool(plan.risks),
        Must.FAILS_BEFORE_PASSES_AFTER: any(
            check.expect is Expectation.FAILS_BEFORE_PASSES_AFTER for check in plan.checks
        ),
    }[must]


def _regression_test(plan: Plan) -> Iterator[Fault]:
    """A test that shows the defect and a check that runs it, or the reason why not; never half of it or both."""
    planned = _has(Must.REGRESSION_TEST, plan)
    shown_by = _has(Must.FAILS_BEFORE_PASSES_AFTER, plan)
    if plan.no_test_because is None:
        if not planned:
            yield Fault(
                Code.TEST, "The plan has no step on a test file, and `no_test_because` does not say why there is none."
            )
        if not shown_by:
            yield Fault(
                Code.TEST,
                "No check is to fail before and pass after, and `no_test_because` does not say why there is none.",
            )
    elif shown_by:
        yield Fault(Code.TEST, "A check is to fail before and pass after, and `no_test_because` says that none can.")


def _check_faults(plan: Plan, template: Template) -> Iterator[Fault]:
    if len(plan.checks) < template.checks.at_least:
        yield Fault(Code.CHECK, f"The template asks for at least {template.checks.at_least} checks.")
    for check in plan.checks:
        if check.expect not in template.checks.expect:
            yield Fault(Code.CHECK, f"The check {check.name} promises what this template does not know.")


def _made_twice(plan: Plan) -> Iterator[Fault]:
    """One path is made or unmade by one step only; several steps may change the same file."""
    made = [step.path for step in plan.file_steps() if not isinstance(step, ChangeFile)]
    made += [step.to for step in plan.file_steps() if isinstance(step, MoveFile)]
    for path in sorted({path for path in made if made.count(path) > 1}):
        yield Fault(Code.PATH, f"{shown(path)} is created, deleted or moved by more than one step.")


def _uncovered(plan: Plan) -> Iterator[Fault]:
    """What the plan says that it will bring about, its steps and checks do; and no step is there for nothing."""
    if plan.acceptance is None:
        return
    steps, checks = {step.id for step in plan.steps}, {check.name for check in plan.checks}
    for criterion in plan.acceptance:
        place = f"Acceptance {criterion.id}"
        if not criterion.steps and not criterion.checks:
            yield Fault(Code.ACCEPTANCE, f"{place}: no step and no check covers it.")
        for step in sorted(set(criterion.steps) - steps):
            yield Fault(Code.ACCEPTANCE, f"{place}: the plan has no step {step}.")
        for check in sorted(set(criterion.checks) - checks):
            yield Fault(Code.ACCEPTANCE, f"{place}: the plan has no check {check!r}.")
    serving = {step for criterion in plan.acceptance for step in criterion.steps}
    yield from (_idle(step) for step in plan.steps if step.id not in serving and step.no_criterion_because is None)


def _idle(step: Step) -> Fault:
    what = "question" if isinstance(step, AnswerQuestion) else f"step ({step.kind} {shown(step.path)})"
    return Fault(
        Code.ACCEPTANCE,
        f"Step {step.id}: no criterion of the acceptance names this {what}, and `no_criterion_because` does not say "
        "why it is there.",
    )


def _budget_faults(plan: Plan, most: Size, policy: Policy) -> Iterator[Fault]:
    budget, own = plan.budget, policy.budget
    # A moved file has two paths and is one change.
    changes = len(plan.paths()) - sum(isinstance(step, MoveFile) for step in plan.steps)
    yield from _at_most("files that the plan names", changes, budget.files)
    yield from _at_most("dollars", Decimal(budget.usd), min(most.usd, own.usd))
    yield from _at_most("model calls", budget.calls, min(most.calls, own.calls))
    yield from _at_most("minutes", budget.minutes, min(most.minutes, own.minutes))
    yield from _at_most("files", budget.files, min(most.files, own.files))
    yield from _at_most("changed lines", budget.lines, min(most.lines, own.lines))


def _at_most(what: str, asked: int | Decimal, most: int | Decimal) -> Iterator[Fault]:
    if asked > most:
        yield Fault(Code.LIMIT, f"{asked} {what} are more than the {most} allowed.")
