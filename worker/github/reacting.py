"""Comments as they stand now, with every 👍 on them: of one repository or of several, a hundred to a query."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec import field as named

from worker.github.connection import Connection
from worker.github.errors import Call, Forbidden, GitHubError, NotFound, NotUnderstood
from worker.github.place import Place
from worker.github.views import Account, CommentReactions, RepositoryRef, Thumb, decode

MOST_COMMENTS_PER_QUERY = 100
"""Comments whose reactions one GraphQL query asks for (github-facts 39)."""

_THUMBS = """
  reactions(first: 100, after: $after, content: THUMBS_UP) {
    pageInfo { hasNextPage endCursor }
    nodes { databaseId createdAt user { databaseId login } }
  }"""
_COMMENT = f"... on IssueComment {{ id fullDatabaseId body createdAt lastEditedAt isMinimized {_THUMBS} }}"
_BATCH = f"query($ids: [ID!]!, $after: String) {{ nodes(ids: $ids) {{ {_COMMENT} }} }}"


class _Reactor(Struct):
    login: str
    id: int | None = named(name="databaseId", default=None)


class _Reaction(Struct):
    created_at: datetime = named(name="createdAt")
    id: int | None = named(name="databaseId", default=None)
    user: _Reactor | None = None


class _PageInfo(Struct):
    more: bool = named(name="hasNextPage")
    cursor: str | None = named(name="endCursor", default=None)


class _Reactions(Struct):
    page: _PageInfo = named(name="pageInfo")
    nodes: list[_Reaction | None]


class _ReactedComment(Struct):
    id: str
    body: str
    created_at: datetime = named(name="createdAt")
    reactions: _Reactions
    comment_id: str | int | None = named(name="fullDatabaseId", default=None)
    edited_at: datetime | None = named(name="lastEditedAt", default=None)
    minimized: bool = named(name="isMinimized", default=False)


class _RestReaction(Struct):
    id: int
    created_at: datetime
    user: Account | None = None


class _IdTooLarge(Exception):
    """GraphQL leaves out ids above 32 bits; REST has them (case LG-01)."""


@dataclass(frozen=True, slots=True)
class Reacted:
    """Comments by their node ids. One that is deleted or not visible is in neither."""

    found: dict[str, CommentReactions] = field(default_factory=dict)
    unread: dict[str, GitHubError] = field(default_factory=dict)
    """Those of which GitHub did not let us read, and its reason."""


def reacted(connection: Connection, comments: Mapping[str, RepositoryRef]) -> Reacted:
    """Each comment (its node id, and where it stands) as it is now with every 👍 on it.

    One query for each hundred of them, and one more for each further hundred thumbs on one. A 👍 of a deleted account
    is left out. Raises where GitHub says nothing about any of them.
    """
    answer, node_ids = Reacted(), list(comments)
    for start in range(0, len(node_ids), MOST_COMMENTS_PER_QUERY):
        batch = node_ids[start : start + MOST_COMMENTS_PER_QUERY]
        for comment in _asked(connection, batch, None, answer.unread):
            try:
                thumbs = _thumbs_of(connection, comment, comments[comment.id])
            except (Forbidden, NotFound) as error:
                answer.unread[comment.id] = error
                continue
            answer.found[comment.id] = CommentReactions(
                comment.body, comment.created_at, comment.edited_at, comment.minimized, thumbs
            )
    return answer


def thumbs_on(place: Place, comment_id: int) -> tuple[Thumb, ...]:
    """Every 👍 of a person on one comment now, over REST, which tells those of bots as well (GraphQL has none of them).
    Raises `NotFound` when the comment was deleted."""
    path = f"/issues/comments/{comment_id}/reactions"
    reactions = place.every(_RestReaction, path, {"content": "+1"})
    return tuple(
        Thumb(reaction.id, reaction.user.id, reaction.user.login, reaction.created_at)
        for reaction in reactions
        if reaction.user is not None and reaction.user.kind != "Bot"
    )


def _thumbs_of(connection: Connection, comment: _ReactedComment, where: RepositoryRef) -> tuple[Thumb, ...]:
    try:
        return tuple(_thumbs(connection, comment))
    except _IdTooLarge:
        return thumbs_on(Place(connection, where), int(comment.comment_id or 0))


def _thumbs(connection: Connection, comment: _ReactedComment) -> Iterator[Thumb]:
    reactions = comment.reactions
    while True:
        for reaction in filter(None, reactions.nodes):
            if reaction.user is None:
                continue
            if reaction.id is None or reaction.user.id is None:
                raise _IdTooLarge
            yield Thumb(reaction.id, reaction.user.id, reaction.user.login, reaction.created_at)
        if not reactions.page.more:
            return
        refused: dict[str, GitHubError] = {}
        following = _asked(connection, [comment.id], reactions.page.cursor, refused)
        if refused:
            raise refused[comment.id]
        if not following:
            return
        reactions = following[0].reactions


def _asked(
    connection: Connection, node_ids: list[str], after: str | None, unread: dict[str, GitHubError]
) -> list[_ReactedComment]:
    variables: dict[str, Any] = {"ids": node_ids, "after": after}
    nodes, refused = connection.nodes(_BATCH, variables)
    unread.update({node_ids[position]: error for position, error in refused.items() if position < len(node_ids)})
    # A node that is no comment any more is null, or an object without the fields we asked for.
    found = [decode(_ReactedComment, node, Call("QUERY", "/graphql")) for node in nodes if node]
    if any(one.id not in node_ids for one in found):
        raise NotUnderstood("GitHub's answer holds a comment that was not asked for.", Call("QUERY", "/graphql"))
    return found
