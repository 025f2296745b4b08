"""`POST /graphql`: nodes, comments with reactions and edits, hiding comments; errors as GitHub's, under status 200.

A missing permission is an entry of type FORBIDDEN in `errors` and what cannot be seen is NOT_FOUND; only a bad
credential answers 401.
"""

import functools
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLSchema,
    GraphQLUnionType,
    build_schema,
    execute_sync,
    parse,
    validate,
)
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from infra.twin.access import FORBIDDEN, identify
from infra.twin.apps import reach
from infra.twin.forge import Forge
from infra.twin.graphql_nodes import CommentNode, Viewer, actor_type, issue_node, pull_node, repo_node
from infra.twin.graphql_schema import SDL
from infra.twin.permissions import TALK_READ, TALK_WRITE, Need, Subject, allowed
from infra.twin.state import Actor, Repo, Token, number_of_node
from infra.twin.talk import Place, tell
from infra.twin.wire import Refused, Reply

MOST_NODES = 100
Details = GraphQLResolveInfo[Any]


class _Session:
    """One request: the forge, the token, and look-ups that respect what the token may see."""

    def __init__(self, forge: Forge, token: Token) -> None:
        self.forge = forge
        self.token = token
        self.visible = reach(forge.world, token)

    def require(self, place: Place, needs: tuple[Need, ...]) -> None:
        """FORBIDDEN unless the token holds one of `needs` in the place's repository."""
        subject: Subject = "pulls-only" if place.issue.pull else "always"
        if place.repo.id not in self.visible or not allowed(self.token.permissions, needs, subject):
            raise GraphQLError(FORBIDDEN, extensions={"type": "FORBIDDEN"})

    def repos(self) -> list[Repo]:
        """The repositories that may be seen: the token's own and public ones."""
        return [repo for repo in self.forge.world.repos.values() if repo.id in self.visible or not repo.private]

    def comment(self, node: str) -> tuple[Place, CommentNode] | None:
        """The comment of that node id."""
        found = number_of_node(node)
        if not found or found[0] != "IC":
            return None
        for repo in self.repos():
            hit = self.forge.world.find_comment(repo, found[1])
            if hit:
                place = Place(repo, hit[0])
                return place, CommentNode(self.forge.world, place, hit[1])
        return None

    def place(self, node: str) -> Place | None:
        """The issue (`I_`) or pull request (`PR_`) of that node id."""
        found = number_of_node(node)
        for repo in self.repos() if found else []:
            for issue in repo.issues:
                number = issue.pull.id if issue.pull else issue.id
                if found == ("PR" if issue.pull else "I", number) and not issue.deleted:
                    return Place(repo, issue)
        return None


def _session(details: Details) -> _Session:
    session = details.context
    assert isinstance(session, _Session)
    return session


def _missing(node: str) -> GraphQLError:
    return GraphQLError(
        f"Could not resolve to a node with the global id of '{node}'", extensions={"type": "NOT_FOUND"}
    )


def _node(details: Details, node: str) -> Any:
    session = _session(details)
    hit = session.comment(node)
    if hit:
        if hit[0].repo.id in session.visible:
            session.require(hit[0], TALK_READ)
        return hit[1]
    place = session.place(node)
    if place is None:
        raise _missing(node)
    if place.repo.id in session.visible:
        session.require(place, TALK_READ)
    world = session.forge.world
    return pull_node(world, place) if place.issue.pull else issue_node(world, place)


def _resolve_node(_: Any, details: Details, id: str) -> Any:
    return _node(details, id)


def _resolve_nodes(_: Any, details: Details, ids: Sequence[str]) -> list[Any]:
    if len(ids) > MOST_NODES:
        raise GraphQLError(f"You may not provide more than {MOST_NODES} node ids; you provided {len(ids)}.")
    found: list[Any] = []
    for node in ids:
        try:
            found.append(_node(details, node))
        except GraphQLError as problem:
            found.append(problem)
    return found


def _resolve_repository(_: Any, details: Details, owner: str, name: str) -> Any:
    session = _session(details)
    for repo in session.repos():
        if repo.full_name.lower() == f"{owner}/{name}".lower():
            return repo_node(session.forge.world, repo)
    raise GraphQLError(
        f"Could not resolve to a Repository with the name '{owner}/{name}'.", extensions={"type": "NOT_FOUND"}
    )


def _resolve_rate(_: Any, details: Details) -> dict[str, Any]:
    forge = _session(details).forge
    now = forge.world.now() + timedelta(hours=1)
    return {"cost": 1, "limit": 5000, "remaining": 4999, "used": 1, "resetAt": now.strftime("%Y-%m-%dT%H:%M:%SZ")}


def _resolve_viewer(_: Any, details: Details) -> Any:
    world = _session(details).forge.world
    assert world.app is not None
    return Viewer(world, world.app.bot)


def _comment_to_change(details: Details, node: str) -> CommentNode:
    hit = _session(details).comment(node)
    if hit is None:
        raise _missing(node)
    _session(details).require(hit[0], TALK_WRITE)
    return hit[1]


def _minimize(_: Any, details: Details, input: dict[str, Any]) -> dict[str, Any]:
    shown = _comment_to_change(details, input["subjectId"])
    shown.one.minimized = str(input["classifier"]).lower().replace("_", "-")
    return {"clientMutationId": input.get("clientMutationId"), "minimizedComment": shown}


def _unminimize(_: Any, details: Details, input: dict[str, Any]) -> dict[str, Any]:
    shown = _comment_to_change(details, input["subjectId"])
    shown.one.minimized = None
    return {"clientMutationId": input.get("clientMutationId"), "unminimizedComment": shown}


def _to_draft(_: Any, details: Details, input: dict[str, Any]) -> dict[str, Any]:
    session = _session(details)
    place = session.place(input["pullRequestId"])
    if place is None or place.issue.pull is None:
        raise _missing(input["pullRequestId"])
    session.require(place, (Need("pull_requests", "write"),))
    world = session.forge.world
    assert world.app is not None
    place.issue.pull.draft = True
    tell(session.forge, place, "converted_to_draft", Actor(world.app.bot, via_app=True))
    return {"clientMutationId": input.get("clientMutationId"), "pullRequest": pull_node(world, place)}


ROOTS: dict[str, dict[str, Any]] = {
    "Query": {
        "node": _resolve_node, "nodes": _resolve_nodes, "repository": _resolve_repository,
        "rateLimit": _resolve_rate, "viewer": _resolve_viewer,
    },
    "Mutation": {
        "minimizeComment": _minimize, "unminimizeComment": _unminimize, "convertPullRequestToDraft": _to_draft,
    },
}


def _wired() -> GraphQLSchema:
    """The schema with our resolvers on its roots and abstract types."""
    schema = build_schema(SDL)
    for kind, fields in ROOTS.items():
        root = schema.type_map[kind]
        assert isinstance(root, GraphQLObjectType)
        for name, resolver in fields.items():
            root.fields[name].resolve = resolver
    for abstract in ("Node", "Actor", "Comment", "Minimizable", "Reactor"):
        shape = schema.type_map[abstract]
        assert isinstance(shape, GraphQLInterfaceType | GraphQLUnionType)
        shape.resolve_type = actor_type
    return schema


SCHEMA = _wired()


def routes(forge: Forge) -> list[Route]:
    """`POST /graphql`."""

    async def serve(request: Request) -> Response:
        reply = await run_in_threadpool(_serve, forge, await request.body(), dict(request.headers))
        return Response(reply.content(), reply.status, reply.headers, media_type=reply.kind)

    return [Route("/graphql", serve, methods=["POST"])]


def _serve(forge: Forge, body: bytes, headers: dict[str, str]) -> Reply:
    with forge.world.lock:
        try:
            caller = identify(forge, headers, "installation")
            if caller.token is None or caller.installation is None:
                raise Refused(401, "This endpoint requires you to be authenticated.")
            forge.rates.count(f"installation ID {caller.installation.id}")
            asked = json.loads(body)
            query = asked["query"]
        except Refused as refusal:
            return refusal.reply()
        except (ValueError, KeyError, TypeError):
            return Refused(400, "Problems parsing JSON").reply()
        result = _result(forge, caller.token, query, asked)
    answer: dict[str, Any] = {} if result.data is None and result.errors else {"data": result.data}
    if result.errors:
        answer["errors"] = [_error(problem) for problem in result.errors]
    return Reply(value=answer)


def _result(forge: Forge, token: Token, query: Any, asked: dict[str, Any]) -> ExecutionResult:
    document = _understood(query) if isinstance(query, str) else (GraphQLError("A query is text."),)
    if isinstance(document, tuple):
        return ExecutionResult(None, list(document))
    session, operation = _Session(forge, token), asked.get("operationName")
    variables = asked.get("variables")
    return execute_sync(SCHEMA, document, context_value=session, variable_values=variables, operation_name=operation)


@functools.lru_cache(maxsize=256)
def _understood(query: str) -> DocumentNode | tuple[GraphQLError, ...]:
    """The query as a document that fits the schema, or why it is none; the same few are asked again and again."""
    try:
        document = parse(query)
    except GraphQLError as error:
        return (error,)
    return tuple(validate(SCHEMA, document)) or document


def _error(problem: GraphQLError) -> dict[str, Any]:
    """An error as GitHub writes it: `type` beside the message, not inside `extensions`."""
    shown: dict[str, Any] = {"message": problem.message}
    if problem.extensions and problem.extensions.get("type"):
        shown = {"type": problem.extensions["type"], "path": problem.path, **shown}
    if problem.locations:
        shown["locations"] = [{"line": one.line, "column": one.column} for one in problem.locations]
    return shown
