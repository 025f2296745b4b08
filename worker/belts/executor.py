"""The executor: walks the plan's steps and only those, proves the result in the box, and compares it with the plan."""

from dataclasses import dataclass

from app.core.budget import Meter
from app.core.fit import beyond_plan, no_secrets, patch_fits
from app.core.patch import Patch
from app.core.plan import Plan, Who
from app.core.policy import Policy
from app.core.report import CheckRun, Report, Review, When, plan_shown
from app.core.span import SpanKind
from app.core.template import Template
from app.core.verdict import Refused, Verdict, all_of
from worker.belts.proving import Prover, tests_among
from worker.belts.reviewing import review
from worker.belts.rule_step import apply_rule
from worker.belts.step import StepRoom, carry_out, notes_of
from worker.evidence.trace import Trace
from worker.evidence.untrusted import fence
from worker.model.client import Model
from worker.model.conversation import Limits, Opening
from worker.repo.difference import file_changes, unified_diff
from worker.repo.edits import Overlay
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache
from worker.repo.syntax import broken_at
from worker.repo.tools import ReadTools

DIFF_SHOWN = 60_000
"""Characters of the difference that the reviewer reads; it can read the files for more."""


@dataclass(frozen=True, slots=True)
class BenchModels:
    """Who does standard steps, who strong ones, and who reads the result."""

    standard: Model
    strong: Model
    reviewer: Model


@dataclass(frozen=True, slots=True)
class Bench:
    """What the executor works with. It holds no token, and no way to get one; for a rule's work not even a model."""

    template: Template
    policy: Policy
    models: BenchModels | None
    snapshot: Snapshot
    symbols: SymbolCache
    prover: Prover
    trace: Trace


@dataclass(frozen=True, slots=True)
class Made:
    """The steps are done, the patch is inside the plan, the checks were shown."""

    patch: Patch
    report: Report


@dataclass(frozen=True, slots=True)
class Stopped:
    """The work ended without a result that may leave the box."""

    refused: Refused
    report: Report | None = None


def execute(plan: Plan, bench: Bench, meter: Meter) -> Made | Stopped:
    """1 the checks before, 2 the steps, 3 the checks after, 4 the gate, 5 a second model's reading.

    Raises `BoxLost` and `ModelUnavailable`: then nothing is known about the plan, and the work can be done again.
    """
    before = bench.prover.run_all(plan, (), When.BEFORE)
    if isinstance(before, Refused):
        return Stopped(before)
    overlay = Overlay(bench.snapshot, broken_at)
    walked: tuple[str, ...] | Refused | None
    if plan.rule is not None:
        walked = apply_rule(plan, plan.rule, overlay, bench.snapshot)
    else:
        walked = _walk(plan, overlay, bench, meter)
    if isinstance(walked, Refused):
        return Stopped(walked, _report(plan, overlay, bench, before))
    notes = list(walked or ())
    shown = _after(plan, overlay, bench)
    if isinstance(shown, Refused):
        return Stopped(shown, _report(plan, overlay, bench, before))
    patch = Patch(
        base_commit=plan.base_commit,
        changes=file_changes(bench.snapshot, overlay.changes(), lambda content: _kept(bench, content)),
    )
    report = _report(plan, overlay, bench, (*before, *shown))
    notes += [f"`{path}` was changed as a test beside a file of the plan." for path in beyond_plan(plan, patch)]
    report = report.model_copy(update={"notes": tuple(notes)})
    verdict = all_of(patch_fits(plan, patch, bench.policy), _clean(overlay), plan_shown(plan, report))
    if isinstance(verdict, Refused):
        return Stopped(verdict, report)
    return Made(patch, report.model_copy(update={"review": _review(plan, overlay, report, bench, meter)}))


def _walk(plan: Plan, overlay: Overlay, bench: Bench, meter: Meter) -> tuple[str, ...] | Refused:
    """Notes for the report, once every step is kept."""
    if bench.models is None:
        return Refused("The plan's steps need a model, and there is none here.")
    limits = Limits(max_tokens=bench.template.limits.reply_tokens)
    notes: list[str] = []
    for step in plan.file_steps():
        bench.trace.step = step.id
        room = StepRoom(
            plan=plan,
            prompt=bench.template.prompts.executor,
            model=bench.models.strong if step.who is Who.STRONG else bench.models.standard,
            snapshot=bench.snapshot,
            symbols=bench.symbols,
            limits=limits,
            read_lines=bench.template.limits.read_lines,
            noted=lambda name, outcome: _note(bench.trace, name, outcome),
        )
        outcome = carry_out(step, overlay, room, meter)
        if isinstance(outcome, Refused):
            return outcome
        notes += notes_of(step.id, outcome)
    bench.trace.step = 0
    return tuple(notes)


def _note(trace: Trace, name: str, outcome: str) -> None:
    with trace.noting(SpanKind.TOOL, name) as noted:
        noted.outcome = outcome


def _after(plan: Plan, overlay: Overlay, bench: Bench) -> tuple[CheckRun, ...] | Refused:
    changes = overlay.changes()
    alone = bench.prover.run_all(plan, tests_among(changes), When.TESTS_ONLY)
    if isinstance(alone, Refused):
        return alone
    after = bench.prover.run_all(plan, changes, When.AFTER)
    return after if isinstance(after, Refused) else (*alone, *after)


def _report(plan: Plan, overlay: Overlay, bench: Bench, runs: tuple[CheckRun, ...]) -> Report:
    changes = overlay.changes()
    files = file_changes(bench.snapshot, changes, lambda content: _kept(bench, content))
    return Report(
        runs=runs,
        environment=" ".join(bench.prover.environments),
        diff_ref=bench.prover.keep(_diff(overlay).encode("utf-8", "surrogateescape"), "text/x-diff"),
        changed_lines=sum(change.added_lines + change.removed_lines for change in files),
    )


def _kept(bench: Bench, content: bytes) -> str:
    return bench.prover.keep(content, "application/octet-stream")


def _diff(overlay: Overlay) -> str:
    return unified_diff(overlay.base, overlay.changes())


def _clean(overlay: Overlay) -> Verdict:
    def before(path: str | None, kind: str) -> bytes:
        return b"" if kind == "create" or path is None else overlay.base.read(path)

    changes = overlay.changes()
    verdicts = [no_secrets(c.path, before(c.old_path or c.path, c.kind), c.content or b"") for c in changes]
    return all_of(*verdicts) if verdicts else Refused("The change is empty.")


def _review(plan: Plan, overlay: Overlay, report: Report, bench: Bench, meter: Meter) -> Review | None:
    """An opinion to be shown; without one the draft is opened all the same, and says nothing of a review."""
    if bench.models is None:
        return None
    checks = "\n".join(f"- {run.name} ({run.when}): {run.ended}, exit {run.exit_status}" for run in report.runs)
    text = (
        f"{fence('the approved plan', plan.model_dump_json(by_alias=True, indent=1))}\n\n"
        f"{fence('the difference', _diff(overlay)[:DIFF_SHOWN])}\n\nChecks, run by trusted code:\n{checks}\n"
    )
    bounds = bench.template.limits
    reading = ReadTools(bench.snapshot, bench.symbols, overlay, bounds.read_lines).some("read_file", "search")
    limits = Limits(max_tokens=bounds.reply_tokens, replies=20)
    return review(bench.models.reviewer, Opening(bench.template.prompts.reviewer, text), reading, meter, limits)
