"""GitHub asked again before a grant is used, so that rows forged in the ledger are not enough.

What is read again: the approving word and that it says so, its giver's permission, the plan comment and that it is
ours and shows this plan, and the issue.
"""

from datetime import datetime

from app.core import gate
from app.core.bounds import Bounds
from app.core.command import Command, Verb, read
from app.core.digest import names, short, text_digest
from app.core.plan import Plan
from app.core.run import Approval, ApprovalSource, Grant
from app.core.verdict import Allowed, Refused, Verdict
from worker.github.authority import look_up, question_again
from worker.github.errors import Gone, NotFound
from worker.github.reader import Reader
from worker.github.views import CommentView

ASK_ANEW = "Ask for a new approval."


def plan_stands(grant: Grant, plan: Plan | None) -> Verdict:
    """The stored plan, whose digest the ledger computed anew, is the approved one and for this place."""
    proposal, request = grant.proposal, grant.request
    fits = plan is not None and (
        plan.run == request.run
        and plan.repository_id == request.repository_id
        and plan.issue_number == request.issue_number
        and plan.base_commit == proposal.base_commit == grant.approval.base_commit
        and plan.issue_digest == proposal.issue_digest == grant.approval.issue_digest
        and plan.version == proposal.version == grant.approval.plan_version
        and proposal.paths in (None, tuple(sorted(plan.paths())))
    )
    return Allowed() if fits else Refused("The approved plan is not the one that is kept.", ASK_ANEW)


def still_approved(reader: Reader, grant: Grant, bot_user_id: int, now: datetime, bounds: Bounds) -> Verdict:
    """Whether GitHub bears the grant out at this moment, each approval of it. Raises `GitHubError` where it could not
    say."""
    try:
        verdict = _each_stands(reader, grant, now, bounds)
        if isinstance(verdict, Refused):
            return verdict
        shown = reader.comment(grant.proposal.comment_id or 0)
        if not _is_ours(shown, grant, bot_user_id):
            return Refused("The plan comment is not one that shows this plan.", ASK_ANEW)
        return Allowed()
    except (NotFound, Gone) as error:
        return Refused(f"The approval cannot be found again: {error.reason}", ASK_ANEW)


def _each_stands(reader: Reader, grant: Grant, now: datetime, bounds: Bounds) -> Verdict:
    """Every approval stands as it was given, and together they are enough by the policy of now."""
    today: list[Approval] = []
    for approval in grant.approvals:
        found = look_up(reader, question_again(grant.request, grant.proposal, approval, bounds), now)
        verdict = gate.still_approved(grant.request, approval, found, grant.proposal, now)
        if isinstance(verdict, Refused):
            return verdict
        # A thumb stands on the plan comment itself; `look_up` found it there.
        says_so = _says_so(reader, grant, approval) if approval.source is ApprovalSource.COMMENT else Allowed()
        if isinstance(says_so, Refused):
            return says_so
        today.append(approval.model_copy(update={"person": found.person, "teams": found.teams}))
    missing = gate.missing(grant.proposal, found, today)
    return Refused(f"The approvals are no longer enough. {' '.join(missing)}", ASK_ANEW) if missing else Allowed()


def _is_ours(shown: CommentView, grant: Grant, bot_user_id: int) -> bool:
    proposal = grant.proposal
    return (
        shown.author is not None
        and shown.author.id == bot_user_id
        and shown.node_id == proposal.comment_node_id
        and shown.issue_number == grant.request.issue_number
        and text_digest(shown.body) == proposal.comment_digest
        and short(proposal.digest) in shown.body.partition("\n")[0]
    )


def _says_so(reader: Reader, grant: Grant, approval: Approval) -> Verdict:
    """The comment is an order to carry out this plan, and was never edited."""
    word = reader.comment(approval.source_id)
    said = read(word.body)
    if not isinstance(said, Command) or said.verb is not Verb.APPROVE:
        return Refused("The approving comment approves nothing.", ASK_ANEW)
    if said.argument and not names(said.argument, grant.proposal.digest):
        return Refused("The approving comment names another plan.", ASK_ANEW)
    as_it_stands = reader.reactions([word.node_id]).get(word.node_id)
    if as_it_stands is None or as_it_stands.edited_at is not None:
        return Refused("The approving comment was edited after it was written.", ASK_ANEW)
    return Allowed()
