"""The executor: walks the plan's steps and only those, proves the result in the box, and compares it with the plan."""

from app.core.budget import Meter
from app.core.plan import Plan, Who
from app.core.report import When
from app.core.verdict import Refused
from worker.belts.bench import Bench, Made, Paused, Stopped, Walk
from worker.belts.concluding import conclude, report_of
from worker.belts.reconciling import Change, reconciled
from worker.belts.rule_step import apply_rule
from worker.belts.step import Amending, StepRoom, carry_out, notes_of
from worker.model.conversation import Limits
from worker.repo.edits import Overlay
from worker.repo.syntax import broken_at


def execute(plan: Plan, bench: Bench, meter: Meter) -> Made | Paused | Stopped:
    """1 the checks before, 2 the steps, 3 the checks after, 4 the gate, 5 a second model's reading.

    Steps and repairs that an earlier attempt kept are not done again.
    Raises `BoxLost` and `ModelUnavailable`: then nothing is known about the plan, and the work can be done again.
    """
    before = bench.prover.run_all(plan, (), When.BEFORE)
    if isinstance(before, Refused):
        return Stopped(before)
    progress = bench.progress
    overlay = Overlay(bench.snapshot, broken_at)
    walk = Walk(overlay, progress.changes(bench.snapshot), progress.notes(), progress.repairs())
    walk.overlay.resume(progress.held())
    broken_off: Amending | Refused | None
    if plan.rule is not None:
        broken_off = apply_rule(plan, plan.rule, walk.overlay, bench.snapshot)
    else:
        broken_off = _carry_out_all(plan, walk, bench, meter)
    if isinstance(broken_off, Amending):
        return Paused(broken_off.plan, report_of(walk, bench, before))
    if broken_off is not None:
        return Stopped(broken_off, report_of(walk, bench, before))
    return conclude(plan, walk, bench, before, meter)


def _carry_out_all(plan: Plan, walk: Walk, bench: Bench, meter: Meter) -> Amending | Refused | None:
    """Every step is kept in the walk, or the first one that could not be done says why, or what it takes besides."""
    if bench.models is None:
        return Refused("The plan's steps need a model, and there is none here.")
    limits = Limits(max_tokens=bench.template.limits.reply_tokens)
    for step in plan.file_steps():
        if bench.progress.done(step.id):
            continue
        bench.trace.step = step.id
        room = StepRoom(
            plan=plan,
            prompt=bench.template.prompts.executor,
            model=bench.models.strong if step.who is Who.STRONG else bench.models.standard,
            snapshot=bench.snapshot,
            symbols=bench.symbols,
            limits=limits,
            read_lines=bench.template.limits.read_lines,
            amender=bench.amender,
            noted=bench.note,
        )
        before = walk.overlay.at_present()
        outcome = carry_out(step, walk.overlay, room, meter)
        if isinstance(outcome, Refused | Amending):
            return outcome
        changed = reconciled(step, outcome, Change(before, walk.overlay, bench.keep), walk.kept)
        if isinstance(changed, Refused):
            return changed
        said = notes_of(step.id, outcome, changed.nothing_to_do)
        walk.kept.append(changed)
        walk.notes += said
        bench.progress.keep(changed, said, walk.overlay.held(), meter)
    bench.trace.step = 0
    return None
