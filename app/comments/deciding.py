"""Who decides about a plan, in words: how many people it takes, who they are, and who said yes so far."""

from collections.abc import Sequence

from app.comments.markdown import code, inline
from app.core.gate import approvals_needed
from app.core.guarded import guard_of, people_for
from app.core.policy import Policy
from app.core.run import Approval, Proposal
from app.core.standing import takes

SHOWN = 5


def beyond_one(policy: Policy | None, proposal: Proposal) -> str:
    """What it takes beside one approval, in a sentence or two; empty where one is enough."""
    policy = policy or Policy()
    said = []
    needed = approvals_needed(policy, proposal.paths)
    if needed > 1:
        said.append(f"It takes {needed} approvals, each by somebody else{_because(policy, proposal)}.")
    if policy.approve.code_owners == "must":
        said.append("Code owners of everything that it touches have to be among those who approve.")
    left_out = [
        words
        for words, may in (
            ("who set the label", policy.approve.labeller_may_approve),
            ("who wrote the issue", policy.approve.author_may_approve),
        )
        if not may
    ]
    if left_out:
        said.append(f"Somebody other than {' and '.join(left_out)} has to approve.")
    return " ".join(said)


def decider(policy: Policy | None) -> str:
    """Whose approval counts."""
    approve = (policy or Policy()).approve
    owners = " (or a code owner of everything that the plan touches)" if approve.code_owners == "may" else ""
    return f"somebody with {inline(takes(approve))}{owners}"


def given(policy: Policy | None, proposal: Proposal, approvals: Sequence[Approval]) -> str:
    """Who approved so far, where that is not enough; empty where nobody did."""
    if not approvals:
        return ""
    needed = approvals_needed(policy or Policy(), proposal.paths)
    return f"Approved so far by {people(approvals)} ({len(approvals)} of {max(needed, len(approvals))})."


def people(approvals: Sequence[Approval]) -> str:
    """The approvers by name, in the order in which they approved."""
    names = [inline(approval.person.login) for approval in approvals]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _because(policy: Policy, proposal: Proposal) -> str:
    if proposal.paths is None or people_for(policy, proposal.paths) <= policy.approve.count:
        return ""
    touched = [(path, guard) for path in proposal.paths if (guard := guard_of(policy, path)) is not None]
    shown = ", ".join(f"{code(path)} ({guard})" for path, guard in touched[:SHOWN])
    more = f" and {len(touched) - SHOWN} more" if len(touched) > SHOWN else ""
    return f", since it touches {shown}{more}"
