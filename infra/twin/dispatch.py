"""From a request to a reply: identify, admit, handle, then ETag, paging and the headers of every answer."""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from infra.twin.access import admit, credential, identify, repo_of
from infra.twin.apps import token_digest
from infra.twin.forge import Forge
from infra.twin.git_store import GitFailed
from infra.twin.permissions import OPERATIONS, Operation, accepted_header
from infra.twin.state import Repo
from infra.twin.wire import Call, Caller, Refused, Reply

Handler = Callable[[Forge, Call, Repo], Reply]
"""Handlers of operations without a repository in their path get a placeholder they must not use."""

VERSIONS = ("2022-11-28", "2026-03-10")
VARY = "Accept, Authorization, Cookie, X-GitHub-OTP, Accept-Encoding, Accept, X-Requested-With"
MOST_PER_PAGE = 100


def routes(forge: Forge, handlers: Mapping[str, Handler]) -> list[Route]:
    """One route per operation; KeyError when an operation of the table has no handler."""
    return [
        Route(operation.path, _endpoint(forge, operation, handlers[operation.name]), methods=[operation.method])
        for operation in OPERATIONS
    ]


def _endpoint(forge: Forge, operation: Operation, handler: Handler) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        body = await request.body()
        reply = await run_in_threadpool(serve, forge, operation, handler, request, body)
        return Response(reply.content(), reply.status, reply.headers, media_type=reply.kind)

    return endpoint


def serve(forge: Forge, operation: Operation, handler: Handler, request: Request, body: bytes) -> Reply:
    """The reply to one REST request, refusals included; holds the twin's lock throughout."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    key = rate_key(headers, None)
    with forge.world.lock:
        try:
            version = headers.get("x-github-api-version", VERSIONS[0])
            if version not in VERSIONS:
                raise Refused(410, f"The API version {version} is not supported.")
            caller = identify(forge, headers, operation.caller)
            key = rate_key(headers, caller)
            if operation.name != "rate-limit/get":
                forge.rates.count(key)
            call = Call(
                request.method, request.url.path, dict(request.path_params), dict(request.query_params), headers,
                body, caller,
            )
            repo = repo_of(forge, call)
            admit(forge, operation, call, repo)
            reply = handler(forge, call, repo) if repo else handler(forge, call, NOWHERE)
        except Refused as refusal:
            reply = refusal.reply()
        except GitFailed as failure:
            reply = Refused(422, str(failure).splitlines()[0]).reply()
        return _dressed(forge, operation, reply, headers, key)


class _Nowhere:
    """Stands where no repository is named; every use of it is a broken promise."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"this operation names no repository (wanted {name})")


NOWHERE: Any = _Nowhere()


def rate_key(headers: Mapping[str, str], caller: Caller | None) -> str:
    """Whose limit a request counts against."""
    if caller and caller.installation:
        return f"installation ID {caller.installation.id}"
    return "app" if caller and caller.app else "anonymous"


def _dressed(forge: Forge, operation: Operation, reply: Reply, headers: Mapping[str, str], key: str) -> Reply:
    if operation.method == "GET" and reply.status == 200:
        who = token_digest(credential(headers) or "")
        tag = 'W/"' + hashlib.sha256(who.encode() + reply.content()).hexdigest() + '"'
        reply.headers |= {"ETag": tag, "Cache-Control": "private, max-age=60, s-maxage=60"}
        if tag in [part.strip() for part in headers.get("if-none-match", "").split(",")]:
            reply = Reply(304, headers=reply.headers)
            forge.rates.give_back(key)
    if operation.needs:
        reply.headers.setdefault("X-Accepted-GitHub-Permissions", accepted_header(operation.needs))
    reply.headers |= {
        "Vary": VARY, "X-GitHub-Media-Type": "github.v3; format=json",
        "X-GitHub-Request-Id": secrets.token_hex(12).upper(),
        "X-GitHub-Api-Version-Selected": headers.get("x-github-api-version", VERSIONS[0]),
        **forge.rates.headers(key),
    }
    return reply


def paged(forge: Forge, call: Call, items: list[Any], wrap: Callable[[list[Any]], Any] = list) -> Reply:
    """One page of `items` (30 by default, at most 100) with `Link`; `wrap` puts the page into its envelope."""
    size = min(max(_whole(call, "per_page", 30), 1), MOST_PER_PAGE)
    page = max(_whole(call, "page", 1), 1)
    last = max((len(items) + size - 1) // size, 1)
    links = {"first": 1, "prev": page - 1} if page > 1 else {}
    links |= {"next": page + 1, "last": last} if page < last else {}
    reply = Reply(value=wrap(items[(page - 1) * size : page * size]))
    if links:
        reply.headers["Link"] = ", ".join(
            f'<{forge.world.url}{call.path}?{urlencode({**call.query, "page": number})}>; rel="{name}"'
            for name, number in links.items()
        )
    return reply


def _whole(call: Call, name: str, otherwise: int) -> int:
    text = call.query.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else otherwise
