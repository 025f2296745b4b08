"""The gates: pure questions with a verdict. Nothing unknown is ever allowed."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from app.core.digest import MIN_PREFIX, names, short
from app.core.effects import SourceKind
from app.core.facts import AuthorityFound, Found
from app.core.guarded import forbidding, guarded, is_never_touched, people_for
from app.core.issue import Person
from app.core.owners import Owned, is_owner
from app.core.paths import shown
from app.core.policy import Policy
from app.core.run import Approval, ApprovalSource, Proposal, Request
from app.core.standing import counts, ender, is_among, owns_all, reviser
from app.core.verdict import Allowed, Refused, Verdict, all_of


def may_label(found: AuthorityFound) -> Verdict:
    """Gate 1: the one who set the label is among those whom the policy lets (github-facts 80), and it is still on."""
    policy = _believed(found)
    if isinstance(policy, Refused):
        return policy
    if found.source_found is not Found.AS_WRITTEN:
        return Refused("The label is not on the issue any more.", "Setting it again starts a new run.")
    if found.person.is_bot:
        if found.person.id in policy.label.apps:
            return Allowed()
        return Refused(
            f"The label was set by the app account {found.person.login}, which is not on this repository's list.",
            f"Let a maintainer set the label, or add the id {found.person.id} to `label.apps` in the policy file.",
        )
    return counts(policy.label, found, "ask for a plan")


def may_approve(request: Request, proposal: Proposal, found: AuthorityFound, now: datetime) -> Verdict:
    """Gate 2, for one person. In this order: person, their word, the offer, the issue, its paths, the time.

    Whether it takes more people than this one is for `missing`.
    """
    policy = _believed(found)
    if isinstance(policy, Refused):
        return policy
    return all_of(
        _may_decide(request, proposal, policy, found),
        _word_stands(found),
        _names_this_plan(proposal, found),
        _comment_stands(proposal, found),
        _said_after_shown(proposal, policy, found),
        _issue_stands(proposal, found.issue_digest),
        _paths_may_be_touched(proposal, policy),
        base_stands(found),
        _in_time(proposal.expires_at, now),
    )


def base_stands(found: AuthorityFound) -> Verdict:
    """What the plan touches is on its branch as it was when the plan was made (case PL-02); else it is stale."""
    if found.moved_problem:
        return Refused(found.moved_problem, "`/refresh` makes a plan on the newest commit.")
    if not found.paths_moved:
        return Allowed()
    beside = f" and {len(found.paths_moved) - 1} more" if len(found.paths_moved) > 1 else ""
    return Refused(
        f"The plan is stale: {shown(found.paths_moved[0])}{beside} changed on its branch since it was made.",
        "`/refresh` makes a plan on the newest commit and shows what differs.",
    )


def missing(proposal: Proposal, found: AuthorityFound, given: Sequence[Approval]) -> tuple[str, ...]:
    """What an approval still takes beside those that were given, in sentences; empty where they are enough.

    `found` is what GitHub said last: its policy and its code owners decide.
    """
    policy = found.policy
    if policy is None:
        return ("The repository's policy could not be read.",)
    people = {approval.person.id for approval in given}
    still: list[str] = []
    needed = approvals_needed(policy, proposal.paths)
    if len(people) < needed:
        why = _why_more(policy, proposal.paths)
        more = needed - len(people)
        still.append(f"{more} more {'person has' if more == 1 else 'people have'} to approve{why}.")
    if policy.approve.code_owners == "must":
        if found.owners_problem:
            still.append(found.owners_problem)
        still += [_by_owner(part) for part in found.owners if not _owner_among(part, given)]
    return tuple(still)


def approvals_needed(policy: Policy, paths: Sequence[str] | None) -> int:
    """How many people have to approve a plan that touches these paths; what is not known counts as protected."""
    return max(policy.approve.count, people_for(policy, paths))


def may_end(request: Request, found: AuthorityFound) -> Verdict:
    """Who may reject and cancel; so may the person who set the label, unless the policy says otherwise."""
    is_labeller = request.labeller is not None and found.person.id == request.labeller.id
    cancel = found.policy.cancel if found.policy else None
    if is_labeller and not found.person.is_bot and (cancel is None or cancel.labeller_may_cancel):
        return _word_stands(found)
    policy = _believed(found)
    if isinstance(policy, Refused):
        return policy
    return all_of(counts(ender(policy), found, "end a run"), _word_stands(found))


def may_drop(request: Request, proposal: Proposal, found: AuthorityFound, now: datetime) -> Verdict:
    """Who may have steps of the plan on offer dropped: whoever may approve it, as it stands."""
    policy = _believed(found)
    if isinstance(policy, Refused):
        return policy
    return all_of(
        _may_decide(request, proposal, policy, found),
        _word_stands(found),
        _of_this_version(proposal, found),
        # Boxes are looked at by themselves: with their ticks back the comment reads as it was posted.
        _comment_stands(proposal, found) if found.source is SourceKind.COMMENT else Allowed(),
        _said_after_shown(proposal, policy, found) if found.source is SourceKind.COMMENT else Allowed(),
        _issue_stands(proposal, found.issue_digest),
        _in_time(proposal.expires_at, now),
    )


def may_retry(found: AuthorityFound, request: Request, approved: Proposal | None) -> Verdict:
    """Who may have tried again what failed: the work on an approved plan, who may approve it; planning, who may label
    as well."""
    policy = _believed(found)
    if isinstance(policy, Refused):
        return policy
    if approved is not None:
        return all_of(_may_decide(request, approved, policy, found), _word_stands(found))
    if is_among(policy.approve, found):
        return _word_stands(found)
    return all_of(counts(policy.label, found, "try again"), _word_stands(found))


def is_the_narrowing(proposal: Proposal, found: AuthorityFound) -> bool:
    """True for the very comment whose dropping of steps made this version."""
    narrowing = proposal.narrowing
    return narrowing is not None and narrowing.comment_id == found.source_id and found.source is SourceKind.COMMENT


def may_steer(found: AuthorityFound) -> Verdict:
    """Who may ask for a revision."""
    policy = _believed(found)
    if isinstance(policy, Refused):
        return policy
    return all_of(counts(reviser(policy), found, "ask for another plan"), _word_stands(found))


def approval_from(proposal: Proposal, found: AuthorityFound) -> Approval:
    """The approval that an allowed `may_approve` leads to; it binds digest, base commit and issue snapshot."""
    days = found.policy.approve.days if found.policy else 1
    source = ApprovalSource.REACTION if found.source is SourceKind.REACTION else ApprovalSource.COMMENT
    return Approval(
        person=found.person,
        permission=found.permission,
        role_name=found.role_name,
        source=source,
        source_id=found.source_id,
        source_digest=found.source_digest,
        plan_version=proposal.version,
        plan_digest=proposal.digest,
        base_commit=proposal.base_commit,
        issue_digest=proposal.issue_digest,
        approved_at=found.at,
        expires_at=found.at + timedelta(days=days),
        teams=found.teams,
    )


def still_approved(
    request: Request, approval: Approval, found: AuthorityFound, proposal: Proposal, now: datetime
) -> Verdict:
    """Asked again before a write, for each approval: the same person, word, plan comment and issue, still in time."""
    policy = _believed(found)
    if isinstance(policy, Refused):
        return policy
    if found.person.id != approval.person.id:
        return Refused("The approval stands under another account now.", "Ask for a new approval.")
    same_word = (
        Allowed()
        if found.source_digest == approval.source_digest
        else Refused("The approving comment was edited after it was given.", "Approve again with a new comment.")
    )
    return all_of(
        _may_decide(request, proposal, policy, found),
        _word_stands(found),
        same_word,
        _comment_stands(proposal, found),
        _said_after_shown(proposal, policy, found),
        _issue_stands(proposal, found.issue_digest),
        _paths_may_be_touched(proposal, policy),
        _in_time(approval.expires_at, now),
    )


def lacks_level(proposal: Proposal, found: AuthorityFound) -> bool:
    """True for a passer-by: somebody whose word does not count here, whatever it says."""
    return found.policy is None or not _is_decider(proposal, found.policy, found)


def _believed(found: AuthorityFound) -> Policy | Refused:
    if found.policy is None:
        return Refused(
            found.policy_problem or "The repository's policy could not be read.",
            "Mend the policy file on the default branch, then ask again.",
        )
    return found.policy


def _is_decider(proposal: Proposal, policy: Policy, found: AuthorityFound) -> bool:
    if is_among(policy.approve, found):
        return True
    return policy.approve.code_owners == "may" and owns_all(found.owners, len(proposal.paths or ()), found)


def _may_decide(request: Request, proposal: Proposal, policy: Policy, found: AuthorityFound) -> Verdict:
    """The person is one of those who decide about this plan, and not one of those whom the policy leaves out."""
    if not _is_decider(proposal, policy, found):
        return counts(policy.approve, found, "approve")
    if _is(request.labeller, found.person) and not policy.approve.labeller_may_approve:
        return Refused("Policy asks that somebody other than the one who set the label approves.")
    if _is(request.author, found.person) and not policy.approve.author_may_approve:
        return Refused("Policy asks that somebody other than the issue's author approves.")
    return Allowed()


def _is(one: Person | None, other: Person) -> bool:
    return one is not None and one.id == other.id


def _why_more(policy: Policy, paths: Sequence[str] | None) -> str:
    if paths is None:
        return ", since it is not known which paths the plan touches"
    touched = guarded(policy, paths)
    takes = people_for(policy, paths)
    if not touched or takes <= policy.approve.count:
        return ""
    beside = f" and {len(touched) - 1} more" if len(touched) > 1 else ""
    return f", since the plan touches {shown(touched[0])}{beside}, which takes {takes}"


def _owner_among(part: Owned, given: Sequence[Approval]) -> bool:
    return any(is_owner(part, approval.person.login, approval.teams) for approval in given)


def _by_owner(part: Owned) -> str:
    beside = f" and {part.count - 1} more" if part.count > 1 else ""
    who = ", ".join(owner.removeprefix("@") for owner in part.owners)
    return f"A code owner of {shown(part.path)}{beside} has to approve: {who}."


def _word_stands(found: AuthorityFound) -> Verdict:
    if found.source_found is Found.AS_WRITTEN:
        return Allowed()
    what = "reaction" if found.source is SourceKind.REACTION else "comment"
    if found.source_found is Found.EDITED and found.source is SourceKind.REACTION:
        return Refused("The plan comment was edited after the reaction was given, so the reaction does not count.")
    if found.source_found is Found.EDITED:
        return Refused(f"The {what} was edited after it was written, so it does not count.", "Write a new one.")
    return Refused(f"The {what} is gone, so it does not count.")


def _said_after_shown(proposal: Proposal, policy: Policy, found: AuthorityFound) -> Verdict:
    """Nobody approves what they have not seen: an old word that is delivered once more is not about this plan.

    What is left of a plan was seen with the whole of it, by the one whose word dropped the rest.
    """
    narrowing, shown_at = proposal.narrowing, found.shown_at
    if narrowing is not None and is_the_narrowing(proposal, found):
        if not narrowing.approves or policy.approve.dropped_steps != "approve":
            return Refused("Policy asks that what is left of the plan is approved by itself.", "Read it, then approve.")
        shown_at = narrowing.shown_at
    if found.said_at is not None and shown_at is not None and found.said_at >= shown_at:
        return Allowed()
    what = "reaction" if found.source is SourceKind.REACTION else "comment"
    return Refused(f"The {what} is older than the plan that it is to approve.", "Read the plan, then approve it.")


def _of_this_version(proposal: Proposal, found: AuthorityFound) -> Verdict:
    if found.plan_version is None:
        return Refused("That was said before this plan was posted.", "Read the plan, then approve it.")
    if found.plan_version != proposal.version:
        return Refused("A newer version of the plan stands; the approval was for an older one.")
    return Allowed()


def _names_this_plan(proposal: Proposal, found: AuthorityFound) -> Verdict:
    this = _of_this_version(proposal, found)
    if isinstance(this, Refused) or is_the_narrowing(proposal, found):
        return this
    if not found.argument or names(found.argument, proposal.digest):
        return Allowed()
    if len(found.argument) < MIN_PREFIX:
        return Refused(f"`{found.argument}` is too short to name a plan.", f"Use `{short(proposal.digest)}`.")
    return Refused(
        f"`{found.argument[:80]}` is not the digest of the newest plan.",
        f"The newest plan is `{short(proposal.digest)}`: read it, then approve that one.",
    )


def _comment_stands(proposal: Proposal, found: AuthorityFound) -> Verdict:
    if proposal.comment_id is None:
        return Refused("The plan was not posted yet.", "Wait for the plan comment, read it, then approve.")
    if found.plan_comment is Found.AS_WRITTEN:
        return Allowed()
    words = {
        Found.EDITED: "The plan comment was edited after it was posted, so it no longer shows the plan.",
        Found.DELETED: "The plan comment was deleted, which withdraws the offer.",
        Found.HIDDEN: "The plan comment was hidden, which withdraws the offer.",
    }
    return Refused(
        words.get(found.plan_comment, "The plan comment could not be read."),
        "`/revise` asks for a fresh plan.",
    )


def _issue_stands(proposal: Proposal, issue_digest: str) -> Verdict:
    if issue_digest == proposal.issue_digest:
        return Allowed()
    return Refused(
        "The issue was edited after the plan was made from it.", "`/revise` asks for a plan of the new text."
    )


def _paths_may_be_touched(proposal: Proposal, policy: Policy) -> Verdict:
    """By the policy of this moment, which may be stricter than the one under which the plan was made."""
    for path in proposal.paths or ():
        pattern = forbidding(policy, path)
        if pattern is not None or is_never_touched(policy, path):
            by = f" (`{pattern}`)" if pattern is not None else ""
            return Refused(
                f"The plan touches {shown(path)}, which this repository's policy forbids now{by}.",
                "`/revise` asks for a plan without it.",
            )
    return Allowed()


def _in_time(until: datetime, now: datetime) -> Verdict:
    if now < until:
        return Allowed()
    return Refused(f"The time to use this plan ended on {until:%Y-%m-%d %H:%M} UTC.", "Set the label again.")
