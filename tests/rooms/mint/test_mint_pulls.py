"""Without an address that GitHub reaches: the mint fetches deliveries from the log, a developer forwards a channel."""

import json
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from app.core.missed import ROUND
from app.forwarding import delivery_of, events, forward
from app.ledger import migrate
from app.settings import web_settings
from infra.twin.twin import AppWish, Twin
from tests.fakes.greeting import FILES
from tests.fakes.household import app_key
from tests.rooms.mint.conftest import CONNECTIONS
from tests.rooms.web.conftest import SECRET, running, wait_until
from worker.github.app import AppIdentity
from worker.mint.mint import Mint, Site
from worker.mint.pulling import Pulling, Receiver

PULL = "a secret of mint and receiver"
REPO = "acme/greet"


@pytest.fixture
def twin(tmp_path: Path):
    made = Twin.start(tmp_path / "twin", AppWish(public_key=app_key()[1]))
    made.control.add_user("mira")
    made.control.add_repo(REPO, FILES, collaborators={"mira": "maintain"})
    made.control.install("acme")
    made.control.open_issue(REPO, "mira", "Grüße fehlen", "größer als 1.0")
    yield made
    made.stop()


def settings(tmp_path: Path, **more: str):
    env = {"GITHUB_WEBHOOK_SECRET": SECRET, "COUNTERSIGN_DATA_DIR": str(tmp_path)} | more
    migrate(f"sqlite:///{tmp_path / 'ledger.db'}")
    return web_settings(env)


def test_what_github_could_deliver_to_nobody_is_fetched_once_and_believed_for_the_mints_word_alone(twin, tmp_path):
    twin.control.set_hook("http://127.0.0.1:9/nobody", SECRET)
    twin.control.label(REPO, 1, "countersign", "mira")
    twin.control.settle()
    with (
        running(settings(tmp_path, COUNTERSIGN_PULL_SECRET=PULL)) as door,
        AppIdentity(twin.url, str(twin.app.id), app_key()[0], settings=CONNECTIONS) as identity,
    ):
        mint = Mint(door.ledger, identity, Site(twin.url, CONNECTIONS), door.ledger.clock)
        forger = Pulling(door.ledger, mint, twin.url, door.ledger.clock)
        forger.to(Receiver(f"{door.url}/webhooks/github", "x" * 20))
        forger.round()
        assert not door.ledger.runs() and door.ledger.missing(), "a wrong secret is refused, and nothing counts as done"
        turn = door.ledger.take_turn(ROUND, datetime.now(UTC) + timedelta(hours=1), timedelta())
        assert turn is not None
        door.ledger.end_turn(turn, datetime.now(UTC) + timedelta(minutes=1))
        later = lambda: datetime.now(UTC) + timedelta(minutes=3)  # noqa: E731
        pulling = Pulling(door.ledger, mint, twin.url, later).to(Receiver(f"{door.url}/webhooks/github", PULL))
        for _ in range(4):
            pulling.round()
            due = door.ledger.due_at(ROUND)
            assert due is not None and due <= later() + timedelta(seconds=10)
            turn = door.ledger.take_turn(ROUND, due, timedelta())
            assert turn is not None
            door.ledger.end_turn(turn, later())
        (run,) = door.ledger.runs()
        assert run.issue_title == "Grüße fehlen"
        assert not door.ledger.missing()
        assert not [each for each in twin.control.deliveries() if each["redelivery"]], "nothing is asked for again"


def test_a_channel_is_forwarded_with_githubs_own_signature_and_no_other_is_believed(twin, tmp_path):
    twin.control.set_hook("http://127.0.0.1:9/nobody", SECRET)
    twin.control.label(REPO, 1, "countersign", "mira")
    twin.control.settle()
    (sent,) = [one for one in twin.forge.webhooks.log() if one.event == "issues" and one.action == "labeled"]
    told = {name.lower(): value for name, value in sent.headers.items()} | {"body": json.loads(sent.body)}
    forged = told | {"body": told["body"] | {"number": 2}, "x-github-delivery": "forged"}
    stream = [": hello", "event: ready", "data: {}", "", "data: no json", "", f"data: {json.dumps(forged)}", ""]
    stream += ["id: 1", f"data: {json.dumps(told)}", "", ""]
    server = ThreadingHTTPServer(("127.0.0.1", 0), channel("\n".join(stream).encode()))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    said: list[str] = []
    with running(settings(tmp_path)) as door:
        target = f"{door.url}/webhooks/github"
        words = (f"http://127.0.0.1:{server.server_port}/abc", target, said.append)
        threading.Thread(target=forward, args=words, daemon=True).start()
        wait_until(lambda: len(door.ledger.runs()) == 1 and len(said) >= 3)
    server.shutdown()
    assert "for development only" in said[0]
    assert said[1].startswith("issues forged: 401") and said[2].startswith(f"issues {sent.guid}: 202")


def channel(stream: bytes):
    """A handler that speaks as smee's channel does: these events, and then silence."""

    class Channel(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.wfile.write(stream)
            self.wfile.flush()
            threading.Event().wait(60)

        def log_message(self, *words):
            pass

    return Channel


def test_an_event_may_have_several_lines_and_what_is_no_delivery_is_none():
    assert list(events(["data: a", "data:b", "", ":c", "event: ping", "data: d", "", "data: cut"])) == [
        ("message", "a\nb"), ("ping", "d"),
    ]  # fmt: skip
    for data in ("{}", "[]", "x", '{"x-github-event": "issues"}'):
        assert delivery_of(data) is None
    told = delivery_of('{"x-github-event": "ping", "body": {"a": "ü", "b": [1, 2.5]}, "host": "evil"}')
    headers, body = told or ({}, b"")
    assert body == '{"a":"ü","b":[1,2.5]}'.encode() and "host" not in headers
