"""The gates: pure questions with a verdict. Nothing unknown is ever allowed."""

from datetime import datetime, timedelta

from app.core.digest import MIN_PREFIX, names, short
from app.core.effects import SourceKind
from app.core.facts import AuthorityFound, Found
from app.core.issue import Person
from app.core.policy import Level, Policy, level_of
from app.core.run import Approval, ApprovalSource, Proposal, Request
from app.core.verdict import Allowed, Refused, Verdict, all_of

ROLE_LEVEL = {"triage": Level.TRIAGE, "write": Level.WRITE, "maintain": Level.MAINTAIN, "admin": Level.ADMIN}


def may_label(found: AuthorityFound) -> Verdict:
    """Gate 1: the one who set the label has the permission that policy asks for (github-facts 80)."""
    policy = _believed(found)
    if isinstance(policy, Refused):
        return policy
    if found.person.is_bot:
        if found.person.id in policy.label.apps:
            return Allowed()
        return Refused(
            f"The label was set by the app account {found.person.login}, which is not on this repository's list.",
            f"Let a maintainer set the label, or add the id {found.person.id} to `label.apps` in the policy file.",
        )
    return _has_level(found, ROLE_LEVEL[policy.label.role], "ask for a plan")


def may_approve(request: Request, proposal: Proposal, found: AuthorityFound, now: datetime) -> Verdict:
    """Gate 2. In this order: person, their word, the offer, the issue, the time."""
    policy = _believed(found)
    if isinstance(policy, Refused):
        return policy
    return all_of(
        _is_person(found.person),
        _has_level(found, ROLE_LEVEL[policy.approve.role], "approve"),
        _not_only_labeller(request, policy, found.person),
        _word_stands(found),
        _names_this_plan(proposal, found),
        _comment_stands(proposal, found),
        _said_after_shown(found),
        _issue_stands(proposal, found.issue_digest),
        _in_time(proposal.expires_at, now),
    )


def may_end(request: Request, found: AuthorityFound) -> Verdict:
    """Who may approve may also reject and cancel; so may the person who set the label."""
    if request.labeller is not None and found.person.id == request.labeller.id and not found.person.is_bot:
        return _word_stands(found)
    return may_steer(found)


def may_steer(found: AuthorityFound) -> Verdict:
    """Who may approve may ask for a revision."""
    policy = _believed(found)
    if isinstance(policy, Refused):
        return policy
    level = ROLE_LEVEL[policy.approve.role]
    return all_of(_is_person(found.person), _has_level(found, level, "decide here"), _word_stands(found))


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
    )


def still_approved(approval: Approval, found: AuthorityFound, proposal: Proposal, now: datetime) -> Verdict:
    """Asked again before a write: the same person, word, plan comment and issue, still in time."""
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
        _has_level(found, ROLE_LEVEL[policy.approve.role], "approve"),
        _word_stands(found),
        same_word,
        _comment_stands(proposal, found),
        _said_after_shown(found),
        _issue_stands(proposal, found.issue_digest),
        _in_time(approval.expires_at, now),
    )


def lacks_level(found: AuthorityFound) -> bool:
    """True for a passer-by: somebody whose word does not count here, whatever it says."""
    if found.policy is None:
        return True
    return level_of(found.permission, found.role_name) < ROLE_LEVEL[found.policy.approve.role]


def _believed(found: AuthorityFound) -> Policy | Refused:
    if found.policy is None:
        return Refused(
            found.policy_problem or "The repository's policy could not be read.",
            "Mend the policy file on the default branch, then ask again.",
        )
    return found.policy


def _is_person(person: Person) -> Verdict:
    if person.is_bot:
        return Refused(f"{person.login} is an app account; only a person can decide here.")
    return Allowed()


def _has_level(found: AuthorityFound, needed: Level, to_do: str) -> Verdict:
    level = level_of(found.permission, found.role_name)
    if level >= needed:
        return Allowed()
    return Refused(
        f"{found.person.login} has {level.name.lower()} permission here; to {to_do} takes {needed.name.lower()}.",
        f"Somebody with {needed.name.lower()} permission can do it.",
    )


def _not_only_labeller(request: Request, policy: Policy, person: Person) -> Verdict:
    is_labeller = request.labeller is not None and request.labeller.id == person.id
    if is_labeller and not policy.approve.labeller_may_approve:
        return Refused("Policy asks that somebody other than the one who set the label approves.")
    return Allowed()


def _word_stands(found: AuthorityFound) -> Verdict:
    if found.source_found is Found.AS_WRITTEN:
        return Allowed()
    what = "reaction" if found.source is SourceKind.REACTION else "comment"
    if found.source_found is Found.EDITED and found.source is SourceKind.REACTION:
        return Refused("The plan comment was edited after the reaction was given, so the reaction does not count.")
    if found.source_found is Found.EDITED:
        return Refused(f"The {what} was edited after it was written, so it does not count.", "Write a new one.")
    return Refused(f"The {what} is gone, so it does not count.")


def _said_after_shown(found: AuthorityFound) -> Verdict:
    """Nobody approves what they have not seen: an old word that is delivered once more is not about this plan."""
    if found.said_at is not None and found.shown_at is not None and found.said_at >= found.shown_at:
        return Allowed()
    what = "reaction" if found.source is SourceKind.REACTION else "comment"
    return Refused(f"The {what} is older than the plan that it is to approve.", "Read the plan, then approve it.")


def _names_this_plan(proposal: Proposal, found: AuthorityFound) -> Verdict:
    if found.plan_version is None:
        return Refused("That was said before this plan was posted.", "Read the plan, then approve it.")
    if found.plan_version != proposal.version:
        return Refused("A newer version of the plan stands; the approval was for an older one.")
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


def _in_time(until: datetime, now: datetime) -> Verdict:
    if now < until:
        return Allowed()
    return Refused(f"The time to use this plan ended on {until:%Y-%m-%d %H:%M} UTC.", "Set the label again.")
