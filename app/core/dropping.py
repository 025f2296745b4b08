"""The moves by which steps of a plan are dropped: `/approve steps …`, and ticks that are taken off its comment."""

from app.core import facts as f
from app.core import gate
from app.core.command import steps_of
from app.core.effects import LookUpAuthority, Narrow, Purpose, ReplyTopic, SourceKind
from app.core.move import Move, Stay, draft, kept, refusal, reply, status
from app.core.run import Approved, Narrowing, Proposal, Proposed, State
from app.core.verdict import Allowed, Refused, Verdict, all_of

ANEW = "`/refresh` makes a plan anew."
AS_POSTED = "Tick it again, so that the comment reads as it was posted."


def plan_comment_changed(state: Proposed, fact: f.PlanCommentChanged) -> Move | Stay:
    """A tick that was taken off asks for its taker's authority; any other change withdraws the offer, aloud."""
    proposal = state.proposal
    if proposal.narrowing is not None and fact.node_id == proposal.narrowing.node_id and fact.whole:
        old = Refused(
            f"That was on the comment of version {proposal.narrowing.version}.",
            f"Version {proposal.version} stands below: take ticks off there.",
        )
        return Move(state, (reply(f"older:{fact.person.id}:v{proposal.version}", ReplyTopic.NOTE, fact.person, old),))
    posted = _posted(proposal, fact.node_id)
    if posted is None:
        return Stay("No comment of the newest plan was changed.")
    if fact.whole != posted:
        key = f"plan-comment:{'changed' if fact.whole else 'gone'}:{fact.person.id}:v{proposal.version}"
        return Move(state, (reply(key, ReplyTopic.NOTE, None, _no_longer(fact)),))
    if not fact.unticked:
        return Stay("Every step is ticked.")
    boxes = "-".join(map(str, fact.unticked))[:80]
    look = LookUpAuthority(
        key=f"authority:boxes:{fact.person.id}:v{state.last_version}:{boxes}",
        purpose=Purpose.DROP,
        person=fact.person,
        source=SourceKind.BOXES,
        source_id=fact.comment_id,
        plan_version=proposal.version,
    )
    return Move(state, (look,))


def approved_comment_changed(state: Approved, fact: f.PlanCommentChanged) -> Move | Stay:
    """What was approved is not shown any more: the approval stands no longer, and its work in hand ends."""
    posted = _posted(state.proposal, fact.node_id)
    if posted is None or (fact.whole == posted and not fact.unticked):
        return Stay("The plan's comment reads as it was posted.")
    how = "deleted" if not fact.whole else "changed"
    words = Refused(
        f"The plan's comment was {how} by {fact.person.login} after the approval.",
        f"{AS_POSTED} Then approve anew, or `/approve steps …`." if fact.whole == posted else ANEW,
    )
    tag = f"{state.approval.source_id}:comment:{state.approval.attempt}"
    after = Proposed(**kept(state), proposal=state.proposal)
    return Move(after, (reply(f"voided:{tag}", ReplyTopic.VOIDED, None, words), status(f"voided:{tag}")))


def unticked_decided(state: State, found: f.AuthorityFound) -> Move | Stay:
    """The version without the steps whose boxes are empty now is made, to be approved like any other."""
    if not isinstance(state, Proposed):
        return Stay("No plan waits for approval any more.")
    verdict = all_of(gate.may_drop(state.request, state.proposal, found, found.at), _may_lose_steps(state.proposal))
    if isinstance(verdict, Refused):
        told = Refused(verdict.reason, f"{verdict.remedy} {AS_POSTED}".strip())
        return Move(state, (refusal(state, "drop", found.person, told),))
    dropped = steps_of(found.argument)
    if not dropped:
        return Stay("Every step is ticked again.")
    return _narrowed(state, found, Narrow(version=state.proposal.version, drop=dropped))


def kept_steps_decided(state: Proposed, found: f.AuthorityFound) -> Move:
    """`/approve steps …`: the version with these steps alone is made; by policy it is approved with it, or waits."""
    verdict = all_of(gate.may_drop(state.request, state.proposal, found, found.at), _may_lose_steps(state.proposal))
    if isinstance(verdict, Refused):
        return Move(state, (refusal(state, "approve", found.person, verdict),))
    keep = steps_of(found.argument) or ()
    return _narrowed(state, found, Narrow(version=state.proposal.version, keep=keep))


def approval_of_the_rest(state: Proposed) -> tuple[LookUpAuthority, ...]:
    """Once the narrower version stands as a comment: the word that made it is looked at again, as its approval."""
    narrowing = state.proposal.narrowing
    if narrowing is None or not narrowing.approves or state.proposal.comment_id is None:
        return ()
    return (
        LookUpAuthority(
            key=f"authority:comment:{narrowing.comment_id}:v{state.proposal.version}",
            purpose=Purpose.APPROVE,
            person=narrowing.person,
            source=SourceKind.COMMENT,
            source_id=narrowing.comment_id,
            argument=narrowing.argument,
            plan_version=state.proposal.version,
        ),
    )


def _may_lose_steps(proposal: Proposal) -> Verdict:
    """An amendment holds what is done already, and the difference that was shown; it is approved whole."""
    if proposal.amends is None:
        return Allowed()
    return Refused("An amendment is approved whole, or not at all.", "`/revise` and your words ask for another plan.")


def _narrowed(state: Proposed, found: f.AuthorityFound, narrow: Narrow) -> Move:
    by_comment = found.source is SourceKind.COMMENT
    narrowing = Narrowing(
        version=narrow.version,
        digest=state.proposal.digest,
        person=found.person,
        comment_id=found.source_id if by_comment else 0,
        argument=found.argument if by_comment else "",
        shown_id=state.proposal.comment_id or 0,
        node_id=state.proposal.comment_node_id,
        shown_at=found.shown_at,
        approves=by_comment and found.policy is not None and found.policy.approve.dropped_steps == "approve",
    )
    # A version in the making is dropped, and its number with it: this one must be a new effect.
    last = state.last_version + (1 if state.drafting else 0)
    changes = {"drafting": True, "narrowing": narrowing, "last_version": last, "policy": found.policy}
    after = state.model_copy(update=changes)
    why = f"narrowing:{found.source_id}:v{last}"
    return Move(after, (status(why), draft(last + 1, narrow=narrow)))


def _posted(proposal: Proposal, node_id: str) -> str | None:
    """Digest of the plan's comment with this id as it was posted; None where it is none of the plan's."""
    if node_id and node_id == proposal.comment_node_id:
        return proposal.comment_digest
    return next((part.comment_digest for part in proposal.further_parts if part.node_id == node_id), None)


def _no_longer(fact: f.PlanCommentChanged) -> Refused:
    did = "changed" if fact.whole else "deleted"
    return Refused(
        f"The plan's comment was {did} by {fact.person.login}, so the plan cannot be approved as it is shown now.",
        ANEW,
    )
