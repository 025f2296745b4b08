"""Signing in as a person: the web application flow of the App, user tokens, and what such a token may ask.

Errors of the token endpoint come under status 200, and as a form where no JSON is asked for; user tokens begin with
`ghu_`, end after eight hours and come with a refresh token, which works once.
"""

import base64
import hashlib
import json
import secrets
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from infra.twin import people, shapes
from infra.twin.dispatch import paged
from infra.twin.forge import Forge
from infra.twin.pages import HEADERS, acting, html
from infra.twin.registrations import Asked
from infra.twin.state import App, Installation, Person, Repo
from infra.twin.wire import Call, Caller, Refused, Reply, not_found

CODE_SECONDS = 600
DENIED = "The user has denied your application access."


def routes(forge: Forge) -> list[Route]:
    """The flow's pages, the token endpoint and what a user token reaches."""

    async def authorize(request: Request) -> Response:
        return await run_in_threadpool(_authorize, forge, request, dict(request.query_params))

    async def authorized(request: Request) -> Response:
        form = {name: values[-1] for name, values in parse_qs((await request.body()).decode()).items()}
        return await run_in_threadpool(_authorized, forge, request, form)

    async def token(request: Request) -> Response:
        fields = _fields(request.headers.get("content-type", ""), await request.body())
        with forge.world.lock:
            value = _token(forge, fields)
        if "json" in request.headers.get("accept", ""):
            return Response(json.dumps(value), media_type="application/json; charset=utf-8")
        return Response(urlencode(value), media_type="application/x-www-form-urlencoded; charset=utf-8")

    return [
        Route("/login/oauth/authorize", authorize, methods=["GET"]),
        Route("/_twin/authorize", authorized, methods=["POST"]),
        Route("/login/oauth/access_token", token, methods=["POST"]),
        Route("/applications/{client_id}/token", _asked(forge, _forget), methods=["DELETE"]),
        Route("/user", _asked(forge, _me), methods=["GET"]),
        Route("/user/installations", _asked(forge, _installations), methods=["GET"]),
        Route("/user/installations/{installation_id}/repositories", _asked(forge, _repositories), methods=["GET"]),
    ]


def _app(forge: Forge, client_id: str) -> App:
    if forge.world.app is None or forge.world.app.client_id != client_id:
        raise not_found()
    return forge.world.app


def _authorize(forge: Forge, request: Request, asked: dict[str, str]) -> Response:
    with forge.world.lock:
        try:
            app = _app(forge, asked.get("client_id", ""))
        except Refused as refusal:
            return html(forge, request, "lost.html", {"message": refusal.message}, refusal.status)
        back = asked.get("redirect_uri") or (app.callback_urls[0] if app.callback_urls else "")
        if not _fits(app, back):
            return html(forge, request, "lost.html", {"message": "The redirect_uri is not associated with this App."})
        person = acting(forge, request)
        if person is not None and person.login in forge.sign_ins.authorised:
            return RedirectResponse(_back(forge, app, person, {**asked, "redirect_uri": back}), 302, HEADERS)
        values = {"app": app, "asked": {**asked, "redirect_uri": back}, "person": person}
        return html(forge, request, "authorize.html", values)


def _fits(app: App, address: str) -> bool:
    """Exactly one of the App's callback addresses; on loopback the port may be another."""
    asked = urlsplit(address)
    for known in map(urlsplit, app.callback_urls):
        same = asked == known
        here = asked.hostname in {"127.0.0.1", "::1", "localhost"} and asked.hostname == known.hostname
        if same or (here and (asked.scheme, asked.path) == (known.scheme, known.path)):
            return True
    return False


def _back(forge: Forge, app: App, person: Person, asked: dict[str, str]) -> str:
    code = secrets.token_hex(10)
    forge.sign_ins.codes[code] = Asked(
        person, app.client_id, asked["redirect_uri"], asked.get("code_challenge", ""),
        forge.world.now() + timedelta(seconds=CODE_SECONDS),
    )
    told = {"code": code} | ({"state": asked["state"]} if "state" in asked else {})
    return f"{asked['redirect_uri']}?{urlencode(told)}"


def _authorized(forge: Forge, request: Request, form: dict[str, str]) -> Response:
    with forge.world.lock:
        app, person = _app(forge, form.get("client_id", "")), acting(forge, request)
        if person is None or not _fits(app, form.get("redirect_uri", "")):
            return html(forge, request, "lost.html", {"message": "Not Found"}, 404)
        if form.get("answer") != "yes":
            told = {"error": "access_denied", "error_description": DENIED, "state": form.get("state", "")}
            return RedirectResponse(f"{form['redirect_uri']}?{urlencode(told)}", 302, HEADERS)
        forge.sign_ins.authorised.add(person.login)
        return RedirectResponse(_back(forge, app, person, form), 302, HEADERS)


def _fields(kind: str, body: bytes) -> dict[str, str]:
    if "json" in kind:
        given = json.loads(body or b"{}")
        return {str(name): str(value) for name, value in given.items()}
    return {name: values[-1] for name, values in parse_qs(body.decode()).items()}


def _wrong(error: str, description: str) -> dict[str, Any]:
    """What GitHub answers under status 200."""
    return {"error": error, "error_description": description, "error_uri": "https://docs.github.com/apps/oauth"}


def _token(forge: Forge, fields: dict[str, str]) -> dict[str, Any]:
    app, world = forge.world.app, forge.world
    if app is None or (fields.get("client_id"), fields.get("client_secret")) != (app.client_id, app.client_secret):
        return _wrong("incorrect_client_credentials", "The client_id and/or client_secret passed are incorrect.")
    if fields.get("grant_type") == "refresh_token":
        known = {one.refresh: one for one in forge.sign_ins.tokens.values()}.get(fields.get("refresh_token", ""))
        if known is None or world.now() >= known.refresh_until:
            return _wrong("bad_refresh_token", "The refresh token passed is incorrect or expired.")
        del forge.sign_ins.tokens[known.value]
        return forge.sign_ins.new_token(world, known.person)
    asked = forge.sign_ins.codes.pop(fields.get("code", ""), None)
    if asked is None or asked.client_id != app.client_id or world.now() >= asked.until or not _proven(asked, fields):
        return _wrong("bad_verification_code", "The code passed is incorrect or expired.")
    if fields.get("redirect_uri", asked.callback) != asked.callback:
        return _wrong("redirect_uri_mismatch", "The redirect_uri MUST match the registered callback URL for this App.")
    return forge.sign_ins.new_token(world, asked.person)


def _proven(asked: Asked, fields: dict[str, str]) -> bool:
    """PKCE with S256, the only method; without a challenge no verifier is needed."""
    digest = hashlib.sha256(fields.get("code_verifier", "").encode()).digest()
    return not asked.challenge or base64.urlsafe_b64encode(digest).decode().rstrip("=") == asked.challenge


def _asked(forge: Forge, answer: Any) -> Any:
    """A REST call of this module: refusals as GitHub's bodies."""

    async def endpoint(request: Request) -> Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = await request.body()
        call = Call(
            request.method, request.url.path, dict(request.path_params), dict(request.query_params), headers, body,
            Caller(),
        )
        with forge.world.lock:
            try:
                reply = answer(forge, call)
            except Refused as refusal:
                reply = refusal.reply()
        return Response(reply.content(), reply.status, reply.headers, media_type=reply.kind)

    return endpoint


def _person(forge: Forge, call: Call) -> Person:
    """Whose user token this is; 401 when unknown, expired or revoked."""
    scheme, _, value = call.headers.get("authorization", "").partition(" ")
    known = forge.sign_ins.tokens.get(value) if scheme.lower() in {"bearer", "token"} else None
    if known is None or forge.world.now() >= known.until:
        raise Refused(401, "Bad credentials")
    return known.person


def _forget(forge: Forge, call: Call) -> Reply:
    """`DELETE /applications/{client_id}/token` with the client's id and secret: the token is dead."""
    app = _app(forge, call.params["client_id"])
    given = call.headers.get("authorization", "").removeprefix("Basic ").strip()
    if given != base64.b64encode(f"{app.client_id}:{app.client_secret}".encode()).decode():
        raise Refused(401, "Bad credentials")
    if forge.sign_ins.tokens.pop(str(call.fields().get("access_token")), None) is None:
        raise not_found()
    return Reply(204)


def _me(forge: Forge, call: Call) -> Reply:
    return Reply(value=shapes.full_user(forge.world, _person(forge, call)))


def _explicit(forge: Forge, installation: Installation, person: Person) -> list[Repo]:
    """Where the person was given something: that anybody may read a public repository does not count."""
    covered = forge.world.covered(installation)
    return [
        repo for repo in covered
        if person is repo.owner or people.at_least(repo, repo.roles.get(person.login.lower(), "none"), "read")
    ]


def _installations(forge: Forge, call: Call) -> Reply:
    person = _person(forge, call)
    mine = [one for one in forge.world.installations.values() if _explicit(forge, one, person)]
    shown = [shapes.installation(forge.world, one) for one in mine]
    return paged(forge, call, shown, lambda page: {"total_count": len(shown), "installations": page})


def _repositories(forge: Forge, call: Call) -> Reply:
    person, one = _person(forge, call), forge.world.installations.get(call.number("installation_id"))
    mine = _explicit(forge, one, person) if one else []
    if not mine or one is None:
        raise not_found()
    if one.suspended:
        raise Refused(403, "This installation has been suspended")
    shown = [shapes.repository(forge.world, repo) for repo in mine]
    return paged(forge, call, shown, lambda page: {"total_count": len(shown), "repositories": page})
