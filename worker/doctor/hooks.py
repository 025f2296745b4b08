"""How deliveries come in: the address that GitHub has, whether it answers, and how the newest deliveries fared."""

from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

import httpx

from app.addresses import LOOPBACK
from app.doctor.finding import Check, Found, Scene, elsewhere, fault, unseen, well, worth_knowing
from app.settings import PULL_SECRET, local_url, public_url
from worker.doctor.app import settings_page, standing
from worker.doctor.holding import settings_of
from worker.github.errors import GitHubError
from worker.github.standing import AppView, DeliveryView, HookView

RECEIVER = "/webhooks/github"
ANSWER_SECONDS = 10.0
"""As long as GitHub waits (fact 12)."""

_FORGED = (401, 403)
_LOST = "What happened on GitHub meanwhile is asked for again, with pauses, as far back as GitHub's log goes."


def look_at_hook(scene: Scene, stated: str) -> Iterator[Found]:
    """GitHub delivers to this installation, as JSON and over TLS that it checks. `stated`: where the settings say that
    GitHub reaches it, empty where they do not."""
    try:
        with standing(scene) as github:
            hook = github.hook()
    except GitHubError as trouble:
        yield unseen(trouble.reason, trouble.remedy)
        return
    scene.left["hook"] = hook
    page = _page(scene)
    if not hook.url:
        if scene.env.get(PULL_SECRET):
            yield well("GitHub delivers nowhere, and the mint fetches deliveries from its log")
            return
        why = "Nobody tells us of a label."
        do = f"Open {page} and set the webhook's URL; or export COUNTERSIGN_PULL=yes, and they are fetched."
        yield fault("The App has no address for its deliveries.", why, do)
        return
    found = list(_of_address(stated, hook, page))
    yield from found or [well(f"GitHub delivers to {hook.url}")]


def _of_address(stated: str, hook: HookView, page: str) -> Iterator[Found]:
    why = "Deliveries reach another place than this receiver."
    if stated and hook.url.rstrip("/") != stated + RECEIVER:
        what = f"GitHub delivers to {hook.url}, and COUNTERSIGN_URL says {stated}."
        yield fault(what, why, f"Open {page} and set the webhook's URL to {stated}{RECEIVER}")
    elif not urlsplit(hook.url).path.rstrip("/").endswith(RECEIVER):
        do = f"Open {page} and let the webhook's URL end with {RECEIVER}"
        yield fault(f"GitHub delivers to {hook.url}, which is not the receiver's path.", why, do)
    if hook.content_type not in ("", "json"):
        do = f"Open {page} and choose the content type application/json."
        yield fault(f"Deliveries come as {hook.content_type}.", "The receiver reads JSON alone.", do)
    if str(hook.insecure).rstrip("0.") not in ("",):
        why = "Somebody between could read and answer deliveries."
        yield worth_knowing("GitHub does not check the receiver's certificate.", why, f"Open {page}, \"Enable SSL\".")


def look_at_stated(scene: Scene) -> Iterator[Found]:
    """The web process answers where the settings say that people and GitHub reach it."""
    stated = public_url(scene.env)
    address = stated or local_url(scene.env)
    said = _health(address)
    if said == "ok":
        yield well(f"The web process answers at {address}")
    elif stated:
        why = "GitHub and people cannot reach it either, unless this machine alone cannot."
        do = f"curl -i {address}/healthz     (start `countersign up`; look at the TLS proxy in front of HOST:PORT)"
        yield fault(f"{address}/healthz {said}.", why, do)
    else:
        why = "Deliveries are taken by it; where it has not been started yet, that is why."
        yield worth_knowing(f"{address}/healthz {said}.", why, "countersign up")


def _health(address: str) -> str:
    local = (urlsplit(address).hostname or "") in LOOPBACK
    try:
        with httpx.Client(timeout=ANSWER_SECONDS, trust_env=not local, follow_redirects=False) as client:
            answer = client.get(f"{address}/healthz")
    except httpx.TimeoutException:
        return f"does not answer within {ANSWER_SECONDS:.0f} s"
    except httpx.HTTPError as error:
        return f"cannot be reached ({type(error).__name__})"
    if answer.status_code == 200 and answer.text == "ok\n":
        return "ok"
    return f"answers {answer.status_code}, and not as the web process does"


def look_at_deliveries(scene: Scene) -> Iterator[Found]:
    """The newest deliveries were taken; the secret is the one that GitHub signs with, as far as that can be known."""
    hook = scene.left.get("hook")
    try:
        with standing(scene) as github:
            log = github.newest_deliveries()
    except GitHubError as trouble:
        yield unseen(trouble.reason, trouble.remedy)
        return
    if isinstance(hook, HookView) and not hook.url:
        yield elsewhere("GitHub delivers nowhere")
    elif not log:
        why = "Whether the webhook's secret is the right one shows with the first delivery."
        do = "Open the App's page, \"Advanced\", once something happened; then look again."
        yield worth_knowing("GitHub has delivered nothing lately.", why, do)
    else:
        yield _of_log(log, _page(scene))


def _of_log(log: Sequence[DeliveryView], page: str) -> Found:
    """Judged by the newest attempt: what went wrong before it and not any more is only told."""
    newest = log[0]
    in_vain = Counter(_kind(one) for one in log if one.status != "OK")
    told = ", ".join(f"{count} {kind}" for kind, count in in_vain.most_common())
    if newest.status == "OK":
        if not in_vain:
            return well(f"The newest {len(log)} deliveries were taken, so the webhook's secret is GitHub's")
        return well(f"The newest delivery was taken; of the {len(log)} before, {told}: they are asked for again")
    when = f"{newest.at:%Y-%m-%d %H:%M} UTC"
    if newest.code in _FORGED:
        do = f"export GITHUB_WEBHOOK_SECRET=…     (the one at {page}; set both to a new one if it is not known)"
        what = f"The delivery of {when} was refused with {newest.code}: GitHub signs with another secret ({told})."
        return fault(what, "Every delivery is taken for a forgery, and no label is heard.", do)
    if newest.code:
        do = "Look at the web process' log and `curl -i …/readyz`, and at the proxy in front of it."
        return fault(f"The delivery of {when} was answered {newest.code} ({told}).", _LOST, do)
    do = f"Look at the address at {page}, at name, certificate and firewall: GitHub has to reach it from outside."
    return fault(f"The delivery of {when} did not arrive: {newest.status} ({told}).", _LOST, do)


def _kind(one: DeliveryView) -> str:
    return f"answered {one.code}" if one.code else one.status


def _page(scene: Scene) -> str:
    app = scene.left["app"]
    assert isinstance(app, AppView)
    return settings_page(app, scene.env)


def hook_checks(stated: str) -> Iterator[Check]:
    """`stated`: `COUNTERSIGN_URL`, which is the web process' setting and no secret."""
    yield Check("web address", "web", look_at_stated, (settings_of("web"),))
    address = stated.strip().rstrip("/")
    yield Check("webhook", "mint", lambda scene: look_at_hook(scene, address), ("app",))
    yield Check("deliveries", "mint", look_at_deliveries, ("webhook",))
