"""A plan without some of its steps, made by code: what only they served goes with them, and everything else stays."""


from app.core.effects import Narrow
from app.core.fit import is_test
from app.core.paths import shown
from app.core.plan import AnswerQuestion, Check, Criterion, Expectation, MoveFile, Plan, Step
from app.core.verdict import Refused

NO_TEST = "The step that makes the test was dropped before the approval."
MOST_NAMED = 400


def narrowed(plan: Plan, narrow: Narrow, version: int) -> Plan | Refused:
    """The plan with this version number and only the steps that stay; refused where that would be no plan.

    A criterion that only dropped steps serve goes with them, and so does a check that only such criteria name or
    whose paths only dropped steps create. What was dropped stands among what is out of scope. Whether the result fits
    its template is for `lint` to say.
    """
    there = {step.id for step in plan.steps}
    stay = set(narrow.keep) if narrow.keep else there - set(narrow.drop)
    if strangers := sorted((stay | set(narrow.drop)) - there):
        return Refused(f"The plan has no step {strangers[0]}.", f"Its steps are {', '.join(map(str, sorted(there)))}.")
    if stay == there:
        return Refused("Every step of the plan is among these.", "`/approve` approves it as it is.")
    if not stay:
        return Refused("No step would be left.", "`/reject` ends the run with its plan.")
    if plan.rule is not None:
        return Refused("This plan applies one rule, whole.", "`!glob` under `### Paths` in the issue takes files out.")
    kept = tuple(step for step in plan.steps if step.id in stay)
    dropped = tuple(step for step in plan.steps if step.id not in stay)
    if isinstance(needs := _needs(kept, dropped), Refused):
        return needs
    return _without(plan, kept, dropped, version)


def lost(before: Plan, after: Plan) -> tuple[str, ...]:
    """What went with the dropped steps, as sentences for the approver."""
    told = []
    left = {one.words for one in after.acceptance or ()}
    told += [f"No longer promised: {one.words}" for one in before.acceptance or () if one.words not in left]
    checks = {one.name for one in after.checks}
    told += [f"No longer run: the check {one.name}" for one in before.checks if one.name not in checks]
    if after.no_test_because == NO_TEST and before.no_test_because is None:
        told.append("No test of the plan will show the defect any more.")
    return tuple(told)


def _needs(kept: tuple[Step, ...], dropped: tuple[Step, ...]) -> Refused | None:
    """A step that works on what a dropped one would make cannot stay."""
    made = {path: step.id for step in dropped for path in _made(step)}
    for step in kept:
        if not isinstance(step, AnswerQuestion) and step.path in made:
            words = f"Step {step.id} works on {shown(step.path)}, which step {made[step.path]} makes."
            return Refused(words, "Keep both of them, or drop both.")
    return None


def _made(step: Step) -> tuple[str, ...]:
    if isinstance(step, MoveFile):
        return (step.to,)
    return (step.path,) if step.kind == "create" else ()


def _without(plan: Plan, kept: tuple[Step, ...], dropped: tuple[Step, ...], version: int) -> Plan | Refused:
    paths, others = _touched(kept), _touched(dropped)
    stay = {step.id for step in kept}
    gone = {path for step in dropped for path in _made(step)}
    checks, acceptance = _left(plan, stay, gone)
    tests, shows = {path for path in paths if is_test(path)}, _shows_defect(checks)
    if shows is not None and tests == paths and not others <= tests:
        words = f"Only tests would be left, and nothing would make the check {shows.name} pass."
        return Refused(words, "Keep a step that changes the code as well.")
    no_test = plan.no_test_because
    if shows is not None and not tests and any(is_test(path) for path in others):
        no_test = NO_TEST
        checks = tuple(one.model_copy(update={"expect": Expectation.PASSES}) for one in checks)
    changes = {
        "version": version,
        "steps": kept,
        "checks": checks,
        "acceptance": acceptance or None,
        "no_test_because": no_test,
        "protected_paths": tuple(path for path in plan.protected_paths if path in paths),
        "out_of_scope": (*plan.out_of_scope, *(_out_of_scope(step, plan.version) for step in dropped)),
    }
    return Plan.model_validate(plan.model_copy(update=changes).model_dump(by_alias=True))


def _touched(steps: tuple[Step, ...]) -> set[str]:
    return {path for step in steps if not isinstance(step, AnswerQuestion) for path in (step.path, *_made(step))}


def _left(plan: Plan, stay: set[int], gone: set[str]) -> tuple[tuple[Check, ...], tuple[Criterion, ...]]:
    """The checks and the criteria that are still for something."""
    left = [one for one in plan.acceptance or () if not one.steps or stay & set(one.steps)]
    needed = {name for one in left for name in one.checks}
    served = {name for one in plan.acceptance or () if one not in left for name in one.checks}
    still = (one for one in plan.checks if one.name in needed or one.name not in served)
    checks = tuple(check for one in still if (check := _without_paths(one, gone)) is not None)
    names = {check.name for check in checks}
    criteria = (
        one.model_copy(
            update={
                "steps": tuple(step for step in one.steps if step in stay),
                "checks": tuple(name for name in one.checks if name in names),
            }
        )
        for one in left
    )
    return checks, tuple(one for one in criteria if one.steps or one.checks)


def _without_paths(check: Check, gone: set[str]) -> Check | None:
    """The check without paths that nothing makes any more; None where it was for such paths alone."""
    left = tuple(path for path in check.paths if path.partition("::")[0] not in gone)
    if left == check.paths:
        return check
    command = check.argv[: len(check.argv) - len(check.paths)]
    return check.model_copy(update={"argv": (*command, *left), "paths": left}) if left else None


def _shows_defect(checks: tuple[Check, ...]) -> Check | None:
    return next((one for one in checks if one.expect is Expectation.FAILS_BEFORE_PASSES_AFTER), None)


def _out_of_scope(step: Step, version: int) -> str:
    what = step.intent if isinstance(step, AnswerQuestion) else f"{step.kind} {shown(step.path)}"
    return f"Step {step.id} of version {version}, which was dropped: {what[:MOST_NAMED]}"
