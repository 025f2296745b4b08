"""The manifest flow: an App made from a form, a code that is worth it once and for an hour (github-facts 88-95)."""

import json
import re
import secrets
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from infra.twin import shapes
from infra.twin.app_key import new_private_key, public_key_of
from infra.twin.forge import Forge
from infra.twin.pages import HEADERS, acting, html
from infra.twin.permissions import RANK
from infra.twin.registrations import Made
from infra.twin.state import App, Person
from infra.twin.webhooks import PERMISSION_OF_EVENT
from infra.twin.wire import Reply, not_found

HOUR = timedelta(hours=1)
LONGEST_NAME = 34
AUTOMATIC = ("installation", "installation_repositories", "github_app_authorization")


def routes(forge: Forge) -> list[Route]:
    """The two places of the form, its confirmation, the conversion, and the page that installs."""

    async def asked(request: Request) -> Response:
        form = {name: values[-1] for name, values in parse_qs((await request.body()).decode()).items()}
        return await run_in_threadpool(_asked, forge, request, form)

    async def confirmed(request: Request) -> Response:
        form = {name: values[-1] for name, values in parse_qs((await request.body()).decode()).items()}
        return await run_in_threadpool(_confirmed, forge, request, form)

    async def convert(request: Request) -> Response:
        reply = await run_in_threadpool(_converted, forge, request.path_params["code"])
        return Response(reply.content(), reply.status, reply.headers, media_type=reply.kind)

    async def installing(request: Request) -> Response:
        return await run_in_threadpool(_installing, forge, request)

    return [
        Route("/settings/apps/new", asked, methods=["POST"]),
        Route("/organizations/{org}/settings/apps/new", asked, methods=["POST"]),
        Route("/_twin/create-app", confirmed, methods=["POST"]),
        Route("/app-manifests/{code}/conversions", convert, methods=["POST"]),
        Route("/apps/{slug}/installations/new", installing, methods=["GET"]),
    ]


def problems(manifest: Any) -> list[str]:
    """Why GitHub would refuse this manifest; empty when it would not (github-facts 91-93, 95)."""
    if not isinstance(manifest, dict):
        return ["The manifest is not a JSON object."]
    found = [f"{name} wasn't supplied" for name in ("url",) if not _address(manifest.get(name))]
    name = manifest.get("name")
    if name is not None and (not isinstance(name, str) or len(name) > LONGEST_NAME):
        found.append(f"Name is too long (maximum is {LONGEST_NAME} characters)")
    hook = manifest.get("hook_attributes")
    if hook is not None and not _address(hook.get("url")):
        found.append("Hook url wasn't supplied")
    if not _address(manifest.get("redirect_url")):
        found.append("Redirect url must be a valid URL")
    callbacks = manifest.get("callback_urls", [])
    if len(callbacks) > 10 or not all(_address(one) for one in callbacks):
        found.append("Callback urls must be at most 10 valid URLs")
    held, events = manifest.get("default_permissions", {}), manifest.get("default_events", [])
    unsupported = [event for event in events if event in AUTOMATIC or event not in PERMISSION_OF_EVENT]
    if unsupported:
        found.append(f"Default events unsupported: {', '.join(unsupported)}")
    unbacked = [event for event in events if event in PERMISSION_OF_EVENT and not _backed(event, held)]
    if unbacked:
        found.append(f"Default events are not supported by permissions: {', '.join(unbacked)}")
    return found


def _address(text: Any) -> bool:
    return isinstance(text, str) and urlsplit(text).scheme in {"http", "https"} and bool(urlsplit(text).netloc)


def _backed(event: str, held: dict[str, str]) -> bool:
    permission = PERMISSION_OF_EVENT[event]
    return permission == "metadata" or RANK.get(held.get(permission, "none"), 0) >= RANK["read"]


def _asked(forge: Forge, request: Request, form: dict[str, str]) -> Response:
    """GitHub's page that shows the name, to be changed there, before anything is made."""
    try:
        manifest = json.loads(form.get("manifest", ""))
    except ValueError:
        manifest = None
    found = problems(manifest)
    if found:
        values = {"message": "Invalid GitHub App configuration", "reasons": found}
        return html(forge, request, "lost.html", values, 422)
    values = {
        "manifest": form["manifest"], "name": manifest.get("name", ""), "state": request.query_params.get("state", ""),
        "org": request.path_params.get("org", ""),
    }
    return html(forge, request, "new_app.html", values)


def _confirmed(forge: Forge, request: Request, form: dict[str, str]) -> Response:
    manifest = json.loads(form["manifest"])
    name, pem = form.get("name") or manifest.get("name") or "", new_private_key()
    with forge.world.lock:
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        taken = forge.world.app is not None and forge.world.app.slug == slug
        if problems(manifest) or not slug or len(name) > LONGEST_NAME or taken:
            reasons = [f"Name {name!r} cannot be had"]
            values = {"message": "Invalid GitHub App configuration", "reasons": reasons}
            return html(forge, request, "lost.html", values, 422)
        owner = forge.world.add_person(form["org"], "Organization") if form.get("org") else acting(forge, request)
        app = _made(forge, manifest, (name, slug), owner or forge.world.add_person("somebody"), public_key_of(pem))
        code = secrets.token_hex(20)
        forge.manifests[code] = Made(app, pem, forge.world.now() + HOUR)
    told = {"code": code} | ({"state": form["state"]} if form.get("state") else {})
    return RedirectResponse(f"{manifest['redirect_url']}?{urlencode(told)}", 302, HEADERS)


def _made(forge: Forge, manifest: dict[str, Any], called: tuple[str, str], owner: Person, public_key: str) -> App:
    world, (name, slug), hook = forge.world, called, manifest.get("hook_attributes") or {}
    world.app = App(
        world.next_id(), slug, name, owner, world.add_person(f"{slug}[bot]", "Bot"), public_key,
        dict(manifest.get("default_permissions", {})), list(manifest.get("default_events", [])), world.now(),
        hook.get("url") if hook.get("active", True) else None, secrets.token_hex(20), secrets.token_hex(20),
        list(manifest.get("callback_urls", [])),
    )
    return world.app


def _converted(forge: Forge, code: str) -> Reply:
    with forge.world.lock:
        made = forge.manifests.pop(code, None)
        if made is None or forge.world.now() >= made.until:
            return not_found().reply()
        secret = {
            "client_secret": made.app.client_secret, "webhook_secret": made.app.hook_secret, "pem": made.pem,
        }
        return Reply(201, shapes.app(forge.world, made.app) | secret)


def _installing(forge: Forge, request: Request) -> Response:
    with forge.world.lock:
        app = forge.world.app
        if app is None or app.slug != request.path_params["slug"]:
            return html(forge, request, "lost.html", {"message": "Not Found"}, 404)
        accounts = sorted({repo.owner.login for repo in forge.world.repos.values()})
        return html(forge, request, "install.html", {"accounts": accounts})


