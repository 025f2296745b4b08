"""What GitHub says, at this moment, about a person and about what their word refers to.

Asked when a label, command or thumb is looked at, and asked again by the mint before a write. Any failure of
GitHub is raised: no answer is no authority (github-facts 77, 78).
"""

from dataclasses import dataclass
from datetime import datetime

from app.core.bounds import NO_BOUNDS, Bounds, parse_policy
from app.core.boxes import read_boxes
from app.core.digest import text_digest
from app.core.effects import Purpose, SourceKind
from app.core.facts import AuthorityFound, Found
from app.core.issue import IssueSnapshot, Person
from app.core.policy import POLICY_PATH, Policy
from app.core.run import Approval, ApprovalSource, Proposal, Request
from app.core.verdict import Refused
from worker.github.belonging import ownership, teams, teams_that_matter
from worker.github.errors import Gone, NotFound
from worker.github.marks import Marks, carries, label_words
from worker.github.moved import moved
from worker.github.reader import Reader
from worker.github.views import CommentReactions


@dataclass(frozen=True, slots=True)
class Question:
    """Whose authority is asked for, for what, and where their word stands."""

    request: Request
    purpose: Purpose
    person: Person
    source: SourceKind
    source_id: int
    source_digest: str = ""
    argument: str = ""
    proposal: Proposal | None = None
    bounds: Bounds = NO_BOUNDS
    """What the operator lets the repository's policy say."""


def question_again(request: Request, proposal: Proposal, approval: Approval, bounds: Bounds) -> Question:
    """The question that an approval once answered, to be asked again before a write."""
    by_reaction = approval.source is ApprovalSource.REACTION
    return Question(
        request=request,
        purpose=Purpose.APPROVE,
        person=approval.person,
        source=SourceKind.REACTION if by_reaction else SourceKind.COMMENT,
        source_id=approval.source_id,
        source_digest=approval.source_digest,
        proposal=proposal,
        bounds=bounds,
    )


def look_up(reader: Reader, question: Question, now: datetime) -> AuthorityFound:
    """The answer as a fact. Raises `GitHubError` where GitHub could not say, `NotFound`/`Gone` for a lost issue."""
    default = reader.repository().default_branch
    head = reader.head_of(default)
    policy = _policy(reader, head, question.bounds)
    permission = reader.permission_of(question.person.login)
    # A login that passed to another account carries nothing over (github-facts 85).
    is_theirs = permission.user_id == question.person.id
    issue = reader.issue(question.request.issue_number)
    plan = _plan_comments(reader, question.proposal)
    first = plan.get(question.proposal.comment_node_id) if question.proposal else None
    word = _word(reader, question, plan, issue.marks)
    by_boxes = question.source is SourceKind.BOXES
    known = policy if isinstance(policy, Policy) else Policy()
    belongs = ownership(reader, known, question.proposal, head)
    asked = teams_that_matter(known, belongs.parts) if is_theirs and not question.person.is_bot else ()
    member = teams(reader, asked, question.person.login)
    offered = question.proposal if question.purpose is Purpose.APPROVE else None
    since = moved(reader, offered, _head_of(reader, offered, head, default))
    return AuthorityFound(
        at=now,
        purpose=question.purpose,
        person=question.person,
        permission=permission.legacy if is_theirs else "none",
        role_name=permission.role_name if is_theirs else "none",
        policy=policy if isinstance(policy, Policy) else None,
        policy_problem=str(policy) if isinstance(policy, Refused) else "",
        source=question.source,
        source_id=question.source_id,
        source_found=word.found,
        source_digest=word.digest,
        said_at=word.said_at,
        shown_at=first.created_at if first else None,
        argument=_unticked(question.proposal, plan) or "" if by_boxes else question.argument,
        issue_digest=IssueSnapshot(number=issue.number, title=issue.title, body=issue.body).digest(),
        plan_version=question.proposal.version if question.proposal else None,
        plan_comment=_found(question.proposal, plan),
        teams=member.member_of,
        teams_unread=member.unread,
        owners=belongs.parts,
        owners_problem=belongs.problem,
        label_words=label_words(question.request, issue.marks),
        paths_moved=since.paths,
        moved_problem=since.problem,
    )


def _head_of(reader: Reader, proposal: Proposal | None, head: str, default: str) -> str | None:
    """The newest commit of the plan's branch, which mostly is the default one; None where the branch is gone."""
    if proposal is None or proposal.base_branch == default:
        return head
    return reader.find_branch(proposal.base_branch)


def _policy(reader: Reader, head: str, bounds: Bounds) -> Policy | Refused:
    """From the default branch only, within the operator's bounds; without the file, the safe defaults."""
    file = reader.file_at(POLICY_PATH, head)
    if file is None:
        return parse_policy("", bounds)
    try:
        return parse_policy(file.content.decode("utf-8"), bounds)
    except UnicodeDecodeError:
        return Refused(f"{POLICY_PATH} is not UTF-8 text.")


def _plan_comments(reader: Reader, proposal: Proposal | None) -> dict[str, CommentReactions]:
    """The plan's comment, and its further ones where it was too long for one, as they stand now."""
    if proposal is None or not proposal.comment_node_id:
        return {}
    return reader.reactions([proposal.comment_node_id, *(part.node_id for part in proposal.further_parts)])


def _found(proposal: Proposal | None, plan: dict[str, CommentReactions]) -> Found:
    """As written only when every comment of the plan is; else what is wrong with the first that is not."""
    if proposal is None or not proposal.comment_node_id:
        return Found.NOT_LOOKED_FOR
    for node_id, digest in _posted(proposal):
        comment = plan.get(node_id)
        if comment is None:
            return Found.DELETED
        if comment.minimized:
            return Found.HIDDEN
        if text_digest(comment.body) != digest:
            return Found.EDITED
    return Found.AS_WRITTEN


@dataclass(frozen=True, slots=True)
class _Word:
    """A person's word as it was found, the digest of its text, and when it was given."""

    found: Found
    digest: str = ""
    said_at: datetime | None = None


def _unticked(proposal: Proposal | None, plan: dict[str, CommentReactions]) -> str | None:
    """The steps whose boxes are empty, as `steps_of` reads them; None where anything but boxes differs."""
    if proposal is None or not proposal.comment_node_id:
        return None
    empty: list[int] = []
    for node_id, digest in _posted(proposal):
        comment = plan.get(node_id)
        boxes = read_boxes(comment.body) if comment is not None and not comment.minimized else None
        if boxes is None or text_digest(boxes.whole) != digest:
            return None
        empty += boxes.unticked
    return f"steps {','.join(map(str, sorted(empty)))}" if empty else ""


def _posted(proposal: Proposal) -> list[tuple[str, str]]:
    """The plan's comments and their digests, as they were posted."""
    parts = [(part.node_id, part.comment_digest) for part in proposal.further_parts]
    return [(proposal.comment_node_id, proposal.comment_digest), *parts]


def _word(reader: Reader, question: Question, plan: dict[str, CommentReactions], labels: Marks) -> _Word:
    first = question.proposal.comment_node_id if question.proposal else ""
    if question.source is SourceKind.LABEL:
        return _Word(Found.AS_WRITTEN if carries(question.request, labels) else Found.DELETED)
    if question.source is SourceKind.REACTION:
        return _thumb(question, plan.get(first) if first else None)
    if question.source is SourceKind.BOXES:
        # Whoever emptied them, it is the boxes as they stand now that count; only people with a role can change them.
        return _Word(Found.AS_WRITTEN if _unticked(question.proposal, plan) is not None else Found.EDITED)
    return _comment(reader, question)


def _thumb(question: Question, plan: CommentReactions | None) -> _Word:
    thumbs = plan.thumbs if plan else ()
    thumb = next((one for one in thumbs if one.reaction_id == question.source_id), None)
    if plan is None or thumb is None or thumb.user_id != question.person.id:
        return _Word(Found.DELETED)
    # A comment that was edited after the thumb was not what its giver saw (github-facts 46).
    edited_later = plan.edited_at is not None and plan.edited_at > thumb.created_at
    return _Word(Found.EDITED if edited_later else Found.AS_WRITTEN, said_at=thumb.created_at)


def _comment(reader: Reader, question: Question) -> _Word:
    try:
        comment = reader.comment(question.source_id)
    except (NotFound, Gone):
        return _Word(Found.DELETED)
    digest = text_digest(comment.body)
    same_author = comment.author is not None and comment.author.id == question.person.id
    same_issue = comment.issue_number == question.request.issue_number
    if not same_author or not same_issue:
        return _Word(Found.DELETED, digest)
    as_written = not question.source_digest or digest == question.source_digest
    return _Word(Found.AS_WRITTEN if as_written else Found.EDITED, digest, comment.created_at)
