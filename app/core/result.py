"""Gate 4, whole: whether what was made may leave the box. The patch, its steps, its checks and its review. Pure."""

from dataclasses import dataclass

from app.core.fit import patch_fits, policy_allows
from app.core.patch import FileChange, Patch, StepChanges
from app.core.paths import shown
from app.core.plan import Beside, FileStep, MoveFile, Plan
from app.core.policy import Policy
from app.core.report import Report, plan_shown, review_allows
from app.core.verdict import Allowed, Refused, Verdict, all_of


def result_fits(plan: Plan, patch: Patch, report: Report, policy: Policy) -> Verdict:
    """Allowed when the patch is the plan's and nothing else, the checks were shown, and no review keeps it back."""
    return all_of(
        patch_fits(plan, patch, policy),
        steps_fit(plan, patch, policy),
        plan_shown(plan, report, policy),
        review_allows(report.review),
    )


def steps_fit(plan: Plan, patch: Patch, policy: Policy) -> Verdict:
    """Allowed when what was told as done, step by step, is what the patch holds; also where that was not recorded.

    Every step left a change in its own path, or code saw why there was nothing to do, and touched nothing that is
    another step's. Together they come to the patch. That what they leave out of it was undone is seen when it lands.
    """
    if not patch.steps:
        return Allowed()
    told = [one.step for one in patch.steps if one.step]
    if told != [step.id for step in plan.file_steps()] or [one.step for one in patch.steps[: len(told)]] != told:
        return Refused("What was told as done, step by step, is not the steps of the plan in their order.")
    steps = {step.id: step for step in plan.file_steps()}
    reach = _Reach(plan.paths(), Beside.of(plan.paths()))
    verdicts = [_within(one, steps.get(one.step), plan, reach, policy) for one in patch.steps]
    return all_of(*verdicts, _come_to(patch))


def own_paths(step: FileStep) -> frozenset[str]:
    """The paths that are the step's to touch; a moved file has two."""
    return frozenset({step.path, step.to} if isinstance(step, MoveFile) else {step.path})


@dataclass(frozen=True, slots=True)
class _Reach:
    """What a plan names, and what stands beside it."""

    named: frozenset[str]
    beside: Beside


def _within(told: StepChanges, step: FileStep | None, plan: Plan, reach: _Reach, policy: Policy) -> Verdict:
    what = f"Step {told.step}" if step is not None else f"Repair {told.repair}"
    own = reach.named if step is None else own_paths(step)
    for change in told.changes:
        mine = change.path in own
        beside = change.path not in reach.named and reach.beside.holds(change.path)
        if not (mine or beside):
            return Refused(f"{what} touched {shown(change.path)}, which is not its own.")
        allowed = policy_allows(change.path, plan, policy)
        if isinstance(allowed, Refused):
            return allowed
    if step is None or told.nothing_to_do or {change.path for change in told.changes} & own_paths(step):
        return Allowed()
    return Refused(f"Step {told.step} was told as done and has changed nothing in {shown(step.path)}.")


_End = tuple[str, str] | None
"""A file's content and mode; None where it is gone."""


def _come_to(patch: Patch) -> Verdict:
    ends: dict[str, _End] = {}
    for one in patch.steps:
        ends |= {change.path: _end(change) for change in one.changes}
    whole: dict[str, _End] = {}
    for change in patch.changes:
        whole |= {change.old_path: None} if change.old_path is not None else {}
        whole[change.path] = _end(change)
    strange = [path for path, end in whole.items() if path not in ends or ends[path] != end]
    return Refused(f"The steps do not come to what the patch holds in {shown(strange[0])}.") if strange else Allowed()


def _end(change: FileChange) -> _End:
    return None if change.content_ref is None else (change.content_ref, change.mode)
