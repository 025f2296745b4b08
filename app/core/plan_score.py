"""The planner's score: a plan, or another end of planning, held against what is known of the right answer. Pure.

Every figure is counted by code. A run of production has no right answer beside it; then what needs one stays None.
"""

from collections.abc import Iterable
from enum import StrEnum
from statistics import fmean

from app.core.budget import Spent
from app.core.fit import is_test
from app.core.plan import Check, Plan, stands_beside
from app.core.run import Part

_RUNNERS = frozenset({"tox", "nox", "rspec", "jest", "vitest", "mocha", "phpunit"})
"""Runners of tests whose names do not hold the word."""


class Gold(Part):
    """What is known of the right answer to one issue."""

    files: frozenset[str] = frozenset()
    """What the known change touches, tests left out."""
    tests: frozenset[str] = frozenset()
    """The files of the tests that the planner does not see."""
    lines: int = 0
    """Lines that the known change adds and takes away."""
    unclear: bool = False
    """Nobody could work on the issue as it is written: the right answer is a question."""
    must_stop: bool = False
    """A plan for it cannot be carried out as it stands: the executor's right answer is to stop."""


class PlanEnding(StrEnum):
    """How planning ended."""

    PLAN = "plan"
    QUESTION = "question"
    SPLIT = "split"
    NONE = "none"


class PlanScore(Part):
    """What the planner did with one issue. What a right answer would be needed for is None without one."""

    ending: PlanEnding
    found: tuple[str, ...] | None = None
    """Files of the known change that the plan names."""
    missed: tuple[str, ...] | None = None
    extra: tuple[str, ...] | None = None
    """Files that the plan names beside those, tests left out."""
    evidence: int = 0
    held: int = 0
    """Citations, and those of them whose lines and words are there at the base commit."""
    checks: int = 0
    relevant: int | None = None
    """Checks, and those of them that run the unseen tests or tests beside the known change."""
    room: bool | None = None
    """Whether the known change would fit in the plan's caps of files and lines."""
    asked_rightly: bool | None = None
    """Whether it asked where the issue is unclear, and did not where it is clear."""
    plans_refused: int = 0
    """Plans that were handed in and turned down by code."""
    turns: int = 0
    spent: Spent = Spent()

    @property
    def recall(self) -> float | None:
        """Share of the known change's files that the plan names."""
        return _share(self.found, self.missed)

    @property
    def precision(self) -> float | None:
        """Share of the plan's files, tests left out, that the known change touches."""
        return _share(self.found, self.extra)

    def right(self) -> bool | None:
        """True where an executor could make the known change by it, or where a question was the right answer."""
        if self.asked_rightly is None:
            return None
        if self.ending is PlanEnding.QUESTION:
            return self.asked_rightly
        return not self.faults()

    def faults(self) -> tuple[str, ...]:
        """Why it is not right, in the order in which they are looked for; nothing is said of a run without gold."""
        if self.asked_rightly is None:
            return ()
        if not self.asked_rightly:
            asked = self.ending is PlanEnding.QUESTION
            return ("asked although the issue is clear" if asked else "did not ask although the issue is unclear",)
        if self.ending is PlanEnding.QUESTION:
            return ()
        if self.ending is not PlanEnding.PLAN:
            refused = f", {self.plans_refused} turned down" if self.plans_refused else ""
            return (f"ended without a plan ({self.ending}{refused})",)
        told = []
        if self.missed:
            told.append(f"missed {', '.join(self.missed)}")
        if self.held < self.evidence:
            told.append(f"{self.evidence - self.held} of {self.evidence} citations do not hold")
        if self.relevant == 0:
            told.append("no check of the plan runs a test of the change")
        if self.room is False:
            told.append("the known change does not fit in the plan's caps")
        return tuple(told)

    def value(self) -> float | None:
        """From 0 to 1: how well it aims (the mean of `recall` and `precision`) times how well it is made (the mean of
        what is known of citations, checks and room).

        A question where one was due is 1; any other end without a plan, and a plan where a question was due, is 0.
        """
        if self.asked_rightly is None:
            return None
        if not self.asked_rightly or self.ending not in (PlanEnding.PLAN, PlanEnding.QUESTION):
            return 0.0
        if self.ending is PlanEnding.QUESTION:
            return 1.0
        cited = self.held / self.evidence if self.evidence else 0.0
        made = [cited, _flag(self.relevant), _flag(self.room)]
        aims = [self.recall, self.precision]
        return _mean(aims) * _mean(made)


class Planned(Part):
    """How planning went, as the ledger tells it. `held`: citations that hold; code checked those of any plan made."""

    ending: PlanEnding
    plans_refused: int = 0
    turns: int = 0
    spent: Spent = Spent()
    held: int | None = None


def score_plan(told: Planned, plan: Plan | None, gold: Gold | None) -> PlanScore:
    """The score of what the planner made last; without `gold` only what its run tells by itself."""
    known: dict[str, object] = {
        "ending": told.ending,
        "plans_refused": told.plans_refused,
        "turns": told.turns,
        "spent": told.spent,
    }
    if gold is not None:
        known["asked_rightly"] = (told.ending is PlanEnding.QUESTION) == gold.unclear
    if plan is None:
        return PlanScore.model_validate(known)
    cited = len(plan.evidence)
    known |= {"evidence": cited, "checks": len(plan.checks), "held": cited if told.held is None else told.held}
    if gold is None or gold.unclear:
        return PlanScore.model_validate(known)
    code = {path for path in plan.paths() if not is_test(path)}
    known |= {
        "found": tuple(sorted(gold.files & plan.paths())),
        "missed": tuple(sorted(gold.files - plan.paths())),
        "extra": tuple(sorted(code - gold.files - gold.tests)),
        "relevant": sum(is_relevant(check, gold) for check in plan.checks) if gold.tests else None,
        "room": len(gold.files) <= plan.budget.files and gold.lines <= plan.budget.lines,
    }
    return PlanScore.model_validate(known)


def is_relevant(check: Check, gold: Gold) -> bool:
    """True for a run of tests as a whole, and for one that names an unseen test's file, a folder above one, or a test
    beside a file of the known change."""
    if not check.paths:
        return "test" in check.name or check.name in _RUNNERS
    paths = {path.split("::")[0].rstrip("/") for path in check.paths}
    return any(_covers(path, gold.tests) or stands_beside(path, gold.files) for path in paths)


def _covers(path: str, tests: Iterable[str]) -> bool:
    return any(test == path or test.startswith(f"{path}/") for test in tests)


def _share(found: tuple[str, ...] | None, other: tuple[str, ...] | None) -> float | None:
    """Of both together; all of nothing is all."""
    if found is None or other is None:
        return None
    return len(found) / (len(found) + len(other)) if found or other else 1.0


def _mean(parts: Iterable[float | None]) -> float:
    """Of what is known of them; 1 where nothing is."""
    known = [part for part in parts if part is not None]
    return fmean(known) if known else 1.0


def _flag(value: int | bool | None) -> float | None:
    return None if value is None else float(bool(value))
