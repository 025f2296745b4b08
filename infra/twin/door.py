"""The outermost layer: journal, faults, GHES-like prefixes and id paths, before anything is routed."""

import asyncio
import re
from email.utils import formatdate
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from infra.twin.access import credential, is_jwt
from infra.twin.apps import token_digest
from infra.twin.control_routes import do
from infra.twin.faults import Fault
from infra.twin.forge import Forge
from infra.twin.journal import Entry

CONTROL = "/_twin"
BY_ID = re.compile(r"^/repositories/(\d+)(/.*)?$")


class Door:
    """ASGI middleware around the whole twin; `/_twin` passes untouched; pages are not recorded.

    It runs on the event loop and therefore never takes the twin's lock, which a handler may hold while git runs.
    """

    def __init__(self, forge: Forge, inside: ASGIApp) -> None:
        self._forge = forge
        self._inside = inside

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["path"].startswith(CONTROL):
            await self._inside(scope, receive, send)
            return
        scope = self._plain_path(scope)
        entry = self._entry(scope)
        fault = self._forge.faults.take(scope["method"], scope["path"])
        answer = _Recorder(self._dated(send))
        try:
            if fault is None:
                await self._inside(scope, receive, answer)
            else:
                await self._with_fault(fault, (scope, receive, send), answer)
        finally:
            entry |= {"status": answer.status, "fault": fault.name if fault else None, "body_bytes": answer.size}
            if not scope["state"].get("page"):
                self._forge.journal.add(Entry(**entry))

    def _dated(self, send: Send) -> Send:
        """Every answer tells the time by the twin's clock, as GitHub's do by its own."""

        async def dated(message: Message) -> None:
            if message["type"] == "http.response.start":
                now = formatdate(self._forge.world.seconds(), usegmt=True)
                message = {**message, "headers": [*message.get("headers", ()), (b"date", now.encode())]}
            await send(message)

        return dated

    def _plain_path(self, scope: Scope) -> Scope:
        path = str(scope["path"])
        if path.startswith("/api/v3/"):
            path = path.removeprefix("/api/v3")
        elif path == "/api/graphql":
            path = "/graphql"
        by_id = BY_ID.match(path)
        if by_id:
            repo = self._forge.world.repos.get(int(by_id.group(1)))
            path = f"/repos/{repo.full_name}{by_id.group(2) or ''}" if repo else path
        return {**scope, "path": path, "state": {}}

    def _entry(self, scope: Scope) -> dict[str, Any]:
        forge = self._forge
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        value = credential(headers)
        caller, digest = "nobody", None
        permissions: dict[str, str] | None = None
        ids: list[int] | None = None
        if value is not None:
            caller = "app" if is_jwt(value) else "token"
        if value is not None and caller == "token":
            digest = token_digest(value)
            token = forge.world.tokens.get(digest)
            caller = "token" if token else "unknown"
            permissions, ids = (dict(token.permissions), token.repo_ids) if token else (None, None)
        return {
            "number": forge.journal.ticket(), "at": forge.world.seconds(), "method": scope["method"],
            "path": scope["path"], "query": scope["query_string"].decode("latin-1"), "caller": caller,
            "token": digest, "permissions": permissions, "repository_ids": ids,
        }

    async def _with_fault(self, fault: Fault, wire: tuple[Scope, Receive, Send], answer: "_Recorder") -> None:
        scope, receive, send = wire
        await asyncio.sleep(fault.seconds_before)
        if fault.mode in {"delay", "meanwhile"}:
            kept: list[Message] = []
            await self._inside(scope, receive, _keeping(kept))
            for name, values in fault.deeds:
                await run_in_threadpool(do, self._forge, name, values)
            await asyncio.sleep(fault.seconds_after)
            for message in kept:
                await answer(message)
            return
        if fault.mode in {"after", "drop-after"}:
            await self._inside(scope, receive, _swallow)
            await asyncio.sleep(fault.seconds_after)
        if fault.mode in {"drop", "drop-after"}:
            _drop(send)
            return
        heads = {"content-type": "application/json; charset=utf-8", **fault.headers}
        body = fault.body.encode()
        await answer(
            {
                "type": "http.response.start", "status": fault.status,
                "headers": [(name.lower().encode(), value.encode()) for name, value in heads.items()]
                + [(b"content-length", str(len(body)).encode())],
            }
        )
        await answer({"type": "http.response.body", "body": body})


class _Recorder:
    """Passes an answer on and remembers its status and size."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.size = 0

    async def __call__(self, message: Message) -> None:
        """Pass one message."""
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
        else:
            self.size += len(message.get("body", b""))
        await self._send(message)


def _keeping(kept: list[Message]) -> Send:
    """An answer that waits in `kept`."""

    async def keep(message: Message) -> None:
        kept.append(message)

    return keep


async def _swallow(message: Message) -> None:
    """An answer that never leaves."""


def _drop(send: Send) -> None:
    """Close the connection without a byte; uvicorn's `send` is a method of the cycle that holds the transport."""
    cycle = getattr(send, "__self__", None)
    transport = getattr(cycle, "transport", None)
    if transport is None:
        raise ConnectionAbortedError("dropped on request")
    transport.abort()
