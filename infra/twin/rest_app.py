"""REST: the App itself, its installations, tokens and delivery log, and what anybody may ask."""

from typing import Any

from infra.twin import apps, shapes
from infra.twin.dispatch import Handler, paged
from infra.twin.forge import Forge
from infra.twin.state import App, Installation, Repo, stamp
from infra.twin.webhooks import full, item
from infra.twin.wire import Call, Refused, Reply, not_found


def _app(call: Call) -> App:
    if call.caller.app is None:
        raise Refused(401, apps.UNDECODABLE)
    return call.caller.app


def _installation(forge: Forge, call: Call) -> Installation:
    found = forge.world.installations.get(call.number("installation_id"))
    if found is None:
        raise not_found()
    return found


def get_app(forge: Forge, call: Call, _: Repo) -> Reply:
    """`GET /app`."""
    shown = shapes.app(forge.world, _app(call))
    return Reply(value={**shown, "installations_count": len(forge.world.installations)})


def hook_config(forge: Forge, call: Call, _: Repo) -> Reply:
    """`GET /app/hook/config`; the secret is masked."""
    app = _app(call)
    return Reply(value={"content_type": "json", "insecure_ssl": "0", "secret": "********", "url": app.hook_url or ""})


def list_deliveries(forge: Forge, call: Call, _: Repo) -> Reply:
    """`GET /app/hook/deliveries`: newest first, by cursor; `status=failure` means codes 400-599 only."""
    _app(call)
    size = min(max(int(call.query.get("per_page", "30")), 1), 100)
    before = call.query.get("cursor")
    chosen = forge.webhooks.log()
    if call.query.get("status") == "failure":
        chosen = [one for one in chosen if 400 <= one.status_code <= 599]
    if call.query.get("status") == "success":
        chosen = [one for one in chosen if 200 <= one.status_code <= 399]
    if before is not None:
        if not before.removeprefix("v1_").isdigit():
            raise Refused(422, "Invalid cursor")
        chosen = [one for one in chosen if one.id < int(before.removeprefix("v1_"))]
    page = [item(one) for one in chosen[:size]]
    reply = Reply(value=page)
    if len(chosen) > size:
        address = f"{forge.world.url}/app/hook/deliveries?per_page={size}&cursor=v1_{page[-1]['id']}"
        reply.headers["Link"] = f'<{address}>; rel="next"'
    return reply


def get_delivery(forge: Forge, call: Call, _: Repo) -> Reply:
    """`GET /app/hook/deliveries/{id}`."""
    try:
        return Reply(value=full(forge.webhooks.find(call.number("delivery_id")), _app(call).hook_url))
    except LookupError:
        raise not_found() from None


def redeliver(forge: Forge, call: Call, _: Repo) -> Reply:
    """`POST /app/hook/deliveries/{id}/attempts`: 202, the same GUID again (github-facts 19)."""
    _app(call)
    try:
        forge.webhooks.redeliver(call.number("delivery_id"))
    except LookupError:
        raise not_found() from None
    return Reply(202, {})


def list_installations(forge: Forge, call: Call, _: Repo) -> Reply:
    """`GET /app/installations`: suspended ones are listed too (github-facts 69)."""
    return paged(forge, call, [shapes.installation(forge.world, one) for one in forge.world.installations.values()])


def get_installation(forge: Forge, call: Call, _: Repo) -> Reply:
    """`GET /app/installations/{id}`."""
    return Reply(value=shapes.installation(forge.world, _installation(forge, call)))


def repo_installation(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET /repos/{owner}/{repo}/installation`; 404 when the App is not installed there."""
    found = forge.world.installation_of(repo)
    if found is None:
        raise not_found()
    return Reply(value=shapes.installation(forge.world, found))


def create_token(forge: Forge, call: Call, _: Repo) -> Reply:
    """`POST /app/installations/{id}/access_tokens`."""
    fields = call.fields()
    installation = _installation(forge, call)
    token = apps.mint(forge.world, installation, fields, call.headers.get("x-github-stateless-s2s-token"))
    value: dict[str, Any] = {
        "token": token.value, "expires_at": stamp(token.expires), "permissions": token.permissions,
        "repository_selection": "all" if installation.repo_ids is None and token.repo_ids is None else "selected",
    }
    if token.repo_ids is not None:
        value["repositories"] = [
            shapes.repository(forge.world, forge.world.repos[number]) for number in token.repo_ids
        ]
    return Reply(201, value)


def revoke_token(forge: Forge, call: Call, _: Repo) -> Reply:
    """`DELETE /installation/token`: 204; the token is dead from now on."""
    assert call.caller.token is not None
    call.caller.token.revoked = forge.world.moment()
    return Reply(204)


def list_reach(forge: Forge, call: Call, _: Repo) -> Reply:
    """`GET /installation/repositories`."""
    assert call.caller.token is not None
    ids = apps.reach(forge.world, call.caller.token)
    shown = [shapes.repository(forge.world, one) for one in forge.world.repos.values() if one.id in ids]
    return paged(forge, call, shown, lambda page: {"total_count": len(shown), "repositories": page})


def get_user(forge: Forge, call: Call, _: Repo) -> Reply:
    """`GET /users/{login}`; a bot is `<slug>[bot]` and its id is not the App's (github-facts 87)."""
    person = forge.world.person(call.params["username"])
    if person is None:
        raise not_found()
    return Reply(value=shapes.full_user(forge.world, person))


def get_team_membership(forge: Forge, call: Call, _: Repo) -> Reply:
    """Membership of a team; 404 for those outside."""
    members = forge.world.teams.get((call.params["org"].lower(), call.params["team_slug"]), set())
    login = call.params["username"].lower()
    if login not in members:
        raise not_found()
    return Reply(value={"url": forge.world.url + call.path, "role": "member", "state": "active"})


def rate_limit(forge: Forge, call: Call, _: Repo) -> Reply:
    """`GET /rate_limit`, which costs nothing; without `rate` in version 2026-03-10 (github-facts 176)."""
    caller = call.caller
    key = f"installation ID {caller.installation.id}" if caller.installation else "app" if caller.app else "anonymous"
    window = forge.rates.window(key)
    core = {
        "limit": forge.rates.limit, "used": window.used, "remaining": forge.rates.limit - window.used,
        "reset": window.reset,
    }
    value: dict[str, Any] = {"resources": {"core": core, "search": core, "graphql": core}}
    if call.headers.get("x-github-api-version") != "2026-03-10":
        value["rate"] = core
    return Reply(value=value)


def meta(forge: Forge, call: Call, _: Repo) -> Reply:
    """`GET /meta`."""
    return Reply(value={"verifiable_password_authentication": False, "hooks": ["127.0.0.1/32"]})


HANDLERS: dict[str, Handler] = {
    "apps/get-authenticated": get_app,
    "apps/get-webhook-config-for-app": hook_config,
    "apps/list-webhook-deliveries": list_deliveries,
    "apps/get-webhook-delivery": get_delivery,
    "apps/redeliver-webhook-delivery": redeliver,
    "apps/list-installations": list_installations,
    "apps/get-installation": get_installation,
    "apps/get-repo-installation": repo_installation,
    "apps/create-installation-access-token": create_token,
    "apps/revoke-installation-access-token": revoke_token,
    "apps/list-repos-accessible-to-installation": list_reach,
    "users/get-by-username": get_user,
    "teams/get-membership-for-user-in-org": get_team_membership,
    "rate-limit/get": rate_limit,
    "meta/get": meta,
}
