"""The moves about a draft of which the run did not hear in time: it is looked for, and what stands is named."""

from app.core import facts as f
from app.core.digest import short
from app.core.effects import FindDraft, ReplyTopic
from app.core.move import Move, Stay, closed, reply, status
from app.core.run import Closed, ClosedReason, Proposed, Published, PullRequest, State
from app.core.verdict import Refused


def draft_unsettled(state: State, fact: f.DraftUnsettled) -> Move:
    """The run stays where it is; what may stand on GitHub is looked for, once for each opening."""
    return Move(state, (FindDraft(key=f"find:{fact.key}", plan_digest=fact.plan_digest),))


def draft_opened_late(state: State, fact: f.DraftOpened) -> Move | Stay:
    """The run went another way while the pull request was being opened: it is named, not hidden."""
    return pull_stands(state, fact.plan_digest, fact.pull)


def draft_found(state: State, fact: f.DraftFound) -> Move | Stay:
    """What was found is named: the pull request, or the branch that has none."""
    if fact.pull is not None:
        return pull_stands(state, fact.plan_digest, fact.pull)
    return _branch_stands(state, fact.branch)


def pull_stands(state: State, plan_digest: str, pull: PullRequest) -> Move | Stay:
    """It is named. An offer of the plan of which it was opened ends by it; nothing else does."""
    known = state.pull if isinstance(state, Published | Closed) else None
    if known is not None and known.number == pull.number:
        return Stay("The pull request is known.")
    kind = "Draft pull request" if pull.draft else "Pull request"
    if isinstance(state, Proposed) and state.proposal.digest == plan_digest:
        words = Refused(
            f"{kind} #{pull.number} was opened in the moment in which the approval ended.",
            "Close it if it is not wanted.",
        )
        return closed(state, ClosedReason.CANCELLED, words, pull=pull)
    named = Refused(
        f"{kind} #{pull.number} of plan {short(plan_digest)} was opened, though the run went on without it.",
        "Close it if it is not wanted.",
    )
    said = reply(f"draft:{pull.number}", ReplyTopic.NOTE, None, named)
    if isinstance(state, Closed) and known is None:
        return Move(state.model_copy(update={"pull": pull}), (said, status(f"late:{pull.number}")))
    return Move(state, (said,))


def _branch_stands(state: State, branch: str) -> Move | Stay:
    pull = state.pull if isinstance(state, Published | Closed) else None
    if (pull is not None and pull.branch == branch) or (isinstance(state, Closed) and state.branch == branch):
        return Stay("The branch is known.")
    named = Refused(
        f"The branch `{branch}` holds work of this run and has no pull request.",
        "Delete it, or open a pull request from it, if it is wanted.",
    )
    said = reply(f"branch:{branch}", ReplyTopic.NOTE, None, named)
    if isinstance(state, Closed) and pull is None and not state.branch:
        return Move(state.model_copy(update={"branch": branch}), (said, status(f"branch:{branch}")))
    return Move(state, (said,))


def not_looked_for(state: State, fact: f.EffectAbandoned) -> Move:
    """It could not be looked for: a person is told where to look."""
    words = Refused(
        f"Whether a draft pull request was opened that this run does not know of could not be found out: {fact.reason}",
        f"Look for a branch whose name begins with `{fact.branch}`; delete it, and close its pull request, if they are "
        "not wanted.",
    )
    return Move(state, (reply(f"abandoned:{fact.key}", ReplyTopic.NOTE, None, words),))
