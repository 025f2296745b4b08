"""A yard: one twin, its control, a client that checks every answer, and a receiver that checks every webhook."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from infra.twin.app_key import new_private_key, public_key_of
from infra.twin.control import TwinControl, plain_only
from infra.twin.twin import AppWish, Twin
from tests.fakes.github.described import problems_of_answer, problems_of_webhook

SECRET = "It's a Secret to Everybody"
REPO = "octo/demo"
FILES = {"README.md": "hello\n", "src/app.py": "x = 1\ny = 2\n", "run.sh*": "#!/bin/sh\n"}
ALL = {"contents": "write", "issues": "write", "pull_requests": "write", "checks": "read", "metadata": "read"}


@dataclass
class Received:
    """One webhook as it arrived."""

    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> str:
        return self.headers["x-github-event"]

    @property
    def payload(self) -> dict[str, Any]:
        return dict(json.loads(self.body))

    @property
    def name(self) -> str:
        action = self.payload.get("action")
        return f"{self.event}.{action}" if action else self.event


@dataclass
class Receiver:
    """Takes webhooks; answers `status` after `seconds`."""

    url: str = ""
    status: int = 202
    seconds: float = 0.0
    seen: list[Received] = field(default_factory=list)

    def names(self) -> list[str]:
        return [one.name for one in self.seen]


@cache
def loaded(pem: str) -> Any:
    """The private key; reading one from text takes longer than signing with it."""
    return load_pem_private_key(pem.encode(), None)


def check_answer(response: httpx.Response) -> None:
    """Fail when an answer is not what GitHub's description allows."""
    response.read()
    request = response.request
    if response.status_code in {204, 304} or not response.content:
        return
    if not response.headers.get("content-type", "").startswith("application/json"):
        return
    version = request.headers.get("x-github-api-version", "2022-11-28")
    if request.url.path == "/rate_limit" and version != "2022-11-28":
        return
    found = problems_of_answer(request.method, request.url.path, response.status_code, response.json())
    assert not found, f"{request.method} {request.url.path} {response.status_code}: {found[:5]}"


@dataclass
class Yard:
    """What a test needs."""

    twin: Twin
    control: TwinControl
    http: httpx.Client
    key: str
    receiver: Receiver
    installation: dict[str, Any]
    repo: dict[str, Any]

    def jwt(self, **changes: Any) -> dict[str, str]:
        """Headers with an App JWT; claims may be changed."""
        now = int(time.time())
        claims = {"iat": now - 60, "exp": now + 540, "iss": "4711", **changes}
        return {"Authorization": "Bearer " + jwt.encode(claims, loaded(self.key), "RS256")}

    def mint(self, **body: Any) -> httpx.Response:
        """Ask for a token."""
        path = f"/app/installations/{self.installation['id']}/access_tokens"
        return self.http.post(path, headers=self.jwt(), json=body)

    def token(self, **permissions: str) -> dict[str, str]:
        """Headers with a token for this repository (all permissions when none are named)."""
        answer = self.mint(repository_ids=[self.repo["id"]], permissions=permissions or ALL)
        assert answer.status_code == 201, answer.text
        return {"Authorization": f"token {answer.json()['token']}"}

    def call(self, method: str, tail: str, headers: dict[str, str], body: Any = None) -> httpx.Response:
        """A REST call below the repository."""
        return self.http.request(method, f"/repos/{REPO}{tail}", headers=headers, json=body)

    def branch(self, headers: dict[str, str], name: str, files: dict[str, str]) -> str:
        """A branch with one commit on top of main, made through the Git database; the commit."""
        main = self.control.branches(REPO)["main"]
        tree = [{"path": path, "mode": "100644", "type": "blob", "content": text} for path, text in files.items()]
        made = self.call("POST", "/git/trees", headers, {"base_tree": main, "tree": tree}).json()["sha"]
        commit = self.call("POST", "/git/commits", headers, {"message": "m", "tree": made, "parents": [main]})
        sha = str(commit.json()["sha"])
        answer = self.call("POST", "/git/refs", headers, {"ref": f"refs/heads/{name}", "sha": sha})
        assert answer.status_code == 201, answer.text
        return sha

    def heard(self) -> list[str]:
        """Names of the webhooks received, once all are out; each is checked against GitHub's description."""
        assert self.control.settle()
        for one in self.receiver.seen:
            found = problems_of_webhook(one.event, one.payload)
            assert not found, f"{one.name}: {found[:5]}"
        return self.receiver.names()


@pytest.fixture(scope="session")
def app_key() -> str:
    return new_private_key()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    box = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            box.seen.append(Received({name.lower(): value for name, value in self.headers.items()}, body))
            time.sleep(box.seconds)
            self.send_response(box.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    box.url = f"http://127.0.0.1:{server.server_address[1]}/webhooks/github"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield box
    server.shutdown()
    server.server_close()


@pytest.fixture
def yard(tmp_path: Path, app_key: str, receiver: Receiver) -> Iterator[Yard]:
    wish = AppWish(public_key=public_key_of(app_key), hook_secret=SECRET)
    twin = Twin.start(tmp_path / "twin", wish)
    control = twin.control
    for login in ("mira", "outsider", "tess"):
        control.add_user(login)
    people = {"mira": "maintain", "tess": "triage"}
    repo = control.add_repo(REPO, FILES, collaborators=people, labels=["countersign", "bug"], private=True)
    installation = control.install("octo")
    control.set_hook(receiver.url)
    checks = {"response": [check_answer]}
    http = httpx.Client(base_url=twin.url, trust_env=False, verify=plain_only(), event_hooks=checks)
    yield Yard(twin, control, http, app_key, receiver, installation, repo)
    http.close()
    twin.stop()


@pytest.fixture
def public(yard: Yard) -> Yard:
    yard.control.change_repo(REPO, private=False)
    return yard
