"""What the planner reads of GitHub before it plans: the issue as it stands, its conversation, and the base commit."""

from dataclasses import dataclass

from app.core.issue import GHOST, IssueSnapshot
from app.core.run import Request
from worker.evidence.untrusted import clean
from worker.github.errors import Conflict, NotFound
from worker.github.reader import Reader
from worker.github.views import CommentView

COMMENT_CHARACTERS = 8_000
CONVERSATION_CHARACTERS = 60_000


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
    conversation: tuple[str, ...]
    hidden: tuple[str, ...]
    issue_digest: str
    base_branch: str
    base_commit: str


def read(reader: Reader, request: Request) -> ReadUp | NotReady:
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
    conversation, hidden = _conversation(reader.comments(request.issue_number))
    return ReadUp(
        title=title.text,
        body=body.text,
        author=issue.author.login if issue.author else GHOST,
        conversation=conversation,
        hidden=(*_said("title", title.hidden), *_said("description", body.hidden), *hidden),
        issue_digest=digest,
        base_branch=repository.default_branch,
        base_commit=base_commit,
    )


def _conversation(comments: tuple[CommentView, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """People's comments, oldest first; of a long conversation the newest are kept whole (case PL-03)."""
    told: list[str] = []
    hidden: list[str] = []
    room = CONVERSATION_CHARACTERS
    people = [one for one in comments if one.author is None or one.author.kind != "Bot"]
    for comment in reversed(people):
        cleaned = clean(comment.body)
        author = comment.author.login if comment.author else GHOST
        hidden += _said(f"comment by {author}", cleaned.hidden)
        text = cleaned.text[:COMMENT_CHARACTERS]
        cut = "" if len(cleaned.text) <= COMMENT_CHARACTERS else "\n[… cut]"
        entry = f"{author}, {comment.created_at:%Y-%m-%d %H:%M} UTC:\n{text}{cut}"
        room -= len(entry)
        if room < 0:
            told.append(f"[{len(people) - len(told)} older comments are left out for length]")
            break
        told.append(entry)
    return tuple(reversed(told)), tuple(reversed(hidden))


def _said(where: str, hidden: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"Hidden in the {where}, and removed before planning: {one}" for one in hidden)
