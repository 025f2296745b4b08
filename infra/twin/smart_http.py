"""git over HTTP: `git http-backend` behind the twin's own rules for reading and pushing."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from infra.twin import refs
from infra.twin.access import credential
from infra.twin.apps import find_token, reach
from infra.twin.forge import Forge
from infra.twin.permissions import CONTENTS_READ, CONTENTS_WRITE, Need, allowed, suffices
from infra.twin.state import Actor, Repo, Token
from infra.twin.wire import Refused

LONGEST_SECONDS = 120
UPLOAD, RECEIVE = "git-upload-pack", "git-receive-pack"
PLAIN = "text/plain; charset=utf-8"


def routes(forge: Forge) -> list[Route]:
    """`/{owner}/{repo}.git/info/refs` and the two services; the `.git` may be left out."""

    async def serve(request: Request) -> Response:
        return await run_in_threadpool(_serve, forge, request, await request.body())

    paths = ("info/refs", UPLOAD, RECEIVE)
    return [
        Route(f"/{{owner}}/{{repo}}/{path}", serve, methods=["GET"] if path == "info/refs" else ["POST"])
        for path in paths
    ]


def _serve(forge: Forge, request: Request, body: bytes) -> Response:
    tail = request.url.path.split("/", 3)[3]
    wanted = request.query_params.get("service", "") if tail == "info/refs" else tail
    if wanted not in {UPLOAD, RECEIVE}:
        return Response("only the smart protocol is spoken here\n", 403, media_type=PLAIN)
    headers = {name.lower(): value for name, value in request.headers.items()}
    with forge.world.lock:
        try:
            repo, token = _admitted(forge, request, wanted, headers)
        except Refused as refusal:
            more = refusal.headers | ({"WWW-Authenticate": 'Basic realm="GitHub"'} if refusal.status == 401 else {})
            return Response(refusal.message + "\n", refusal.status, more, media_type=PLAIN)
        before = refs.snapshot(forge, repo)
    asked = _Asked(request.method, tail, request.url.query, headers, body)
    answer = _backend(forge, repo, token, asked)
    if tail == RECEIVE and forge.world.app is not None:
        with forge.world.lock:
            refs.announce(forge, repo, before, Actor(forge.world.app.bot, via_app=True))
    return answer


def _admitted(forge: Forge, request: Request, wanted: str, headers: Mapping[str, str]) -> tuple[Repo, Token | None]:
    """The repository and the token that opens it; what may not be seen does not exist."""
    repo = forge.world.repo_named(request.path_params["owner"], request.path_params["repo"].removesuffix(".git"))
    value = credential(headers)
    token = find_token(forge.world, value)[0] if value else None
    if repo is None and (moved := _moved(forge, request, token)) is not None:
        raise moved
    if repo is None or (repo.private and token is None):
        raise Refused(404, "Repository not found.") if token else Refused(401, "Authentication required.")
    if repo.blocked:
        raise Refused(403, "Access to this repository has been disabled by GitHub staff.")
    inside = token is not None and repo.id in reach(forge.world, token)
    if wanted == UPLOAD:
        if repo.private and not inside:
            raise Refused(404, "Repository not found.")
        if token and inside and not allowed(token.permissions, CONTENTS_READ, "always"):
            raise Refused(403, "Write access to repository not granted.")
        return repo, token
    if token is None:
        raise Refused(401, "Authentication required.")
    if not inside or not allowed(token.permissions, CONTENTS_WRITE, "always"):
        raise Refused(403, "Write access to repository not granted.")
    if repo.archived:
        raise Refused(403, "This repository was archived so it is read-only.")
    return repo, token


def _moved(forge: Forge, request: Request, token: Token | None) -> Refused | None:
    """A renamed or transferred repository is found under its new name, by git too."""
    owner, name = request.path_params["owner"], request.path_params["repo"].removesuffix(".git")
    repo = forge.world.repo_formerly(owner, name)
    if repo is None or (repo.private and (token is None or repo.id not in reach(forge.world, token))):
        return None
    refusal = Refused(301, "Moved Permanently")
    tail, query = request.url.path.split("/", 3)[3], request.url.query
    refusal.headers["Location"] = f"{forge.world.url}/{repo.full_name}.git/{tail}{'?' if query else ''}{query}"
    return refusal


@dataclass(frozen=True)
class _Asked:
    """What goes to `git http-backend`."""

    method: str
    tail: str
    query: str
    headers: Mapping[str, str]
    body: bytes


def _backend(forge: Forge, repo: Repo, token: Token | None, asked: _Asked) -> Response:
    headers, body = asked.headers, asked.body
    may_workflows = token is not None and suffices(token.permissions, Need("workflows", "write"))
    environment: dict[str, Any] = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_PROJECT_ROOT": str(forge.git.folder), "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": asked.method,
        "PATH_INFO": f"/{forge.git.path(repo.id).name}/{asked.tail}", "QUERY_STRING": asked.query,
        "REMOTE_USER": "x-access-token",
        "REMOTE_ADDR": "127.0.0.1", "CONTENT_TYPE": headers.get("content-type", ""), "CONTENT_LENGTH": str(len(body)),
        "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""), "GIT_PROTOCOL": headers.get("git-protocol", ""),
        "TWIN_WORKFLOWS": "granted" if may_workflows else "refused",
    }
    done = subprocess.run(
        ["git", "http-backend"], input=body, capture_output=True, env=environment, check=False, timeout=LONGEST_SECONDS
    )
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    status, fields = 200, {}
    for one in head.decode("latin-1").splitlines():
        name, _, value = one.partition(": ")
        if name.lower() == "status":
            status = int(value.split()[0])
        else:
            fields[name] = value
    if not head:
        return Response(done.stderr, 500, media_type=PLAIN)
    return Response(content, status, fields)
