"""A web process of the product for each test: real HTTP on a free port, a real ledger, a real broker folder."""

import hashlib
import hmac
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from app.ledger import migrate, open_ledger
from app.ledger.store import Ledger
from app.main import make_server, make_web
from app.settings import WebSettings, web_settings
from app.web.body import LIMITS, Limits
from app.web.links import new_link
from app.web.live import PACE, Pace

SECRET = "It's a Secret to Everybody"
PATIENCE = 30.0
MB = 1024 * 1024
FORGED = "sha256=" + "0" * 64


def head(framing: str, signature: str = FORGED) -> bytes:
    """The head of a delivery; whoever sends it sends the body as it says."""
    return (
        "POST /webhooks/github HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\n"
        f"x-github-event: issues\r\nx-github-delivery: flood\r\nx-hub-signature-256: {signature}\r\n{framing}\r\n\r\n"
    ).encode()


def answer_of(connection: socket.socket) -> str:
    """The status line, or "cut" where the connection ended without one."""
    try:
        return connection.recv(65536).partition(b"\r\n")[0].decode() or "cut"
    except ConnectionError:
        return "cut"


def sign(body: bytes, secret: str = SECRET) -> str:
    """What GitHub puts into X-Hub-Signature-256."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def labeled(**changes: Any) -> dict[str, Any]:
    """The payload of `issues.labeled` with the trigger label, cut to what is read; `changes` replace keys of it."""
    person = {"id": 11, "login": "mira", "type": "User"}
    payload: dict[str, Any] = {
        "action": "labeled",
        "label": {"id": 1, "name": "countersign"},
        "issue": {
            "id": 2_600_000_001,
            "number": 7,
            "title": "Sizes roll over late",
            "body": "A megabyte is said to be 1000.0 kB.",
            "user": person,
            "state": "open",
            "labels": [{"name": "countersign"}],
        },
        "repository": {"id": 501, "full_name": "mira/sizes"},
        "installation": {"id": 901},
        "sender": person,
    }
    return payload | changes


def commented(body: str | None, **changes: Any) -> dict[str, Any]:
    """The payload of `issue_comment.created` on the same issue, written by a maintainer who is not its author."""
    person = {"id": 12, "login": "outsider", "type": "User"}
    payload = labeled(action="created", sender=person) | {
        "comment": {"id": 4_300_000_007, "body": body, "user": person},
    }
    del payload["label"]
    return payload | changes


@dataclass
class Door:
    """A running web process, as the outside sees it, and its ledger."""

    url: str
    ledger: Ledger
    data_dir: Path
    client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=PATIENCE))

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    def post(
        self, event: str, payload: Any, guid: str | None = None, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        """Post a signed delivery; bytes go out as they are. A header that is the empty string is left out."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        every = {
            "content-type": "application/json",
            "x-github-event": event,
            "x-github-delivery": guid or str(uuid4()),
            "x-hub-signature-256": sign(body),
        } | (headers or {})
        kept = {name: value for name, value in every.items() if value}
        return self.client.post(f"{self.url}/webhooks/github", content=body, headers=kept)

    def recorded(self) -> int:
        """How many deliveries the ledger holds."""
        return self.ledger.counts()["deliveries"]

    def rung(self) -> int:
        """How many doorbells wait in the broker's folder."""
        return len(list((self.data_dir / "queue" / "messages").glob("*.msg")))


@dataclass
class Process(Door):
    """The web process as it is started for real."""

    pid: int = 0

    def answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/healthz", timeout=PATIENCE).status_code == 200
        except httpx.TransportError:
            return False

    def peak_mb(self) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024


def wait_until(true: Callable[[], Any], seconds: float = PATIENCE) -> None:
    """Returns once `true()` is; fails the test after `seconds`."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.01)


@contextmanager
def running(
    settings: WebSettings, limits: Limits = LIMITS, pace: Pace = PACE, port: int = 0
) -> Iterator[Door]:
    """The product's server in a thread of this process, on a free port or on this one."""
    with ExitStack() as stack:
        settings.queue.data_dir.mkdir(exist_ok=True)
        web = make_web(settings, limits, pace)
        stack.enter_context(web.ending)
        listening = stack.enter_context(socket.create_server(("127.0.0.1", port)))
        server = make_server(settings, web.app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        wait_until(lambda: server.started)
        ledger = open_ledger(settings.ledger.url)
        stack.callback(ledger.close)
        door = Door(f"http://127.0.0.1:{listening.getsockname()[1]}", ledger, settings.queue.data_dir)
        stack.callback(door.client.close)
        if settings.pages_password is None and settings.sign_in is None:
            # Who sits at the machine comes in by a link, and stays.
            assert door.client.get(new_link(settings.queue.data_dir, door.url)).status_code == 303
        try:
            yield door
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


@contextmanager
def started(env: dict[str, str]) -> Iterator[Process]:
    """The product's web process on a free port; it ends well when it is told to."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = env | {"PORT": str(port), "PATH": os.environ["PATH"]}
    settings = web_settings(env)
    with subprocess.Popen([sys.executable, "-m", "app.main"], env=env) as running, ExitStack() as stack:
        stack.callback(running.kill)
        ledger = open_ledger(settings.ledger.url)
        stack.callback(ledger.close)
        process = Process(f"http://127.0.0.1:{port}", ledger, settings.queue.data_dir, pid=running.pid)
        stack.callback(process.client.close)
        wait_until(process.answers, 2 * PATIENCE)
        yield process
        running.terminate()
        assert running.wait(20) == 0


@pytest.fixture(scope="session")
def empty_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite ledger with tables and nothing in them, to be copied."""
    path = tmp_path_factory.mktemp("ledger") / "empty.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture
def env(tmp_path: Path, empty_ledger: Path) -> dict[str, str]:
    """The environment of a web process whose ledger is an empty SQLite file of this test's own."""
    shutil.copy(empty_ledger, tmp_path / "ledger.db")
    return {"GITHUB_WEBHOOK_SECRET": SECRET, "COUNTERSIGN_DATA_DIR": str(tmp_path)}


@pytest.fixture(scope="session")
def closed_door(tmp_path_factory: pytest.TempPathFactory, empty_ledger: Path) -> Iterator[Door]:
    """One web process for all tests of what is refused or ignored: its ledger must stay empty."""
    folder = tmp_path_factory.mktemp("closed")
    shutil.copy(empty_ledger, folder / "ledger.db")
    with running(web_settings({"GITHUB_WEBHOOK_SECRET": SECRET, "COUNTERSIGN_DATA_DIR": str(folder)})) as door:
        yield door


@pytest.fixture
def door(env: dict[str, str]) -> Iterator[Door]:
    """A running web process on SQLite."""
    with running(web_settings(env)) as door:
        yield door


@pytest.fixture
def door_on_both(ledger_url: str, tmp_path: Path) -> Iterator[Door]:
    """A running web process, once on SQLite and once on PostgreSQL."""
    migrate(ledger_url)
    env = {"GITHUB_WEBHOOK_SECRET": SECRET, "COUNTERSIGN_DATA_DIR": str(tmp_path), "DATABASE_URL": ledger_url}
    with running(web_settings(env)) as door:
        yield door
