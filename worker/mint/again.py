"""GitHub asked again before a grant is used, so that rows forged in the ledger are not enough.

What is read again: the approving word and that it says so, its giver's permission, the plan comment and that it is
ours and shows this plan, and the issue.
"""

from datetime import datetime

from app.core import gate
from app.core.bounds import Bounds
from app.core.command import Command, read, steps_of
from app.core.digest import names, short, text_digest
from app.core.effects import Narrow
from app.core.narrowing import narrowed
from app.core.plan import Plan
from app.core.run import Approval, ApprovalSource, Grant, Narrowing
from app.core.verb import Verb
from app.core.verdict import Allowed, Refused, Verdict
from worker.github.authority import look_up, question_again
from worker.github.errors import Gone, IssuesOff, NotFound
from worker.github.reader import Reader
from worker.github.views import CommentView

ASK_ANEW = "Ask for a new approval."


def plan_stands(grant: Grant, plan: Plan | None, whole: Plan | None = None) -> Verdict:
    """The stored plan, whose digest the ledger computed anew, is the approved one and for this place.

    Where its approval is the word that dropped steps of the `whole`, it is what code makes of the whole by that word.
    """
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
    if not fits or plan is None:
        return Refused("The approved plan is not the one that is kept.", ASK_ANEW)
    narrowing = proposal.narrowing
    if narrowing is None or not _dropped_by(grant, narrowing):
        return Allowed()
    keep = steps_of(narrowing.argument) or ()
    made = narrowed(whole, Narrow(version=whole.version, keep=keep), plan.version) if whole is not None else None
    if made == plan and whole is not None and whole.version == narrowing.version:
        return Allowed()
    return Refused("The approved plan is not what was left of the plan before.", ASK_ANEW)


def _dropped_by(grant: Grant, narrowing: Narrowing) -> bool:
    """True where one of the approvals is the word that dropped the steps."""
    words = (one.source_id for one in grant.approvals if one.source is ApprovalSource.COMMENT)
    return narrowing.comment_id in words


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
        return _whole_was_shown(reader, grant, bot_user_id)
    except IssuesOff:
        # Nothing was taken back: it can be read again when there are issues again.
        raise
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
        if found.policy is not None and found.policy.staged and not grant.staged:
            return Refused("The policy says `mode: staged` now, so nothing may be written.", ASK_ANEW)
        if not grant.begun and isinstance(stale := gate.base_stands(found), Refused):
            return stale
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


def _whole_was_shown(reader: Reader, grant: Grant, bot_user_id: int) -> Verdict:
    """Who dropped steps and approved the rest in one word had a comment of ours with the whole plan before them."""
    narrowing = grant.proposal.narrowing
    if narrowing is None or not _dropped_by(grant, narrowing):
        return Allowed()
    whole, word = reader.comment(narrowing.shown_id), reader.comment(narrowing.comment_id)
    shown = (
        whole.author is not None
        and whole.author.id == bot_user_id
        and whole.issue_number == grant.request.issue_number
        and short(narrowing.digest) in whole.body.partition("\n")[0]
        and whole.created_at <= word.created_at
    )
    return Allowed() if shown else Refused("The plan of which steps were dropped is not shown any more.", ASK_ANEW)


def _says_so(reader: Reader, grant: Grant, approval: Approval) -> Verdict:
    """The comment is an order to carry out this plan, and was never edited."""
    word = reader.comment(approval.source_id)
    said = read(word.body)
    if not isinstance(said, Command) or said.verb is not Verb.APPROVE:
        return Refused("The approving comment approves nothing.", ASK_ANEW)
    narrowing = grant.proposal.narrowing
    if (steps := steps_of(said.argument)) is not None:
        same = narrowing is not None and narrowing.comment_id == approval.source_id
        if not same or narrowing is None or steps != steps_of(narrowing.argument):
            return Refused("The approving comment names other steps.", ASK_ANEW)
    elif said.argument and not names(said.argument, grant.proposal.digest):
        return Refused("The approving comment names another plan.", ASK_ANEW)
    as_it_stands = reader.reactions([word.node_id]).get(word.node_id)
    if as_it_stands is None or as_it_stands.edited_at is not None:
        return Refused("The approving comment was edited after it was written.", ASK_ANEW)
    return Allowed()
