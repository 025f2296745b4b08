"""Signed webhook deliveries with a log, sent in the background, never repeated on their own (github-facts 14-24)."""

import hashlib
import hmac
import json
import queue
import threading
import time
import uuid
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import httpx

from infra.twin.control import plain_only
from infra.twin.permissions import RANK
from infra.twin.shapes import repository, user
from infra.twin.state import Actor, App, Installation, Repo, World, node_id, stamp

SECONDS_TO_ANSWER = 10.0
LARGEST_PAYLOAD = 25_000_000
LONGEST_KEPT = 65_536
KEPT_FOR = timedelta(days=3)
"""How long an attempt can be found and sent again (github-facts 18)."""
PERMISSION_OF_EVENT = {
    "issues": "issues", "issue_comment": "issues", "pull_request": "pull_requests", "push": "contents",
    "label": "metadata", "repository": "metadata",
}
TREATMENTS = ("drop", "duplicate", "hold")


@dataclass(frozen=True)
class Delivery:
    """One attempt to deliver; a redelivery is another record with the same `guid`."""

    id: int
    guid: str
    event: str
    action: str | None
    installation_id: int | None
    repository_id: int | None
    body: bytes
    headers: dict[str, str]
    created: datetime
    redelivery: bool = False
    status: str = "pending"
    status_code: int = 0
    seconds: float = 0.0
    response_headers: dict[str, str] = field(default_factory=dict)
    response_body: str = ""


@dataclass
class Rule:
    """What happens to the next `times` deliveries of `event` (and `action`, when given): drop, duplicate or hold."""

    treatment: str
    event: str = ""
    action: str = ""
    times: int | None = 1


class Webhooks:
    """Builds, signs, records and sends. Deliveries leave one after another from one background thread."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._log: list[Delivery] = []
        self._held: list[int] = []
        self._rules: list[Rule] = []
        self._waiting: queue.Queue[int | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        self.seconds_to_answer = SECONDS_TO_ANSWER

    def start(self) -> None:
        """Begin to deliver."""
        self._thread = threading.Thread(target=self._deliver_all, name="twin-webhooks", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Deliver no more; what waits stays recorded as pending."""
        if self._thread:
            self._waiting.put(None)
            self._thread.join(self.seconds_to_answer + 2)

    def emit(self, event: str, action: str | None, repo: Repo, actor: Actor, **fields: Any) -> None:
        """Tell the App about something in a repository, when its installation may hear of it."""
        app, installation = self._world.app, self._world.installation_of(repo)
        if app is None or installation is None or not _may_hear(installation, event):
            return
        payload = {
            **({"action": action} if action else {}), **fields,
            "repository": fields.get("repository") or repository(self._world, repo),
            "sender": user(self._world, actor.person),
            "installation": {"id": installation.id, "node_id": node_id("MDIz", installation.id)},
        }
        if repo.owner.kind == "Organization":
            payload["organization"] = organization(self._world, repo)
        self._record(app, event, (installation.id, repo.id), payload)

    def emit_lifecycle(self, event: str, action: str, installation_id: int, payload: dict[str, Any]) -> None:
        """Tell the App about its installation; these events need no permission and no subscription."""
        if self._world.app is not None:
            self._record(self._world.app, event, (installation_id, None), {"action": action, **payload})

    def _record(self, app: App, event: str, where: tuple[int, int | None], payload: dict[str, Any]) -> None:
        body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        if app.hook_url is None or len(body) > LARGEST_PAYLOAD:
            return
        with self._world.lock:
            guid = str(uuid.uuid4())
            one = Delivery(
                self._world.next_id(), guid, event, payload.get("action"), where[0], where[1], body,
                headers(app, event, guid, body), self._world.now(),
            )
            self._send_by_rule(one)

    def _send_by_rule(self, one: Delivery) -> None:
        treatment = self._treatment(one)
        if treatment == "drop":
            self._log.append(replace(one, status="lost"))
            return
        self._log.append(one)
        if treatment == "hold":
            self._held.append(one.id)
            return
        self._waiting.put(one.id)
        if treatment == "duplicate":
            again = replace(one, id=self._world.next_id(), redelivery=True)
            self._log.append(again)
            self._waiting.put(again.id)

    def _treatment(self, one: Delivery) -> str:
        for rule in self._rules:
            fits = rule.event in {"", one.event} and rule.action in {"", one.action or ""}
            if fits and (rule.times is None or rule.times > 0):
                if rule.times is not None:
                    rule.times -= 1
                return rule.treatment
        return "send"

    def treat(self, rule: Rule) -> None:
        """Add a rule; ValueError for an unknown treatment."""
        if rule.treatment not in TREATMENTS:
            raise ValueError(f"treatment must be one of {', '.join(TREATMENTS)}")
        with self._world.lock:
            self._rules.append(rule)

    def clear_rules(self) -> None:
        """Treat deliveries normally again; held ones stay held."""
        with self._world.lock:
            self._rules.clear()

    def release(self, order: str = "first-first") -> int:
        """Send what is held, in order or (`last-first`) reversed; how many."""
        with self._world.lock:
            held = self._held if order == "first-first" else self._held[::-1]
            self._held = []
            for number in held:
                self._waiting.put(number)
            return len(held)

    def redeliver(self, delivery_id: int) -> Delivery:
        """A new attempt with the same GUID and bytes; LookupError when there is no such delivery any more."""
        with self._world.lock:
            first = self.find(delivery_id)
            if not self._is_kept(first):
                raise LookupError(delivery_id)
            app = self._world.app
            assert app is not None
            again = replace(
                first, id=self._world.next_id(), redelivery=True, status="pending", status_code=0,
                created=self._world.now(), headers=headers(app, first.event, first.guid, first.body),
                response_headers={}, response_body="", seconds=0.0,
            )
            self._log.append(again)
            self._waiting.put(again.id)
            return again

    def find(self, delivery_id: int) -> Delivery:
        """A record by id; LookupError."""
        for one in self._log:
            if one.id == delivery_id:
                return one
        raise LookupError(delivery_id)

    def log(self) -> list[Delivery]:
        """All records that GitHub would show, newest first (lost ones were never seen by anybody)."""
        with self._world.lock:
            shown = [one for one in self._log if one.status != "lost" and self._is_kept(one)]
            return sorted(shown, key=lambda one: -one.id)

    def _is_kept(self, one: Delivery) -> bool:
        return one.created > self._world.now() - KEPT_FOR

    def everything(self) -> list[Delivery]:
        """All records, also the lost ones, oldest first."""
        with self._world.lock:
            return sorted(self._log, key=lambda one: one.id)

    def idle(self, seconds: float) -> bool:
        """Wait until nothing waits to be sent; False when the time is over first."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            with self._world.lock:
                if all(one.status != "pending" or one.id in self._held for one in self._log):
                    return True
            time.sleep(0.005)
        return False

    def _deliver_all(self) -> None:
        with httpx.Client(trust_env=False, verify=plain_only()) as client:
            while (number := self._waiting.get()) is not None:
                with self._world.lock:
                    one = self.find(number)
                    app = self._world.app
                    url = app.hook_url if app else None
                settled = _attempt(client, url, one, self.seconds_to_answer)
                with self._world.lock:
                    self._log = [settled if known.id == settled.id else known for known in self._log]


def _attempt(client: httpx.Client, url: str | None, one: Delivery, limit: float) -> Delivery:
    started = time.monotonic()
    heads: dict[str, str] = {}
    body, code = "", 0
    try:
        if url is None:
            raise httpx.ConnectError("no address")
        answer = client.post(url, content=one.body, headers=one.headers, timeout=limit)
        code, heads, body = answer.status_code, dict(answer.headers), answer.text[:LONGEST_KEPT]
        status = "OK" if answer.is_success else f"Invalid HTTP Response: {code}"
    except httpx.TimeoutException:
        status = "timed out"
    except (httpx.HTTPError, httpx.InvalidURL):
        status = "failed to connect to host"
    seconds = round(time.monotonic() - started, 3)
    return replace(
        one, status=status, status_code=code, seconds=seconds, response_headers=heads, response_body=body
    )


def _may_hear(installation: Installation, event: str) -> bool:
    if installation.suspended:
        return False
    permission = PERMISSION_OF_EVENT[event]
    held = installation.permissions.get(permission, "read" if permission == "metadata" else "none")
    return event in installation.events and RANK[held] >= RANK["read"]


def headers(app: App, event: str, guid: str, body: bytes) -> dict[str, str]:
    """Every header that GitHub sends with a delivery (github-facts 14)."""
    key = app.hook_secret.encode()
    return {
        "Accept": "*/*", "Content-Type": "application/json", "User-Agent": "GitHub-Hookshot/7a11ed5",
        "X-GitHub-Delivery": guid, "X-GitHub-Event": event, "X-GitHub-Hook-ID": str(app.id * 10 + 1),
        "X-GitHub-Hook-Installation-Target-ID": str(app.id),
        "X-GitHub-Hook-Installation-Target-Type": "integration",
        "X-Hub-Signature": "sha1=" + hmac.new(key, body, hashlib.sha1).hexdigest(),
        "X-Hub-Signature-256": "sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest(),
    }


def organization(world: World, repo: Repo) -> dict[str, Any]:
    """The owning organization as payloads show it."""
    path = f"{world.url}/orgs/{repo.owner.login}"
    tails = ("repos", "events", "hooks", "issues")
    return {
        "login": repo.owner.login, "id": repo.owner.id, "node_id": node_id("O", repo.owner.id), "url": path,
        **{f"{tail}_url": f"{path}/{tail}" for tail in tails}, "members_url": f"{path}/members{{/member}}",
        "public_members_url": f"{path}/public_members{{/member}}",
        "avatar_url": f"{world.url}/_twin/avatars/{repo.owner.id}", "description": None,
    }


def item(one: Delivery) -> dict[str, Any]:
    """A record as the list shows it."""
    return {
        "id": one.id, "guid": one.guid, "delivered_at": stamp(one.created), "redelivery": one.redelivery,
        "duration": one.seconds, "status": one.status, "status_code": one.status_code, "event": one.event,
        "action": one.action, "installation_id": one.installation_id, "repository_id": one.repository_id,
        "throttled_at": None,
    }


def full(one: Delivery, url: str | None) -> dict[str, Any]:
    """A record with request and response."""
    return {
        **item(one), "url": url or "", "request": {"headers": one.headers, "payload": json.loads(one.body)},
        "response": {"headers": one.response_headers, "payload": one.response_body},
    }
