"""Blame: to whom the failure of one run is put down, the planner or the executor, by rules that are stated here. Pure.

The first rule that applies decides:

1. Planning came to no plan or question because of what lies outside both (no answer of a model, no money, no time
   left): `neither`.
2. Every unseen test passes, the report is true and every limit was kept: `nobody`, whichever way was taken.
3. The plan is not right (see `PlanScore.faults`): `planner`. What is carried out of a wrong plan says nothing about who
   carried it out, nor does it matter what kept anybody from that.
4. What stood in the way of the work lies outside both (no box, no environment, or as above): `neither`.
5. The work is not right (see `WorkScore.faults`): `executor`.
6. Otherwise `nobody`; where there is nothing to hold the run against, `unknown`.
"""

from enum import StrEnum

from app.core.plan_score import PlanEnding, PlanScore
from app.core.run import Part
from app.core.work_score import WorkEnding, WorkScore


class Whose(StrEnum):
    """To whom a failure is put down."""

    NOBODY = "nobody"
    PLANNER = "planner"
    EXECUTOR = "executor"
    NEITHER = "neither"
    UNKNOWN = "unknown"


class Blame(Part):
    """Whose failure it is, and what it is."""

    whose: Whose
    why: tuple[str, ...] = ()


def blame(plan: PlanScore | None, work: WorkScore | None, outside: str = "") -> Blame:
    """Who is to blame for a run. `outside` says what stood in the way that was neither's doing."""
    if outside and (plan is None or plan.ending is PlanEnding.NONE):
        return Blame(whose=Whose.NEITHER, why=(outside,))
    if work is not None and work.hidden and not work.faults():
        return Blame(whose=Whose.NOBODY)
    if plan is not None and plan.right() is False:
        return Blame(whose=Whose.PLANNER, why=plan.faults())
    if outside:
        return Blame(whose=Whose.NEITHER, why=(outside,))
    if work is not None and work.right() is False:
        return Blame(whose=Whose.EXECUTOR, why=work.faults())
    if (plan is None or plan.right() is None) and (work is None or work.ending is WorkEnding.HELD):
        return Blame(whose=Whose.UNKNOWN)
    return Blame(whose=Whose.NOBODY)
