"""The moves that work, GitHub and time cause: planning, execution, publication, the issue, the clock."""

from typing import Any

from app.core import facts as f
from app.core import finding
from app.core.budget import Spent
from app.core.digest import text_digest
from app.core.dropping import approval_of_the_rest
from app.core.effects import PlanSaying, ReplyTopic, ReportSaying, Say, Slot, SplitSaying
from app.core.move import (
    Move,
    Stay,
    closed,
    is_well_before,
    kept,
    last_work,
    moment,
    reply,
    report_key,
    status,
    with_cost,
)
from app.core.run import (
    Approved,
    Built,
    Closed,
    ClosedReason,
    NeedsInput,
    Proposal,
    Proposed,
    Published,
    Reporting,
    Stall,
    StallCode,
    State,
    Wanted,
)
from app.core.stalling import waits_for
from app.core.verdict import Refused


def issue_changed_early(state: Wanted | NeedsInput, fact: f.IssueChanged) -> Move | Stay:
    """Nobody with authority has read the new text, so no plan is made from it."""
    if fact.issue_digest == state.request.issue_digest:
        return Stay("The issue reads as it did.")
    words = Refused("The issue was edited after it was labelled.", "Read it again, then set the label again.")
    return closed(state, ClosedReason.STALE, words)


def issue_changed_under_offer(state: Proposed, fact: f.IssueChanged) -> Move | Stay:
    """The offer stays readable; it cannot be approved while the issue reads differently."""
    changed = fact.issue_digest != state.proposal.issue_digest
    tag = f"{fact.issue_digest[:12]}:{moment(fact.at)}"
    if changed == state.proposal.issue_changed:
        return Stay("Nothing new about the issue's text.")
    proposal = state.proposal.model_copy(update={"issue_changed": changed})
    # What was approved so far was approved of another text; those who approved read the new one first.
    after = state.model_copy(update={"proposal": proposal, "given": ()})
    if not changed:
        return Move(after, (status(f"issue-restored:{tag}"),))
    words = Refused(
        "The issue was edited after this plan was made from it, so the plan cannot be approved.",
        "`/revise` asks for a plan of the new text.",
    )
    topic = ReplyTopic.VOIDED if state.given else ReplyTopic.NOTE
    said = reply(f"issue-changed:{fact.issue_digest[:12]}", topic, None, words)
    return Move(after, (said, status(f"issue-changed:{tag}")))


def issue_changed_after_approval(state: Approved, fact: f.IssueChanged) -> Move | Stay:
    if fact.issue_digest == state.approval.issue_digest:
        return Stay("The issue reads as it did.")
    if is_well_before(fact.happened_at, state.approval.approved_at):
        return Stay("It was read again for the approval, later than this edit.")
    words = Refused(
        "The issue was edited after the approval, so the approval no longer stands.",
        "`/revise` asks for a plan of the new text.",
    )
    tag = f"{state.approval.source_id}:issue:{fact.issue_digest[:12]}"
    return _voided(state, words, tag, issue_changed=True)


def issue_ended(state: State, fact: f.IssueEnded) -> Move:
    words = {
        f.IssueEnd.CLOSED: Refused("The issue was closed.", "Reopen it and set the label for a new run."),
        f.IssueEnd.DELETED: Refused("The issue was deleted."),
        f.IssueEnd.TRANSFERRED: Refused("The issue moved to another repository.", "Set the label there."),
    }[fact.how]
    move = closed(state, ClosedReason.CANCELLED, words)
    return move if fact.how is f.IssueEnd.CLOSED else Move(move.state)


def repository_ended(state: State, fact: f.RepositoryEnded) -> Move:
    """There is no place left where anything could be said."""
    return Move(closed(state, ClosedReason.CANCELLED, Refused(fact.how)).state)


def _unasked(state: Wanted | Proposed, version: int) -> Stay | None:
    """What a planner says counts only for the version that the run waits for."""
    waits = state.allowed if isinstance(state, Wanted) else state.drafting
    if not waits or version != state.last_version + 1:
        return Stay(f"A plan with version {version} is not asked for.")
    return None


def plan_drafted(state: Wanted | Proposed, fact: f.PlanDrafted) -> Move | Stay:
    """A plan goes on offer; a newer version takes the place of an older one."""
    if (unasked := _unasked(state, fact.version)) is not None:
        return unasked
    proposal = Proposal(
        version=fact.version,
        digest=fact.digest,
        base_branch=fact.base_branch,
        base_commit=fact.base_commit,
        issue_digest=fact.issue_digest,
        drafted_at=fact.at,
        expires_at=fact.expires_at,
        issue_changed=fact.issue_digest != state.request.issue_digest,
        notices=fact.notices,
        paths=fact.paths,
        narrowing=state.narrowing if isinstance(state, Proposed) and fact.narrowed is not None else None,
    )
    after = Proposed(**(with_cost(state, fact.spent) | {"last_version": fact.version}), proposal=proposal)
    say = Say(key=f"plan-comment:{fact.version}", saying=PlanSaying(version=fact.version))
    return Move(after, (say, status(f"proposed:{fact.version}")))


def plan_not_possible(state: Wanted, fact: f.PlanNotPossible) -> Move | Stay:
    if (unasked := _unasked(state, fact.version)) is not None:
        return unasked
    reason = ClosedReason.STALE if fact.stale else ClosedReason.FAILED
    kept = {"spent": state.spent.plus(fact.spent)}
    return closed(state, reason, Refused(fact.reason, fact.remedy), **kept)


def revision_not_possible(state: Proposed, fact: f.PlanNotPossible) -> Move | Stay:
    """The older version stays on offer."""
    if (unasked := _unasked(state, fact.version)) is not None:
        return unasked
    return _revision_failed(state, Refused(fact.reason, fact.remedy), fact.spent)


def split_proposed(state: Wanted, fact: f.SplitProposed) -> Move | Stay:
    """No plan is made of it; the run ends with the pieces as texts, and a person opens those that are wanted."""
    if (unasked := _unasked(state, fact.version)) is not None:
        return unasked
    count = len(fact.split.pieces)
    words = Refused(
        f"This is too much for one plan: {fact.split.reason}",
        f"A comment here has the texts of {count} smaller issues. Nothing was opened: open those that you want, and "
        "set the label on each in its turn.",
    )
    move = closed(state, ClosedReason.TOO_LARGE, words, spent=state.spent.plus(fact.spent))
    return Move(move.state, (_say_split(fact), *move.effects))


def revision_too_large(state: Proposed, fact: f.SplitProposed) -> Move | Stay:
    """The older version stays on offer."""
    if (unasked := _unasked(state, fact.version)) is not None:
        return unasked
    why = Refused(
        f"with what was asked for it is too much for one plan. {fact.split.reason}",
        "A comment here has the texts of smaller issues; the older version stays on offer.",
    )
    move = _revision_failed(state, why, fact.spent)
    return Move(move.state, (_say_split(fact), *move.effects))


def _say_split(fact: f.SplitProposed) -> Say:
    return Say(key=f"split:{fact.version}", saying=SplitSaying(version=fact.version, split=fact.split))


def _revision_failed(state: Proposed, why: Refused, spent: Spent) -> Move:
    # The failed version number is used up, so that the next wish is a new effect.
    version = state.last_version + 1
    kept_back = with_cost(state, spent) | {"last_version": version, "given": state.given}
    after = Proposed(**kept_back, proposal=state.proposal)
    words = Refused(f"The revision could not be made: {why.reason}", why.remedy)
    key = f"revision:{version}"
    return Move(after, (reply(key, ReplyTopic.NOTE, None, words), status(key)))


def input_needed(state: Wanted | Proposed, fact: f.InputNeeded) -> Move | Stay:
    if (unasked := _unasked(state, fact.version)) is not None:
        return unasked
    kept = with_cost(state, fact.spent) | {"last_version": state.last_version + 1}
    question = reply(f"question:{fact.version}", ReplyTopic.QUESTION, state.request.author, Refused(fact.question))
    after = NeedsInput(**kept, question=fact.question, asked_at=fact.at)
    return Move(after, (question, status(f"question:{fact.version}")))


def said(state: State, fact: f.Said) -> Move | Stay:
    """The comment's id is kept where later work has to find it."""
    if fact.slot is Slot.STATUS:
        return Move(state.model_copy(update={"status_comment_id": fact.comment_id}))
    if fact.slot is Slot.REPORT and isinstance(state, Reporting):
        words = Refused("The report is a comment here; nothing was changed.", "The label starts a new run.")
        return closed(state, ClosedReason.REPORTED, words, findings_ref=state.findings_ref)
    if fact.slot is not Slot.PLAN or not isinstance(state, Proposed):
        return Move(state)
    if fact.plan_version != state.proposal.version:
        return Move(state)
    posted = {
        "comment_id": fact.comment_id,
        "comment_node_id": fact.node_id,
        "comment_digest": fact.comment_digest,
        "further_parts": fact.further_parts,
    }
    after = state.model_copy(update={"proposal": state.proposal.model_copy(update=posted)})
    return Move(after, approval_of_the_rest(after))


def steps_done(state: Approved, fact: f.StepsDone) -> Move | Stay:
    if fact.plan_digest != state.proposal.digest:
        return Stay("The work was done for another plan.")
    after = Built(
        **with_cost(state, fact.spent),
        proposal=state.proposal,
        approval=state.approval,
        also=state.also,
        patch_ref=fact.patch_ref,
        report_ref=fact.report_ref,
    )
    work = last_work(after)
    return Move(after, (status(f"built:{work.key}"), work))


def questions_answered(state: Approved, fact: f.QuestionsAnswered) -> Move | Stay:
    """A report is owed; the run ends when it stands on the issue."""
    if fact.plan_digest != state.proposal.digest:
        return Stay("The questions were another plan's.")
    after = Reporting(
        **with_cost(state, fact.spent),
        proposal=state.proposal,
        approval=state.approval,
        also=state.also,
        findings_ref=fact.findings_ref,
    )
    key = report_key(state.approval, fact.findings_ref)
    return Move(after, (status(key), Say(key=key, saying=ReportSaying(findings_ref=fact.findings_ref))))


def execution_failed(state: Approved, fact: f.ExecutionFailed) -> Move | Stay:
    if fact.plan_digest != state.proposal.digest:
        return Stay("The work was done for another plan.")
    more = {"spent": state.spent.plus(fact.spent), "report_ref": fact.report_ref}
    return closed(state, ClosedReason.FAILED, Refused(fact.reason, fact.remedy), **more)


def execution_held(state: Approved, fact: f.ExecutionHeld) -> Move | Stay:
    """The approved plan is kept; the reason is said when it changes."""
    words = f"{fact.reason} {fact.remedy}".strip()
    if fact.plan_digest != state.proposal.digest or state.held == words:
        return Stay("That execution waits was said already.")
    after = state.model_copy(update={"held": words})
    return Move(after, (status(f"held:{moment(fact.at)}"),))


def approval_voided(state: Approved | Built, fact: f.ApprovalVoided) -> Move | Stay:
    if fact.plan_digest != state.proposal.digest:
        return Stay("The approval was of another plan.")
    tag = f"{state.approval.source_id}:{text_digest(fact.reason)[:12]}"
    return _voided(state, Refused(fact.reason, fact.remedy), tag)


def _voided(state: Approved | Built, words: Refused, tag: str, **changes: Any) -> Move:
    proposal = state.proposal.model_copy(update=changes)
    after = Proposed(**kept(state), proposal=proposal)
    return Move(after, (reply(f"voided:{tag}", ReplyTopic.VOIDED, None, words), status(f"voided:{tag}")))


def draft_opened(state: Built, fact: f.DraftOpened) -> Move | Stay:
    if fact.plan_digest != state.proposal.digest:
        return finding.pull_stands(state, fact.plan_digest, fact.pull)
    after = Published(
        **kept(state),
        proposal=state.proposal,
        approval=state.approval,
        also=state.also,
        report_ref=state.report_ref,
        pull=fact.pull,
    )
    return Move(after, (status(f"published:{fact.pull.number}"),))


def publish_failed(state: Built, fact: f.PublishFailed) -> Move:
    more = {"report_ref": state.report_ref, "branch": fact.branch}
    return closed(state, ClosedReason.FAILED, Refused(fact.reason, fact.remedy), **more)


def pull_request_ended(state: Published, fact: f.PullRequestEnded) -> Move:
    number = state.pull.number
    more = {"pull": state.pull, "report_ref": state.report_ref}
    if fact.merged:
        words = Refused(f"Pull request #{number} was merged.")
        return closed(state, ClosedReason.MERGED, words, **more)
    words = Refused(f"Pull request #{number} was closed without a merge.", "The label starts a new run.")
    return closed(state, ClosedReason.PULL_REQUEST_CLOSED, words, **more)


def pull_request_read(state: Closed, fact: f.PullRequestRead) -> Move | Stay:
    """What stood on the branch is known; nothing follows from it."""
    if state.pull is None or state.pull.number != fact.number:
        return Stay("It is not the pull request of this run.")
    return Move(state)


def expired(state: State, fact: f.Expired) -> Move | Stay:
    """Whoever saw that time was over may have looked before a new approval gave more of it."""
    until = None
    if isinstance(state, Proposed) and state.drafting:
        return Stay("Another version is being made.")
    if isinstance(state, Proposed):
        until = state.proposal.expires_at
    elif isinstance(state, Approved | Built):
        until = state.approval.expires_at
    if until is not None and fact.at < until:
        return Stay("There is still time.")
    words = Refused("The time for which this stood is over.")
    return closed(state, ClosedReason.EXPIRED, words)


def stalled(state: State, fact: f.Stalled) -> Move | Stay:
    """That the work it waits for makes no progress is said once for each way of waiting; after a bound it is the end.

    Execution that waits for something outside has said so by itself.
    """
    if fact.key != waits_for(state):
        return Stay("The run has gone on.")
    words = Refused(fact.reason, fact.remedy)
    if fact.over and isinstance(state, Proposed):
        return _revision_failed(state, words, Spent())
    if fact.over:
        return closed(state, ClosedReason.FAILED, words)
    if _was_said(state, fact):
        return Stay("That it waits was said already.")
    after = state.model_copy(update={"stall": Stall(code=fact.code, key=fact.key, words=f"{words}")})
    return Move(after, (status(f"stalled:{moment(fact.at)}"),))


def _was_said(state: State, fact: f.Stalled) -> bool:
    stall = state.stall if state.stall and state.stall.key == fact.key else None
    if fact.code is StallCode.DAY_SPENT:
        # Each day has its own words.
        return stall is not None and fact.reason in stall.words
    held = isinstance(state, Approved) and bool(state.held)
    if held or stall is None:
        return held
    of_the_day = stall.code is StallCode.DAY_SPENT and fact.reason in stall.words
    return stall.code is fact.code or of_the_day


_BY_HAND = "Open a pull request from it, or set the label again for a new run."


def effect_abandoned(state: State, fact: f.EffectAbandoned) -> Move | Stay:
    """What could not be done is said; the end of the work that the run waits for ends it. An offer outlives that."""
    if fact.effect == "find_draft":
        return finding.not_looked_for(state, fact)
    if isinstance(state, Closed):
        return Stay("The run has ended.")
    words = Refused(fact.reason)
    if fact.key == waits_for(state):
        if isinstance(state, Proposed):
            return _revision_failed(state, words, Spent())
        if fact.branch:
            stands = f"The work stands on the branch {fact.branch}."
            return closed(state, ClosedReason.FAILED, Refused(f"{fact.reason} {stands}", _BY_HAND), branch=fact.branch)
        return closed(state, ClosedReason.FAILED, words)
    if isinstance(state, Proposed) and fact.key == f"plan-comment:{state.proposal.version}":
        unsaid = Refused(f"The plan could not be posted: {fact.reason}", "Setting the label again starts a new run.")
        return closed(state, ClosedReason.FAILED, unsaid)
    if fact.effect == "look_up_authority":
        no_answer = Refused(
            f"Nobody's authority could be found: {fact.reason}", "Nothing was allowed. Please ask again later."
        )
        return Move(state, (reply(f"abandoned:{fact.key}", ReplyTopic.NOTE, None, no_answer),))
    return Move(state)
