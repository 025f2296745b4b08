"""An amendment: the next version of an approved plan, made of that plan and of what carrying it out takes besides.

It adds, and says one step anew at the most; everything else stays to the letter, so that the difference alone tells
the whole of it. Pure.
"""

from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from typing import Annotated

from pydantic import Field

from app.core.digest import digest
from app.core.guarded import guarded
from app.core.plan import (
    Amends,
    Check,
    CommandWords,
    Criterion,
    FileStep,
    MoveFile,
    Plan,
    PlanBudget,
    PlanPart,
    ShortWords,
    Words,
)
from app.core.policy import Policy
from app.core.template import Size

AnyFileStep = Annotated[FileStep, Field(discriminator="kind")]


class Wish(PlanPart):
    """What a step's model found that the plan takes besides."""

    step: int
    """The step that cannot be done as the plan says; nothing of it is kept."""
    why: Words
    instead: AnyFileStep | None = None
    """The same step, said anew."""
    steps: tuple[AnyFileStep, ...] = ()
    """Further steps, done after all others; their ids come after those of the plan."""
    checks: tuple[Check, ...] = ()
    hosts: tuple[str, ...] = ()
    setup: tuple[CommandWords, ...] | None = None
    """All set-up commands, where its further checks and steps need more than the plan has."""
    acceptance: tuple[ShortWords, ...] = ()
    """What will be true besides."""

    def asks_for_nothing(self) -> bool:
        """True where the plan would stay as it is."""
        return not (self.instead or self.steps or self.checks or self.hosts or self.acceptance)


@dataclass(frozen=True, slots=True)
class Added:
    """All that an amended plan has which the plan before it has not."""

    amends: Amends
    instead: tuple[FileStep, FileStep] | None
    """The step as it was and as it is."""
    steps: tuple[FileStep, ...]
    checks: tuple[Check, ...]
    hosts: tuple[str, ...]
    setup: tuple[CommandWords, ...]
    acceptance: tuple[Criterion, ...]
    protected_paths: tuple[str, ...]
    budget: tuple[PlanBudget, PlanBudget] | None


def amended(plan: Plan, wish: Wish, version: int, policy: Policy, most: Size) -> Plan:
    """The next version of the plan. Raises ValueError for what is no plan; whether it may be shown is lint's to say.

    Its limits grow with its steps, up to what `most` and the policy allow.
    """
    steps = tuple(wish.instead if wish.instead and one.id == wish.step else one for one in plan.steps)
    acceptance = tuple(_criteria(plan, wish))
    further = wish.steps if acceptance else tuple(_told_why(step, wish.why) for step in wish.steps)
    changes = {
        "version": version,
        "steps": (*steps, *further),
        "checks": (*plan.checks, *wish.checks),
        "hosts": (*plan.hosts, *wish.hosts),
        "setup": plan.setup if wish.setup is None else wish.setup,
        "acceptance": (*(plan.acceptance or ()), *acceptance) or None,
        "amends": Amends(plan=digest(plan), step=wish.step, why=wish.why),
    }
    new = plan.model_copy(update=changes)
    newly = [path for path in guarded(policy, sorted(new.paths())) if path not in plan.protected_paths]
    limits = {"protected_paths": (*plan.protected_paths, *newly), "budget": _budget(plan, new, policy, most)}
    # What was copied together is read as strictly as any plan.
    return Plan.model_validate(new.model_copy(update=limits).model_dump(by_alias=True))


def added(before: Plan, after: Plan) -> Added:
    """What `after` adds to `before`. Raises ValueError where it is not an amendment of it, or differs in more."""
    amends = after.amends
    if amends is None or amends.plan != digest(before):
        raise ValueError("the plan does not amend this one")
    count = len(before.steps)
    pairs = [pair for pair in zip(before.file_steps(), after.file_steps(), strict=False) if pair[0] != pair[1]]
    as_before = {
        name: getattr(before, name)
        for name in (
            "version",
            "amends",
            "steps",
            "checks",
            "hosts",
            "setup",
            "acceptance",
            "protected_paths",
            "budget",
        )
    }
    kept = (
        after.model_copy(update=as_before) == before
        and [was.id for was, _ in pairs] in ([], [amends.step])
        and len(after.steps) >= count
        and _begins_with(after.checks, before.checks)
        and _begins_with(after.hosts, before.hosts)
        and _begins_with(after.setup or (), before.setup or ())
        and _begins_with(after.acceptance or (), before.acceptance or ())
        and _begins_with(after.protected_paths, before.protected_paths)
    )
    if not kept:
        raise ValueError("the plan differs from the one before in more than an amendment may")
    return Added(
        amends=amends,
        instead=pairs[0] if pairs else None,
        steps=after.file_steps()[count:],
        checks=after.checks[len(before.checks) :],
        hosts=after.hosts[len(before.hosts) :],
        setup=(after.setup or ())[len(before.setup or ()) :],
        acceptance=(after.acceptance or ())[len(before.acceptance or ()) :],
        protected_paths=after.protected_paths[len(before.protected_paths) :],
        budget=None if after.budget == before.budget else (before.budget, after.budget),
    )


def _begins_with(longer: tuple[object, ...], shorter: tuple[object, ...]) -> bool:
    return longer[: len(shorter)] == shorter


def _criteria(plan: Plan, wish: Wish) -> list[Criterion]:
    first = max((one.id for one in plan.acceptance or ()), default=0) + 1
    steps = tuple(step.id for step in wish.steps) or (wish.step,)
    checks = tuple(dict.fromkeys(check.name for check in wish.checks))
    return [
        Criterion(id=number, words=words, steps=steps, checks=checks)
        for number, words in enumerate(wish.acceptance, first)
    ]


def _told_why(step: FileStep, why: str) -> FileStep:
    words = f"An amendment asks for it: {why}"
    return step.model_copy(update={"no_criterion_because": words if len(words) <= 600 else f"{words[:599]}…"})


def _budget(plan: Plan, new: Plan, policy: Policy, most: Size) -> PlanBudget:
    was, own, old = plan.budget, policy.budget, len(plan.steps)
    usd = (Decimal(was.usd) * len(new.steps) / old).quantize(Decimal("0.01"), ROUND_UP)

    def grown(value: int, limits: tuple[int, int]) -> int:
        return max(value, min(-(-value * len(new.steps) // old), *limits))

    return PlanBudget(
        usd=str(max(Decimal(was.usd), min(usd, most.usd, own.usd))),
        calls=grown(was.calls, (most.calls, own.calls)),
        minutes=grown(was.minutes, (most.minutes, own.minutes)),
        files=was.files + max(_changes(new) - _changes(plan), 0),
        lines=grown(was.lines, (most.lines, own.lines)),
    )


def _changes(plan: Plan) -> int:
    """A moved file has two paths and is one change."""
    return len(plan.paths()) - sum(isinstance(step, MoveFile) for step in plan.steps)
