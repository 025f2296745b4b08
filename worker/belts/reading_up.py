"""What the planner reads of GitHub before it plans: the issue as it stands, its conversation, and the base commit."""

from dataclasses import dataclass

from app.core.issue import GHOST, IssueSnapshot
from app.core.policy import Policy
from app.core.run import Request
from worker.belts.conversation import Conversation, read_conversation
from worker.evidence.untrusted import clean
from worker.github.errors import Conflict, NotFound
from worker.github.reader import Reader


@dataclass(frozen=True, slots=True)
class NotReady:
    """Why no plan can be made from what GitHub says now."""

    reason: str
    remedy: str = ""
    stale: bool = False


@dataclass(frozen=True, slots=True)
class ReadUp:
    """What was read. Texts are cleaned; `hidden` says what a reader of the page could not have seen (case PI-01)."""

    title: str
    body: str
    author: str
    conversation: Conversation
    hidden: tuple[str, ...]
    issue_digest: str
    base_branch: str
    base_commit: str


def read(reader: Reader, request: Request, policy: Policy) -> ReadUp | NotReady:
    """The issue must read as it did when it was labelled or last decided on (case PL-01)."""
    repository = reader.repository()
    if repository.archived or repository.disabled:
        return NotReady("The repository is archived or disabled, so nothing could be written.")
    issue = reader.issue(request.issue_number)
    if issue.state != "open":
        return NotReady("The issue is closed.", "Reopen it and set the label for a new run.")
    digest = IssueSnapshot(number=issue.number, title=issue.title, body=issue.body).digest()
    if digest != request.issue_digest:
        return NotReady(
            "The issue was edited after it was labelled.", "Read it again, then set the label again.", stale=True
        )
    try:
        base_commit = reader.head_of(repository.default_branch)
    except (NotFound, Conflict):
        return NotReady("The repository has no commit on its default branch, so there is nothing to plan on.")
    title, body = clean(issue.title), clean(issue.body)
    conversation = read_conversation(reader, reader.comments(request.issue_number), policy)
    return ReadUp(
        title=title.text,
        body=body.text,
        author=issue.author.login if issue.author else GHOST,
        conversation=conversation,
        hidden=(*_said("title", title.hidden), *_said("description", body.hidden), *conversation.hidden),
        issue_digest=digest,
        base_branch=repository.default_branch,
        base_commit=base_commit,
    )


def _said(where: str, hidden: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"Hidden in the {where}, and removed before planning: {one}" for one in hidden)
