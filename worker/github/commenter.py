"""Speaks on issues of one repository: comments, reactions, hiding what is outdated.

What was said before is found before it is said again (case QU-04), and no call that creates content is repeated by
itself: after an error with `maybe_done`, call the same method again and it looks first.
"""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from app.core.redact import redact
from worker.github.connection import Connection
from worker.github.errors import Call, NotUnderstood
from worker.github.place import Place
from worker.github.reader import every_comment
from worker.github.views import CommentView, RepositoryRef

_MINIMISE = """mutation($id: ID!, $why: ReportedContentClassifiers!) {
  minimizeComment(input: {subjectId: $id, classifier: $why}) { minimizedComment { isMinimized } }
}"""


class How(StrEnum):
    """How something came to be there: made by this call, found from an earlier one, or found and brought up to date."""

    MADE = "made"
    FOUND = "found"
    UPDATED = "updated"


class Why(StrEnum):
    """Why a comment is hidden."""

    OUTDATED = "OUTDATED"
    RESOLVED = "RESOLVED"


class Smile(StrEnum):
    """A reaction, as REST names it."""

    SEEN = "eyes"
    THUMBS_UP = "+1"
    THUMBS_DOWN = "-1"
    ROCKET = "rocket"
    CONFUSED = "confused"


class Said(Struct, frozen=True):
    """A comment of ours that is there now."""

    comment: CommentView
    how: How


class _Reaction(Struct):
    id: int


class Commenter:
    """Speaks on issues and pull requests of one repository as the bot user `bot_user_id`."""

    def __init__(self, connection: Connection, repository: RepositoryRef, bot_user_id: int) -> None:
        self._connection = connection
        self._place = Place(connection, repository)
        self._bot_user_id = bot_user_id

    def create_comment(self, number: int, body: str) -> CommentView:
        """A new comment; asked once, 201 required. Prefer `say`, which looks first."""
        return self._place.create(CommentView, f"/issues/{number}/comments", {"body": redact(body)})

    def update_comment(self, comment_id: int, body: str) -> CommentView:
        """The comment holds `body`. Raises `NotFound` when somebody deleted it."""
        return self._place.change(CommentView, f"/issues/comments/{comment_id}", {"body": redact(body)})

    def find_comment(self, number: int, marker: str, since: datetime | None = None) -> CommentView | None:
        """Our own oldest comment that holds `marker`, from all pages; a copy of the marker by anybody else does not
        count. `since` spares the pages before a time at which it cannot have been there."""
        for comment in every_comment(self._place, number, since):
            if comment.author is not None and comment.author.id == self._bot_user_id and marker in comment.body:
                return comment
        return None

    def say(self, number: int, marker: str, body: str, since: datetime | None = None) -> Said:
        """There is one comment of ours with `marker` and it holds `body`; calling again changes nothing."""
        if marker not in body:
            raise ValueError("the body must hold its marker, or it could not be found again")
        found = self.find_comment(number, marker, since)
        if found is None:
            return Said(self.create_comment(number, body), How.MADE)
        if same_text(found.body, redact(body)):
            return Said(found, How.FOUND)
        return Said(self.update_comment(found.id, body), How.UPDATED)

    def minimise(self, node_id: str, why: Why = Why.OUTDATED) -> None:
        """The comment is folded away; one that is hidden already stays so."""
        answer = self._connection.graphql(_MINIMISE, {"id": node_id, "why": why.value})
        done = answer.get("minimizeComment") or {}
        if not (done.get("minimizedComment") or {}).get("isMinimized"):
            raise NotUnderstood("GitHub did not say that the comment is hidden now.", Call("POST", "/graphql"))

    def react(self, comment_id: int, smile: Smile) -> None:
        """Our reaction is on the comment; 200 means that it was there already (github-facts 43)."""
        path = f"/issues/comments/{comment_id}/reactions"
        self._place.create(_Reaction, path, {"content": smile.value}, expected=(200, 201))

    def react_to_issue(self, number: int, smile: Smile) -> None:
        """Our reaction is on the issue itself."""
        self._place.create(_Reaction, f"/issues/{number}/reactions", {"content": smile.value}, expected=(200, 201))


def same_text(one: str, other: str) -> bool:
    """Alike but for line endings and space at the ends, which are not always kept."""
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()
