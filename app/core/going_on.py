"""The moves of an execution under way: what is kept of it, so that nothing is done or paid for twice."""

from app.core import facts as f
from app.core.effects import PlanSaying, Say
from app.core.move import Move, Stay, closed, execute_key, kept, moment, status
from app.core.run import Amended, Approved, ClosedReason, Proposal, Proposed
from app.core.verdict import Refused

MOST_AMENDMENTS = 2
"""How often the plans of one run may be amended."""


def step_kept(state: Approved, fact: f.StepKept) -> Move | Stay:
    """One more step is behind the run. What was done under another approval counts for nothing."""
    if fact.plan_digest != state.proposal.digest or fact.execution != execute_key(state.approval):
        return Stay("The step was done under another approval.")
    before = state.work
    if fact.kept.id in [step.id for step in before.steps]:
        return Stay("The step is kept already.")
    work = before.plus(fact.kept, fact.spent)
    after = state.model_copy(update={"work": work, "spent": state.spent.plus(fact.spent), "stall": None})
    return Move(after, (status(f"goes-on:{moment(fact.at)}"),) if state.stall else ())


def repair_kept(state: Approved, fact: f.RepairKept) -> Move | Stay:
    """One more repair is behind the run, and counts among those that it may have."""
    if fact.plan_digest != state.proposal.digest or fact.execution != execute_key(state.approval):
        return Stay("The repair was made under another approval.")
    if fact.repair.number != len(state.work.repairs) + 1:
        return Stay(f"Repair {fact.repair.number} does not come next.")
    work = state.work.repaired(fact.repair, fact.spent)
    return Move(state.model_copy(update={"work": work, "spent": state.spent.plus(fact.spent)}))


def amendment_proposed(state: Approved, fact: f.AmendmentProposed) -> Move | Stay:
    """The run pauses: what is done is kept, and the next version waits for an approval of its own.

    One is open at a time, since nothing is carried out meanwhile.
    """
    if fact.plan_digest != state.proposal.digest or fact.execution != execute_key(state.approval):
        return Stay("The plan was carried out under another approval.")
    if fact.version != state.last_version + 1:
        return Stay(f"A plan with version {fact.version} does not come next.")
    spent = state.spent.plus(fact.spent)
    if state.amendments >= MOST_AMENDMENTS:
        words = Refused(
            f"The plan was amended {MOST_AMENDMENTS} times, which is the most for one run, and step {fact.step} takes "
            f"still more: {fact.why}",
        )
        return closed(state, ClosedReason.FAILED, words, spent=spent, report_ref=fact.report_ref)
    changes = {"spent": spent, "last_version": fact.version, "amendments": state.amendments + 1}
    after = Proposed(**(kept(state) | changes), proposal=_offer(state, fact))
    say = Say(key=f"plan-comment:{fact.version}", saying=PlanSaying(version=fact.version))
    return Move(after, (say, status(f"proposed:{fact.version}")))


def _offer(state: Approved, fact: f.AmendmentProposed) -> Proposal:
    before = state.proposal
    rests_on = before.amends.versions if before.amends else ()
    return Proposal(
        version=fact.version,
        digest=fact.digest,
        base_branch=before.base_branch,
        base_commit=before.base_commit,
        issue_digest=before.issue_digest,
        drafted_at=fact.at,
        expires_at=fact.expires_at,
        notices=before.notices,
        paths=fact.paths,
        amends=Amended(
            version=before.version,
            digest=before.digest,
            comment_id=before.comment_id,
            step=fact.step,
            why=fact.why,
            work=state.work.handed_on(fact.spent),
            report_ref=fact.report_ref,
            versions=(*rests_on, before.version),
        ),
    )
