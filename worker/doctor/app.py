"""The App itself: GitHub's address and time, the key, what was granted where, and how deliveries fare."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from app.addresses import LOOPBACK
from app.core.belts import EVENTS, REACH, app_permissions
from app.doctor.finding import Check, Found, Scene, elsewhere, fault, unseen, well, worth_knowing
from app.doctor.here import private
from app.settings import api_url, web_address
from worker.doctor.holding import settings_of
from worker.github.app import InstallationView
from worker.github.errors import GitHubError, NotFound, Unauthorized, Unreachable
from worker.github.key import KeyRefused, private_key_of
from worker.github.standing import AppStanding, AppView, clock_ahead
from worker.settings import MintSettings, mint_settings

FAST, SLOW = 60.0, 540.0
"""Seconds: our proof is dated a minute back and ends nine minutes ahead, and GitHub takes none from the future, none
that has ended and none that ends later than in ten minutes (facts 48, 49)."""
UNEASY = 10.0

_KEY = "No token can be cut without it: nothing is read, said or opened."
_RANK = {"read": 1, "write": 2, "admin": 3}
_ADDED = [{**reach.where_added, **reach.with_workflows} for reach in REACH.values()]

T = TypeVar("T")


def look_at_address(scene: Scene) -> Iterator[Found]:
    """The API's address has the form that its kind of GitHub has (facts 178, 179)."""
    address = api_url(scene.env)
    parts = urlsplit(address)
    host, path = parts.hostname or "", parts.path.rstrip("/")
    wanted = address
    if host in ("github.com", "www.github.com", "api.github.com"):
        wanted = "https://api.github.com"
    elif host.endswith(".ghe.com"):
        wanted = f"https://{host if host.startswith('api.') else f'api.{host}'}"
    elif host not in LOOPBACK and path != "/api/v3":
        wanted = f"https://{parts.netloc}/api/v3"
    if wanted == address:
        yield well(f"{address}, with pages at {web_address(address)}")
    else:
        why = "GitHub answers elsewhere with pages for people, or not at all."
        yield fault(f"{address} is not the address of an API of GitHub's.", why, f"export GITHUB_API_URL={wanted}")


def look_at_clock(scene: Scene) -> Iterator[Found]:
    """GitHub answers, and this machine's clock is near its."""
    address = api_url(scene.env)
    try:
        ahead = clock_ahead(address)
    except Unreachable as trouble:
        do = f"curl -sSI {address}/meta     (HTTPS_PROXY and SSL_CERT_FILE are used where they are set)"
        yield fault(f"{address} does not answer: {trouble.reason}", "Everything begins and ends at GitHub.", do)
        return
    if ahead is None:
        yield unseen(f"{address} does not say its time")
        return
    said = f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} GitHub's"
    set_it = "sudo timedatectl set-ntp true     (or have the host's clock set)"
    if ahead > FAST - UNEASY or ahead < UNEASY - SLOW:
        why = "GitHub takes no proof of the App that is dated in the future or has ended: no token can be cut."
        yield fault(f"This machine's clock is {said}.", why, set_it)
    elif abs(ahead) > UNEASY:
        why = f"Beyond {FAST:.0f} s ahead or {SLOW:.0f} s behind GitHub takes no proof of the App."
        yield worth_knowing(f"This machine's clock is {said}.", why, set_it)
    else:
        yield well("GitHub answers, and its clock and this machine's agree")


def look_at_key(scene: Scene) -> Iterator[Found]:
    """The key can be read as one."""
    settings = _mint(scene)
    try:
        scene.left["key"] = private_key_of(settings.private_key, settings.key_variable)
    except KeyRefused as refused:
        do = f"export {settings.key_variable}=…     (the whole file that GitHub gave; or GITHUB_PRIVATE_KEY_PATH)"
        yield fault(str(refused), _KEY, do)
        return
    yield well("It is a private RSA key")


def look_at_key_file(scene: Scene) -> Iterator[Found]:
    """The file that `GITHUB_PRIVATE_KEY_PATH` names is its account's alone."""
    given = scene.env.get("GITHUB_PRIVATE_KEY_PATH", "").strip()
    if not given or scene.env.get("GITHUB_PRIVATE_KEY", "").strip():
        yield elsewhere("GITHUB_PRIVATE_KEY_PATH names none")
        return
    why = "Whoever reads it can act as the App in every repository where it is installed."
    found = list(private(Path(given).expanduser(), why))
    yield from found or [well("It can be read by this account alone")]


def look_at_app(scene: Scene) -> Iterator[Found]:
    """The key is the App's: GitHub took a proof signed with it."""
    settings = _mint(scene)
    pages = f"{web_address(api_url(scene.env))}/settings/apps"
    try:
        with standing(scene) as github:
            app = github.app()
    except Unauthorized as refused:
        what = f"GitHub does not take the key as that of App {settings.app_id}: {refused.reason}"
        do = f"Make a key at {pages} (the App, \"Private keys\") and export {settings.key_variable}=… (all of it)"
        yield fault(what, _KEY, do)
    except NotFound:
        what = f"GitHub knows no App {settings.app_id}."
        yield fault(what, _KEY, f"export GITHUB_APP_ID=…     (the \"App ID\" at {pages})")
    except GitHubError as trouble:
        yield _troubled(trouble)
    else:
        scene.left["app"] = app
        yield well(f"GitHub takes the key as that of App {app.id} ({app.slug})")


def look_at_permissions(scene: Scene) -> Iterator[Found]:
    """The App asks for what the belts need, and for nothing else."""
    app = _left(scene, "app", AppView)
    page = settings_page(app, scene.env)
    missing, beyond = lacking(app.permissions), _beyond(app.permissions)
    deaf = [name for name in EVENTS if name not in app.events]
    if missing:
        why = "What needs it ends with \"Resource not accessible by integration\"."
        yield fault(f"The App does not ask for {_listed(missing)}.", why, f"Open {page}/permissions and choose them.")
    if deaf:
        why = "GitHub does not tell us of them: what happens there is noticed late or never."
        do = f"Open {page}/permissions and choose the events."
        yield fault(f"The App does not subscribe to {', '.join(deaf)}.", why, do)
    if beyond:
        why = "No token is ever cut with it; whoever had the key could use it."
        do = f"Open {page}/permissions and take it back."
        yield worth_knowing(f"The App also asks for {_listed(beyond)}.", why, do)
    if not missing and not deaf:
        yield well(f"The App asks for {len(app_permissions())} permissions and {len(EVENTS)} events, as it has to")


def look_at_installations(scene: Scene) -> Iterator[Found]:
    """Where the App is installed, nobody suspended it, and what it asks for was accepted (facts 67, 69)."""
    app = _left(scene, "app", AppView)
    try:
        with standing(scene) as github:
            installations = github.installations()
    except GitHubError as trouble:
        yield _troubled(trouble)
        return
    if not installations:
        do = f"Open {app.html_url or web_address(api_url(scene.env))}/installations/new and choose repositories."
        yield fault("The App is installed nowhere.", "GitHub tells us of nothing.", do)
    found = [one for each in installations for one in _installation(each)]
    yield from found
    if installations and not found:
        names = ", ".join(one.account.login if one.account else str(one.id) for one in installations)
        yield well(f"Installed at {names}, with everything that the App asks for")


def _installation(one: InstallationView) -> Iterator[Found]:
    name = one.account.login if one.account else f"installation {one.id}"
    page = one.html_url or f"the installation's page (id {one.id})"
    if one.suspended_at is not None:
        why = "GitHub sends no deliveries from there and cuts no token."
        what = f"The installation at {name} is suspended since {one.suspended_at:%Y-%m-%d %H:%M} UTC."
        yield fault(what, why, f"Open {page} and choose \"Unsuspend\".")
        return
    missing = lacking(one.permissions)
    deaf = [event for event in EVENTS if event not in one.events]
    if missing:
        why = "An owner has not accepted it; until then GitHub refuses what needs it."
        yield fault(f"{name} has not granted {_listed(missing)}.", why, f"Open {page} and review the new permissions.")
    elif deaf:
        why = "What happens there is noticed late or never."
        do = f"Open {page} and accept what the App asks for."
        yield fault(f"GitHub does not tell us of {', '.join(deaf)} at {name}.", why, do)


def lacking(granted: Mapping[str, str]) -> dict[str, str]:
    """What the belts need and was not granted, or not at that level."""
    held = {"metadata": "read", **granted}
    return {
        name: level for name, level in app_permissions().items() if _RANK.get(held.get(name, ""), 0) < _RANK[level]
    }


def _beyond(asked: Mapping[str, str]) -> dict[str, str]:
    needed: dict[str, str] = {"metadata": "read", **app_permissions()}
    for added in _ADDED:
        needed = {**added, **needed}
    return {name: level for name, level in asked.items() if _RANK.get(level, 9) > _RANK.get(needed.get(name, ""), 0)}


def _listed(permissions: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {level}" for name, level in sorted(permissions.items()))


def settings_page(app: AppView, env: Mapping[str, str]) -> str:
    """Where the App's owner changes it."""
    owner = app.owner
    org = f"/organizations/{owner.login}" if owner is not None and owner.kind == "Organization" else ""
    return f"{web_address(api_url(env))}{org}/settings/apps/{app.slug}"


def _mint(scene: Scene) -> MintSettings:
    return mint_settings(scene.env if "COUNTERSIGN_MINT_LISTEN" in scene.env else _inherited(scene.env))


def _inherited(env: Mapping[str, str]) -> Mapping[str, str]:
    return {**env, "COUNTERSIGN_MINT_LINES_FD": "3"}


@contextmanager
def standing(scene: Scene) -> Iterator[AppStanding]:
    """The App's own questions, with the key that a check before found to be one."""
    with AppStanding(api_url(scene.env), _mint(scene).app_id, _left(scene, "key", str)) as github:
        yield github


def _left(scene: Scene, name: str, kind: type[T]) -> T:
    found = scene.left[name]
    assert isinstance(found, kind)
    return found


def _troubled(trouble: GitHubError) -> Found:
    return unseen(f"{trouble.reason}", trouble.remedy)


APP_CHECKS = (
    Check("github address", "mint", look_at_address, (settings_of("mint"),)),
    Check("clock", "mint", look_at_clock, ("github address",)),
    Check("key", "mint", look_at_key, (settings_of("mint"),)),
    Check("key file", "mint", look_at_key_file, (settings_of("mint"),)),
    Check("app", "mint", look_at_app, ("key", "clock")),
    Check("permissions", "mint", look_at_permissions, ("app",)),
    Check("installations", "mint", look_at_installations, ("app",)),
)
