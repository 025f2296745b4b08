"""The moves behind the transition table: one small function per kind of fact."""

from dataclasses import dataclass
from typing import Any

from app.core import facts as f
from app.core import gate
from app.core.budget import Spent
from app.core.command import Verb
from app.core.digest import short, text_digest
from app.core.effects import (
    DraftPlan,
    Effect,
    Execute,
    LookUpAuthority,
    OpenDraft,
    PlanSaying,
    Purpose,
    React,
    ReplySaying,
    ReplyTopic,
    Say,
    Slot,
    SourceKind,
    StatusSaying,
)
from app.core.issue import Person
from app.core.run import (
    Approved,
    Built,
    Closed,
    ClosedReason,
    NeedsInput,
    Proposal,
    Proposed,
    Published,
    State,
    Wanted,
)
from app.core.verdict import Refused


@dataclass(frozen=True, slots=True)
class Move:
    """Where the run stands now, and what is owed because of it."""

    state: State
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True)
class Stay:
    """The fact says nothing new here; it is not recorded."""

    because: str


# -- what several moves share ------------------------------------------------------------------------------


def _kept(state: State) -> dict[str, Any]:
    return {
        "request": state.request,
        "policy": state.policy,
        "spent": state.spent,
        "last_version": state.last_version,
        "status_comment_id": state.status_comment_id,
    }


def _with_cost(state: State, spent: Spent) -> dict[str, Any]:
    return _kept(state) | {"spent": state.spent.plus(spent)}


def _status(why: str) -> Say:
    return Say(key=f"status:{why}", saying=StatusSaying())


def _reply(key: str, topic: ReplyTopic, to: Person | None, refused: Refused) -> Say:
    reply = ReplySaying(topic=topic, to=to, reason=refused.reason, remedy=refused.remedy)
    return Say(key=f"reply:{key}", saying=reply)


def _refusal(state: State, about: str, person: Person, refused: Refused) -> Say:
    """One reply per person, matter and reason, however often it is repeated."""
    key = f"{about}:{person.id}:v{state.last_version}:{text_digest(refused.reason)[:12]}"
    return _reply(key, ReplyTopic.REFUSED, person, refused)


def _closed(state: State, reason: ClosedReason, words: Refused, **more: Any) -> Move:
    after = Closed(**(_kept(state) | more), reason=reason, words=words.reason, remedy=words.remedy)
    return Move(after, (_status(f"closed:{reason}"),))


def _draft(version: int, wish: str = "") -> DraftPlan:
    return DraftPlan(key=f"plan:{version}", version=version, wish=wish[:4_000])


# -- label -------------------------------------------------------------------------------------------------


def opened(fact: f.Labelled) -> Move:
    """A run begins. Without a known sender there is nobody whose authority could be asked for."""
    wanted = Wanted(request=fact.request)
    person = fact.request.labeller
    if person is None:
        nobody = Refused(
            "GitHub did not say who set the label, so nobody's authority could be checked.",
            "Take the label off and set it again.",
        )
        return _closed(wanted, ClosedReason.NOT_ALLOWED, nobody)
    look = LookUpAuthority(
        key="authority:label", purpose=Purpose.LABEL, person=person, source=SourceKind.LABEL, source_id=0
    )
    return Move(wanted, (look,))


def labelled_again(state: State, fact: f.LabelledAgain) -> Move:
    """One plan at a time: the label is answered, once per stage."""
    where = {
        "wanted": "A plan is already being made for this issue.",
        "needs_input": "A question to the issue's author is still open.",
        "proposed": "A plan is already waiting for approval on this issue.",
        "approved": "An approved plan is already being carried out.",
        "built": "An approved plan is already being carried out.",
        "published": "A draft pull request for this issue is already open.",
    }[state.name]
    note = Refused(where, "`/cancel` ends this run; after that the label starts a new one.")
    key = f"again:{state.name}:v{state.last_version}"
    return Move(state, (_reply(key, ReplyTopic.NOTE, fact.person, note),))


def label_removed(state: State, fact: f.LabelRemoved) -> Move:
    who = fact.person.login if fact.person else "somebody"
    words = Refused(f"The label was taken off by {who}.", "Setting it again starts a new run.")
    return _closed(state, ClosedReason.CANCELLED, words)


# -- authority ---------------------------------------------------------------------------------------------


def authority_found(state: State, found: f.AuthorityFound) -> Move | Stay:
    """What a person's authority leads to, by what it was asked for."""
    if found.purpose is Purpose.LABEL:
        return _label_decided(state, found) if isinstance(state, Wanted) else Stay("The label was decided already.")
    if found.purpose is Purpose.APPROVE:
        return _approval_decided(state, found)
    if found.purpose is Purpose.REVISE:
        return _revision_decided(state, found)
    return _end_decided(state, found)


def _label_decided(state: Wanted, found: f.AuthorityFound) -> Move | Stay:
    if state.allowed:
        return Stay("The label was decided already.")
    verdict = gate.may_label(found)
    if isinstance(verdict, Refused):
        return _closed(state, ClosedReason.NOT_ALLOWED, verdict, policy=found.policy)
    after = state.model_copy(update={"allowed": True, "policy": found.policy})
    return Move(after, (_status("planning"), _draft(state.last_version + 1)))


def _approval_decided(state: State, found: f.AuthorityFound) -> Move | Stay:
    if isinstance(state, Approved | Built | Published):
        by = state.approval.person.login
        words = Refused(f"Version {state.approval.plan_version} of the plan was already approved by {by}.")
        return Move(state, (_reply(f"already:{found.person.id}", ReplyTopic.NOTE, found.person, words),))
    if not isinstance(state, Proposed):
        no_plan = Refused("There is no plan to approve yet.", "The plan will be posted here as a comment.")
        return Move(state, (_refusal(state, "approve", found.person, no_plan),))
    verdict = gate.may_approve(state.request, state.proposal, found, found.at)
    if isinstance(verdict, Refused):
        # Anybody can react: a passer-by's thumb is no question that needs an answer (github-facts 45).
        quiet = found.source is SourceKind.REACTION and gate.lacks_level(found)
        return Move(state, () if quiet else (_refusal(state, "approve", found.person, verdict),))
    approval = gate.approval_from(state.proposal, found)
    after = Approved(**(_kept(state) | {"policy": found.policy}), proposal=state.proposal, approval=approval)
    digest = state.proposal.digest
    tag = f"{short(digest)}:{found.source}:{found.source_id}"
    return Move(after, (_status(f"approved:{tag}"), Execute(key=f"execute:{tag}", plan_digest=digest)))


def _revision_decided(state: State, found: f.AuthorityFound) -> Move:
    verdict = gate.may_steer(found)
    if isinstance(verdict, Refused):
        return Move(state, (_refusal(state, "revise", found.person, verdict),))
    if isinstance(state, Proposed) and not state.drafting:
        request = state.request.model_copy(update={"issue_digest": found.issue_digest})
        after: State = state.model_copy(update={"request": request, "drafting": True})
        return Move(after, (_status(f"revising:{found.source_id}"), _draft(state.last_version + 1, found.argument)))
    if isinstance(state, NeedsInput):
        request = state.request.model_copy(update={"issue_digest": found.issue_digest})
        wanted = Wanted(**(_kept(state) | {"request": request}), allowed=True)
        return Move(wanted, (_status(f"revising:{found.source_id}"), _draft(state.last_version + 1, found.argument)))
    words = Refused(
        "A plan can be revised only while it waits for approval.",
        "`/cancel` ends this run; after that the label starts a new one.",
    )
    return Move(state, (_refusal(state, "revise", found.person, words),))


def _end_decided(state: State, found: f.AuthorityFound) -> Move | Stay:
    verdict = gate.may_end(state.request, found)
    if isinstance(verdict, Refused):
        return Move(state, (_refusal(state, "end", found.person, verdict),))
    if isinstance(state, Published):
        words = Refused("The draft pull request is open.", "Close it on its own page.")
        return Move(state, (_refusal(state, "end", found.person, words),))
    by = found.person.login
    if found.purpose is Purpose.REJECT:
        return _closed(state, ClosedReason.REJECTED, Refused(f"The plan was rejected by {by}."))
    words = Refused(f"The run was cancelled by {by}.", "Setting the label again starts a new one.")
    return _closed(state, ClosedReason.CANCELLED, words)


# -- what people write -------------------------------------------------------------------------------------


def command_given(state: State, fact: f.CommandGiven) -> Move | Stay:
    """A command leads to a question about its giver's authority, or to an answer that needs none."""
    if isinstance(state, Closed):
        return Stay("The run has ended.")
    if fact.verb in (Verb.HELP, Verb.STATUS, Verb.WHY):
        topic = ReplyTopic.HELP if fact.verb is Verb.HELP else ReplyTopic.WHY
        key = f"{fact.verb}:{fact.person.id}:{state.name}:v{state.last_version}"
        return Move(state, (_reply(key, topic, fact.person, Refused("")),))
    look = LookUpAuthority(
        key=f"authority:comment:{fact.comment_id}",
        purpose=Purpose(fact.verb.value),
        person=fact.person,
        source=SourceKind.COMMENT,
        source_id=fact.comment_id,
        source_digest=fact.comment_digest,
        argument=fact.argument[:4_000],
    )
    seen = React(key=f"seen:{fact.comment_id}", comment_id=fact.comment_id, content="eyes")
    return Move(state, (look, seen))


def command_unclear(state: State, fact: f.CommandUnclear) -> Move:
    words = Refused(f"`{fact.written}` is not a command I follow.", f"Did you mean `{fact.meant}`?")
    key = f"unclear:{fact.person.id}:{text_digest(fact.written)[:12]}"
    return Move(state, (_reply(key, ReplyTopic.UNCLEAR, fact.person, words),))


def thumb_seen(state: Proposed, fact: f.ThumbSeen) -> Move | Stay:
    """A thumb on the newest plan comment asks for its giver's authority."""
    if fact.comment_id != state.proposal.comment_id:
        return Stay("The thumb is not on the newest plan comment.")
    look = LookUpAuthority(
        key=f"authority:reaction:{fact.reaction_id}:v{state.proposal.version}",
        purpose=Purpose.APPROVE,
        person=fact.person,
        source=SourceKind.REACTION,
        source_id=fact.reaction_id,
    )
    return Move(state, (look,))


def answered(state: NeedsInput, fact: f.Answered) -> Move:
    wanted = Wanted(**_kept(state), allowed=True)
    return Move(wanted, (_status(f"answered:{fact.comment_id}"), _draft(state.last_version + 1)))


# -- the issue and the repository --------------------------------------------------------------------------


def issue_changed_early(state: Wanted | NeedsInput, fact: f.IssueChanged) -> Move | Stay:
    """Nobody with authority has read the new text, so no plan is made from it."""
    if fact.issue_digest == state.request.issue_digest:
        return Stay("The issue reads as it did.")
    words = Refused("The issue was edited after it was labelled.", "Read it again, then set the label again.")
    return _closed(state, ClosedReason.STALE, words)


def issue_changed_under_offer(state: Proposed, fact: f.IssueChanged) -> Move | Stay:
    """The offer stays readable; it cannot be approved while the issue reads differently."""
    changed = fact.issue_digest != state.proposal.issue_digest
    if changed == state.proposal.issue_changed:
        return Stay("Nothing new about the issue's text.")
    after = state.model_copy(update={"proposal": state.proposal.model_copy(update={"issue_changed": changed})})
    if not changed:
        return Move(after, (_status(f"issue-restored:{fact.issue_digest[:12]}"),))
    words = Refused(
        "The issue was edited after this plan was made from it, so the plan cannot be approved.",
        "`/revise` asks for a plan of the new text.",
    )
    reply = _reply(f"issue-changed:{fact.issue_digest[:12]}", ReplyTopic.VOIDED, None, words)
    return Move(after, (reply, _status(f"issue-changed:{fact.issue_digest[:12]}")))


def issue_changed_after_approval(state: Approved, fact: f.IssueChanged) -> Move | Stay:
    if fact.issue_digest == state.approval.issue_digest:
        return Stay("The issue reads as it did.")
    words = Refused(
        "The issue was edited after the approval, so the approval no longer stands.",
        "`/revise` asks for a plan of the new text.",
    )
    return _voided(state, words, f"issue:{fact.issue_digest[:12]}", issue_changed=True)


def issue_ended(state: State, fact: f.IssueEnded) -> Move:
    words = {
        f.IssueEnd.CLOSED: Refused("The issue was closed.", "Reopen it and set the label for a new run."),
        f.IssueEnd.DELETED: Refused("The issue was deleted."),
        f.IssueEnd.TRANSFERRED: Refused("The issue moved to another repository.", "Set the label there."),
    }[fact.how]
    move = _closed(state, ClosedReason.CANCELLED, words)
    return move if fact.how is f.IssueEnd.CLOSED else Move(move.state)


def repository_ended(state: State, fact: f.RepositoryEnded) -> Move:
    """There is no place left where anything could be said."""
    return Move(_closed(state, ClosedReason.CANCELLED, Refused(fact.how)).state)


# -- planning ----------------------------------------------------------------------------------------------


def plan_drafted(state: Wanted | Proposed, fact: f.PlanDrafted) -> Move | Stay:
    """A plan goes on offer; a newer version takes the place of an older one."""
    if fact.version != state.last_version + 1:
        return Stay(f"Version {fact.version} was not asked for.")
    if (isinstance(state, Wanted) and not state.allowed) or (isinstance(state, Proposed) and not state.drafting):
        return Stay("No plan was asked for.")
    proposal = Proposal(
        version=fact.version,
        digest=fact.digest,
        base_branch=fact.base_branch,
        base_commit=fact.base_commit,
        issue_digest=fact.issue_digest,
        drafted_at=fact.at,
        expires_at=fact.expires_at,
        issue_changed=fact.issue_digest != state.request.issue_digest,
    )
    after = Proposed(**(_with_cost(state, fact.spent) | {"last_version": fact.version}), proposal=proposal)
    say = Say(key=f"plan-comment:{fact.version}", saying=PlanSaying(version=fact.version))
    return Move(after, (say, _status(f"proposed:{fact.version}")))


def plan_not_possible(state: Wanted, fact: f.PlanNotPossible) -> Move:
    reason = ClosedReason.STALE if fact.stale else ClosedReason.FAILED
    kept = {"spent": state.spent.plus(fact.spent)}
    return _closed(state, reason, Refused(fact.reason, fact.remedy), **kept)


def revision_not_possible(state: Proposed, fact: f.PlanNotPossible) -> Move | Stay:
    """The older version stays on offer."""
    if not state.drafting:
        return Stay("No plan was asked for.")
    after = Proposed(**_with_cost(state, fact.spent), proposal=state.proposal)
    words = Refused(f"The revision could not be made: {fact.reason}", fact.remedy)
    # The failed version number is used up, so that the next wish is a new effect.
    after = after.model_copy(update={"last_version": state.last_version + 1})
    key = f"revision:{fact.version}"
    return Move(after, (_reply(key, ReplyTopic.NOTE, None, words), _status(key)))


def input_needed(state: Wanted | Proposed, fact: f.InputNeeded) -> Move:
    kept = _with_cost(state, fact.spent) | {"last_version": state.last_version + 1}
    question = _reply(f"question:{fact.version}", ReplyTopic.QUESTION, state.request.author, Refused(fact.question))
    return Move(NeedsInput(**kept, question=fact.question), (question, _status(f"question:{fact.version}")))


# -- saying ------------------------------------------------------------------------------------------------


def said(state: State, fact: f.Said) -> Move | Stay:
    """The comment's id is kept where later work has to find it."""
    if fact.slot is Slot.STATUS:
        return Move(state.model_copy(update={"status_comment_id": fact.comment_id}))
    if fact.slot is Slot.REPLY or not isinstance(state, Proposed):
        return Move(state)
    if fact.plan_version != state.proposal.version:
        return Move(state)
    posted = {
        "comment_id": fact.comment_id,
        "comment_node_id": fact.node_id,
        "comment_digest": fact.comment_digest,
    }
    return Move(state.model_copy(update={"proposal": state.proposal.model_copy(update=posted)}))


# -- execution and publication -----------------------------------------------------------------------------


def steps_done(state: Approved, fact: f.StepsDone) -> Move | Stay:
    if fact.plan_digest != state.proposal.digest:
        return Stay("The work was done for another plan.")
    after = Built(
        **_with_cost(state, fact.spent),
        proposal=state.proposal,
        approval=state.approval,
        patch_ref=fact.patch_ref,
        report_ref=fact.report_ref,
    )
    tag = f"{short(fact.plan_digest)}:{fact.patch_ref[:12]}"
    return Move(after, (_status(f"built:{tag}"), OpenDraft(key=f"open:{tag}", plan_digest=fact.plan_digest)))


def execution_failed(state: Approved, fact: f.ExecutionFailed) -> Move | Stay:
    if fact.plan_digest != state.proposal.digest:
        return Stay("The work was done for another plan.")
    more = {"spent": state.spent.plus(fact.spent), "report_ref": fact.report_ref}
    return _closed(state, ClosedReason.FAILED, Refused(fact.reason, fact.remedy), **more)


def execution_held(state: Approved, fact: f.ExecutionHeld) -> Move | Stay:
    """The approved plan is kept; the reason is said once."""
    words = f"{fact.reason} {fact.remedy}".strip()
    if fact.plan_digest != state.proposal.digest or state.held == words:
        return Stay("That execution waits was said already.")
    after = state.model_copy(update={"held": words})
    return Move(after, (_status(f"held:{text_digest(words)[:12]}"),))


def approval_voided(state: Approved | Built, fact: f.ApprovalVoided) -> Move | Stay:
    if fact.plan_digest != state.proposal.digest:
        return Stay("The approval was of another plan.")
    tag = f"{state.approval.source_id}:{text_digest(fact.reason)[:12]}"
    return _voided(state, Refused(fact.reason, fact.remedy), tag)


def _voided(state: Approved | Built, words: Refused, tag: str, **changes: Any) -> Move:
    proposal = state.proposal.model_copy(update=changes)
    after = Proposed(**_kept(state), proposal=proposal)
    return Move(after, (_reply(f"voided:{tag}", ReplyTopic.VOIDED, None, words), _status(f"voided:{tag}")))


def draft_opened(state: Built, fact: f.DraftOpened) -> Move | Stay:
    if fact.plan_digest != state.proposal.digest:
        return Stay("The pull request is of another plan.")
    after = Published(
        **_kept(state),
        proposal=state.proposal,
        approval=state.approval,
        report_ref=state.report_ref,
        pull=fact.pull,
    )
    return Move(after, (_status(f"published:{fact.pull.number}"),))


def draft_opened_late(state: Closed | Proposed, fact: f.DraftOpened) -> Move | Stay:
    """The run ended while the pull request was being opened: it is named, not hidden."""
    number = fact.pull.number
    if isinstance(state, Closed):
        if state.pull is not None:
            return Stay("The pull request is known.")
        after: State = state.model_copy(update={"pull": fact.pull})
        return Move(after, (_status(f"late:{number}"),))
    words = Refused(
        f"Draft pull request #{number} was opened in the moment in which the approval ended.",
        "Close it if it is not wanted.",
    )
    return _closed(state, ClosedReason.CANCELLED, words, pull=fact.pull)


def publish_failed(state: Built, fact: f.PublishFailed) -> Move:
    more = {"report_ref": state.report_ref}
    return _closed(state, ClosedReason.FAILED, Refused(fact.reason, fact.remedy), **more)


def pull_request_ended(state: Published, fact: f.PullRequestEnded) -> Move:
    number = state.pull.number
    more = {"pull": state.pull, "report_ref": state.report_ref}
    if fact.merged:
        words = Refused(f"Pull request #{number} was merged.")
        return _closed(state, ClosedReason.MERGED, words, **more)
    words = Refused(f"Pull request #{number} was closed without a merge.", "The label starts a new run.")
    return _closed(state, ClosedReason.PULL_REQUEST_CLOSED, words, **more)


# -- time and failure --------------------------------------------------------------------------------------


def expired(state: State, fact: f.Expired) -> Move:
    words = Refused("The time for which this stood is over.", "Setting the label again starts a new run.")
    return _closed(state, ClosedReason.EXPIRED, words)


_ENDS_THE_RUN = {"draft_plan", "execute", "open_draft"}


def effect_abandoned(state: State, fact: f.EffectAbandoned) -> Move | Stay:
    """What could not be done is said; work without which the run cannot go on ends it."""
    if isinstance(state, Closed):
        return Stay("The run has ended.")
    words = Refused(fact.reason)
    if fact.effect in _ENDS_THE_RUN or fact.key == "authority:label":
        return _closed(state, ClosedReason.FAILED, words)
    if fact.effect == "look_up_authority":
        no_answer = Refused(
            f"Nobody's authority could be found: {fact.reason}", "Nothing was allowed. Please ask again later."
        )
        return Move(state, (_reply(f"abandoned:{fact.key}", ReplyTopic.NOTE, None, no_answer),))
    return Move(state)
