"""The moves of an execution under way: what is kept of it, so that nothing is done or paid for twice."""

from app.core import facts as f
from app.core.move import Move, Stay, execute_key
from app.core.run import Approved, KeptWork


def step_kept(state: Approved, fact: f.StepKept) -> Move | Stay:
    """One more step is behind the run. What was done under another approval counts for nothing."""
    if fact.plan_digest != state.proposal.digest or fact.execution != execute_key(state.approval):
        return Stay("The step was done under another approval.")
    before = state.work
    if fact.kept.id in [step.id for step in before.steps]:
        return Stay("The step is kept already.")
    steps, spent = (*before.steps, fact.kept), before.spent.plus(fact.spent)
    work = KeptWork(steps=steps, spent=spent)
    return Move(state.model_copy(update={"work": work, "spent": state.spent.plus(fact.spent)}))
