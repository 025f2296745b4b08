"""The twin's objects as GraphQL sees them; methods are fields, and graphql-core calls them."""

from collections.abc import Sequence
from typing import Any

from graphql import GraphQLResolveInfo

from infra.twin.shapes_issues import CONTENTS, issue_page
from infra.twin.state import Comment, Person, Reaction, Repo, World, node_id, stamp
from infra.twin.talk import Place

NAMES = {
    "+1": "THUMBS_UP", "-1": "THUMBS_DOWN", "laugh": "LAUGH", "hooray": "HOORAY", "confused": "CONFUSED",
    "heart": "HEART", "rocket": "ROCKET", "eyes": "EYES",
}
Details = GraphQLResolveInfo[Any]
DEFAULT_PAGE = 100
LARGEST_INT = 2**31 - 1


def database_id(number: int) -> int | None:
    """`databaseId` is a 32-bit Int in GraphQL: None for larger ids, as `fullDatabaseId` exists for them."""
    return number if number <= LARGEST_INT else None


class Viewer:
    """An account."""

    def __init__(self, world: World, person: Person) -> None:
        self.kind = person.kind
        self.id = node_id("U", person.id)
        self.login = person.login.removesuffix("[bot]") if person.kind == "Bot" else person.login
        self.url = f"{world.url}/{person.login}"
        self.databaseId = database_id(person.id)


def account(world: World, person: Person | None) -> Viewer | None:
    """An account, or None when it is deleted."""
    return None if person is None else Viewer(world, person)


def window(items: Sequence[Any], first: int | None, after: str | None) -> dict[str, Any]:
    """One page of a connection; the cursor is the position."""
    start = int(after) if after and after.isdigit() else 0
    end = start + (DEFAULT_PAGE if first is None else first)
    return {
        "nodes": list(items[start:end]), "totalCount": len(items),
        "pageInfo": {"hasNextPage": end < len(items), "endCursor": str(min(end, len(items)))},
    }


def reaction(world: World, one: Reaction) -> dict[str, Any]:
    """A reaction; `user` is None for bots, as the field holds users only."""
    return {
        "kind": "Reaction", "id": node_id("REA", one.id), "databaseId": database_id(one.id),
        "content": NAMES[one.content], "createdAt": stamp(one.created),
        "user": account(world, one.person) if one.person.kind == "User" else None,
    }


class _Reacted:
    """What issues and comments share: their reactions."""

    def __init__(self, world: World, reactions: list[Reaction]) -> None:
        self._world = world
        self._reactions = reactions

    def reactions(
        self, _: Details, first: int | None = None, after: str | None = None, content: str | None = None
    ) -> dict[str, Any]:
        """The reactions, optionally of one content."""
        chosen = [reaction(self._world, one) for one in self._reactions if content in {None, NAMES[one.content]}]
        return window(chosen, first, after)


class ReactionGroup:
    """All reactions of one content."""

    def __init__(self, world: World, content: str, reactions: list[Reaction]) -> None:
        self._world = world
        self._reactions = reactions
        self.content = NAMES[content]
        self.createdAt = stamp(reactions[0].created) if reactions else None
        self.viewerHasReacted = bool(world.app) and any(one.person is world.app.bot for one in reactions if world.app)

    def reactors(self, _: Details, first: int | None = None, after: str | None = None) -> dict[str, Any]:
        """Who reacted, bots too."""
        return window([account(self._world, one.person) for one in self._reactions], first, after)


class CommentNode(_Reacted):
    """A comment."""

    kind = "IssueComment"

    def __init__(self, world: World, place: Place, one: Comment) -> None:
        super().__init__(world, one.reactions)
        self._place = place
        self.one = one
        self.id = node_id("IC", one.id)
        self.databaseId = database_id(one.id)
        self.fullDatabaseId = str(one.id)
        self.body = one.body
        self.createdAt, self.updatedAt = stamp(one.created), stamp(one.updated)
        self.lastEditedAt = stamp(one.edited)
        self.editor, self.author = account(world, one.editor), account(world, one.author)
        self.url = f"{issue_page(world, place.repo, place.issue)}#issuecomment-{one.id}"

    def isMinimized(self, _: Details) -> bool:
        """True when hidden."""
        return self.one.minimized is not None

    def minimizedReason(self, _: Details) -> str | None:
        """Why it is hidden."""
        return self.one.minimized

    def reactionGroups(self, _: Details) -> list[ReactionGroup]:
        """One group per content, also the empty ones."""
        return [
            ReactionGroup(self._world, content, [one for one in self.one.reactions if one.content == content])
            for content in CONTENTS
        ]

    def issue(self, _: Details) -> Any:
        """The conversation as an issue."""
        return issue_node(self._world, self._place)

    def pullRequest(self, _: Details) -> Any:
        """The conversation as a pull request, or None."""
        return pull_node(self._world, self._place) if self._place.issue.pull else None


class IssueNode(_Reacted):
    """An issue."""

    kind = "Issue"
    isDraft = False

    def __init__(self, world: World, place: Place) -> None:
        one = place.issue
        super().__init__(world, one.reactions)
        self._place = place
        self.id, self.databaseId = node_id("I", one.id), database_id(one.id)
        self.number, self.title, self.body = one.number, one.title, one.body or ""
        self.state = one.state.upper()
        self.url = issue_page(world, place.repo, one)
        self.locked = one.locked
        self.createdAt, self.updatedAt, self.lastEditedAt = stamp(one.created), stamp(one.updated), stamp(one.edited)
        self.editor, self.author = account(world, one.editor), account(world, one.author)

    def comments(self, _: Details, first: int | None = None, after: str | None = None) -> dict[str, Any]:
        """The comments, oldest first."""
        return window([CommentNode(self._world, self._place, one) for one in self._place.issue.comments], first, after)


def issue_node(world: World, place: Place) -> IssueNode:
    """An issue."""
    return IssueNode(world, place)


def pull_node(world: World, place: Place) -> IssueNode:
    """A pull request."""
    pull = place.issue.pull
    assert pull is not None
    node = IssueNode(world, place)
    node.kind = "PullRequest"
    node.id, node.databaseId = node_id("PR", pull.id), database_id(pull.id)
    node.state = "MERGED" if pull.merged else place.issue.state.upper()
    node.isDraft = pull.draft
    return node


class RepoNode:
    """A repository."""

    kind = "Repository"

    def __init__(self, world: World, repo: Repo) -> None:
        self._world, self._repo = world, repo
        self.id, self.databaseId = node_id("R", repo.id), database_id(repo.id)
        self.nameWithOwner, self.isPrivate, self.isArchived = repo.full_name, repo.private, repo.archived

    def issue(self, _: Details, number: int) -> Any:
        """The issue of that number."""
        for one in self._repo.issues:
            if one.number == number and not one.pull and not one.deleted:
                return issue_node(self._world, Place(self._repo, one))
        return None

    def pullRequest(self, _: Details, number: int) -> Any:
        """The pull request of that number."""
        for one in self._repo.issues:
            if one.number == number and one.pull and not one.deleted:
                return pull_node(self._world, Place(self._repo, one))
        return None


def repo_node(world: World, repo: Repo) -> RepoNode:
    """A repository."""
    return RepoNode(world, repo)


def actor_type(value: Any, _: Details, __: Any) -> str:
    """The concrete type of a node."""
    return str(value["kind"] if isinstance(value, dict) else value.kind)
