"""The human and control calls: `POST /_twin/do/<name>` with a JSON object, answered with JSON."""

import json
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from infra.twin import ci, human, knobs, owners
from infra.twin.fields import Fields
from infra.twin.forge import Forge
from infra.twin.git_store import GitFailed
from infra.twin.human import Deed
from infra.twin.journal import Act
from infra.twin.wire import Refused, Reply

DEEDS: dict[str, Deed] = human.DEEDS | owners.DEEDS | knobs.DEEDS | ci.DEEDS
IDLE_SECONDS = 20.0


def routes(forge: Forge) -> list[Route]:
    """One route for all deeds, and one to wait until deliveries are out."""

    async def serve(request: Request) -> Response:
        reply = await run_in_threadpool(_do, forge, request.path_params["name"], await request.body(), request)
        return Response(reply.content(), reply.status, reply.headers, media_type=reply.kind)

    async def settle(request: Request) -> Response:
        settled = await run_in_threadpool(forge.webhooks.idle, IDLE_SECONDS)
        return Response(json.dumps({"settled": settled}), media_type="application/json")

    return [
        Route("/_twin/do/{name}", serve, methods=["POST"]),
        Route("/_twin/settle", settle, methods=["POST"]),
    ]


def note(forge: Forge, name: str, values: dict[str, Any]) -> None:
    """Remember what a person did, so that the journal's requests can be ordered against it."""
    login = values.get("as_login") or values.get("author")
    if login and name in human.DEEDS:
        forge.journal.add_act(Act(forge.world.seconds(), login, name, values))


def _do(forge: Forge, name: str, body: bytes, request: Request) -> Reply:
    if request.headers.get("content-type") != "application/json":
        return Refused(415, "control calls are application/json").reply()
    return do(forge, name, json.loads(body or b"{}"))


def do(forge: Forge, name: str, values: dict[str, Any]) -> Reply:
    """One deed, under the twin's lock, and the reply to who did it."""
    deed = DEEDS.get(name)
    if deed is None:
        return Refused(404, f"no control call {name}").reply()
    with forge.world.lock:
        try:
            reply = Reply(value=deed(Fields(forge, values)))
            note(forge, name, values)
            return reply
        except Refused as refusal:
            return refusal.reply()
        except GitFailed as failure:
            return Refused(422, str(failure)).reply()
