"""The other side of the wire: a server on loopback that gives prepared answers and writes down what it was asked."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from worker.github.connection import Connection, ConnectionSettings, InstallationToken, connect
from worker.github.views import RepositoryRef

CANARY = "ghs_12345_" + "eyJhbGciOiJSUzI1NiJ9." + "A-b_c9" * 60 + ".sig-nature_0"
"""An installation token of the form GitHub hands out since 2026 (github-facts 53)."""

FAST = ConnectionSettings(connect_seconds=2, read_seconds=2, write_gap_seconds=0)


@dataclass(frozen=True)
class Answer:
    """What to answer; `hold` waits that many seconds first, `drop` closes the connection without a word."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    hold: float = 0.0
    drop: bool = False


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    port: int = 0
    """The client's port: the same for requests over the same connection."""

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}"


class Wire:
    """The server's other end for a test: `prepare` answers, then read `asked`."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.url = ""
        self._answers: dict[str, list[Answer]] = {}
        self._lock = threading.Lock()

    def prepare(self, line: str, *answers: Answer | tuple[int, Any]) -> None:
        """`line` is `METHOD /path`; the answers are given in turn and the last one stays."""
        made = [answer if isinstance(answer, Answer) else Answer(*answer) for answer in answers]
        self._answers[line] = made

    def lines(self) -> list[str]:
        return [asked.line for asked in self.asked]

    def next_answer(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            waiting = self._answers.get(asked.line)
            if not waiting:
                return Answer(404, {"message": "Not Found"})
            return waiting.pop(0) if len(waiting) > 1 else waiting[0]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One packet per answer: two make the client wait for an acknowledgement.
    wbufsize = 1 << 20
    wire: Wire

    def _serve(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(length) if length else b""
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(
            self.command, parts.path, query, headers, json.loads(raw) if raw else None, self.client_address[1]
        )
        answer = self.wire.next_answer(asked)
        time.sleep(answer.hold)
        if answer.drop:
            self.close_connection = True
            return
        content = b"" if answer.body is None else _bytes(answer.body)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value.replace("{url}", self.wire.url))
        self.send_header("Content-Length", str(len(content)))
        # Who asked may be gone by now: that is what some tests are about.
        with suppress(ConnectionError):
            self.end_headers()
            self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _serve

    def log_message(self, format: str, *args: object) -> None:
        return


def _bytes(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def open_wire() -> tuple[Wire, ThreadingHTTPServer]:
    wire = Wire()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("_Bound", (_Handler,), {"wire": wire}))
    server.daemon_threads = True
    wire.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    return wire, server


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire, server = open_wire()
    yield wire
    server.shutdown()
    server.server_close()


@pytest.fixture
def other_wire() -> Iterator[Wire]:
    """A second server: another host as far as credentials are concerned."""
    wire, server = open_wire()
    yield wire
    server.shutdown()
    server.server_close()


@pytest.fixture
def connection(wire: Wire) -> Iterator[Connection]:
    with connect(wire.url, InstallationToken(CANARY), FAST) as opened:
        yield opened


@pytest.fixture
def repository() -> RepositoryRef:
    return RepositoryRef(77, "mira/humanize")


WHEN = "2026-05-01T10:00:00Z"


@pytest.fixture
def comment_of() -> Callable[..., dict[str, Any]]:
    """A comment as REST shows it; `author` is an id, None for a deleted account."""

    def made(number: int, author: int | None = 500, body: str = "hello") -> dict[str, Any]:
        user = None if author is None else {"id": author, "login": f"user{author}", "type": "User", "novel": 1}
        return {
            "id": 4_300_000_000 + number, "node_id": f"IC_{number}", "body": body, "user": user,
            "created_at": WHEN, "updated_at": WHEN, "html_url": "", "reactions": {"total_count": 0},
            "issue_url": "https://api.github.com/repos/mira/humanize/issues/7",
        }  # fmt: skip

    return made


def pull(number: int, author: int = 900, state: str = "open", repo: int = 77) -> dict[str, Any]:
    """A pull request as REST shows it."""
    return {
        "number": number, "id": 9_000_000_000 + number, "node_id": f"PR_{number}", "state": state, "title": "t",
        "body": None, "draft": True, "merged_at": None, "html_url": f"http://x/{number}",
        "user": {"id": author, "login": "a", "type": "Bot"},
        "head": {"ref": "countersign/7-a", "sha": "c" * 40, "repo": {"id": repo, "full_name": "mira/humanize"}},
        "base": {"ref": "main", "sha": "b" * 40, "repo": {"id": 77, "full_name": "mira/humanize"}},
    }  # fmt: skip


@pytest.fixture
def pull_of() -> Callable[..., dict[str, Any]]:
    return pull
