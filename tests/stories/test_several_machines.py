"""The product as on several machines: its own processes, PostgreSQL, Redis and a mint on the network."""

import os
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy import make_url

from app.core.belts import Belt
from app.core.missed import ROUND
from app.core.recording import RECORDS
from app.core.run import Proposed, Published, State
from app.ledger import migrate, open_ledger
from app.ledger.roles import roles_sql
from app.ledger.store import Ledger
from infra.scripted_model.server import ScriptedModel
from infra.twin.twin import AppWish, Twin
from tests.fakes.greeting import FILES, ISSUE, SCRIPT
from tests.fakes.household import REPO, SECRET, app_key
from tests.fakes.processes import told_of_each
from worker.box.processes import Process, start_process

pytestmark = [pytest.mark.needs_userns, pytest.mark.slow]

PATIENCE_SECONDS = 90.0
Tend = Callable[[], object]


class World:
    """GitHub and the model, people, and the environment that the product's processes are made from."""

    def __init__(self, folder: Path, ledger_url: str, the_script: Mapping[str, Any]) -> None:
        self.folder = folder
        self.twin = Twin.start(folder / "twin", AppWish(public_key=app_key()[1]))
        self.control = self.twin.control
        self.model = ScriptedModel.start(the_script)
        self.ledger_url = ledger_url
        self.logs = folder / "logs"
        self.logs.mkdir()
        self.tend: Tend = lambda: None
        port = free_port()
        self.web_url = f"http://127.0.0.1:{port}"
        self.env = {
            "PATH": os.environ["PATH"],
            "GITHUB_API_URL": self.twin.url,
            "GITHUB_APP_ID": str(self.twin.app.id),
            "GITHUB_PRIVATE_KEY": app_key()[0],
            "GITHUB_WEBHOOK_SECRET": SECRET,
            "ANTHROPIC_API_KEY": "a key for stories",
            "ANTHROPIC_BASE_URL": self.model.url,
            "DATABASE_URL": ledger_url,
            "COUNTERSIGN_DATA_DIR": str(folder / "data"),
            "COUNTERSIGN_SWEEP_SECONDS": "0.5",
            "COUNTERSIGN_WATCH_SECONDS": "0.2",
            "COUNTERSIGN_LEASE_SECONDS": "2",
            "PORT": str(port),
        }
        self.control.set_hook(f"{self.web_url}/webhooks/github", SECRET)
        for login in ("mira", "olga"):
            self.control.add_user(login)
        self.control.add_repo(REPO, FILES, collaborators={"mira": "maintain"})
        self.control.install("acme")
        title, _, body = ISSUE.partition("\n")
        self.control.open_issue(REPO, "olga", title, body)

    @cached_property
    def ledger(self) -> Ledger:
        """Opened once the processes have made it."""
        return open_ledger(self.ledger_url)

    def ready(self) -> bool:
        """Whether the web process takes deliveries."""
        try:
            with httpx.Client(trust_env=False, timeout=5) as client:
                return client.get(f"{self.web_url}/readyz").status_code == 200
        except httpx.HTTPError:
            return False

    def state(self) -> State | None:
        """Where the issue's run stands; None before there is one."""
        runs = self.ledger.runs()
        view = self.ledger.run(runs[0].id) if runs else None
        return view.state if view else None

    def until(self, what: Callable[[], object]) -> None:
        """Waits until it is so, and keeps the processes going meanwhile."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not what():
            self.tend()
            assert time.monotonic() < deadline, self.told()
            time.sleep(0.1)

    def at_rest(self) -> bool:
        """Nothing is owed and no token lives."""
        return self.ledger.debts() == () and all(one["revoked"] for one in self.control.tokens())

    def told(self) -> str:
        """What is said to whoever looks for the reason."""
        logs = {path.name: path.read_text("utf-8", "replace")[-1500:] for path in self.logs.iterdir()}
        return f"{self.state()}\n{logs}"

    def close(self) -> None:
        """Nothing of this world runs any more."""
        self.ledger.close()
        self.model.stop()
        self.twin.stop()


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def processes_of(folder: Path) -> list[str]:
    """Whatever runs with this story's data folder in its environment, by its command line."""
    own = {pid for pid, environment in told_of_each("environ") if str(folder / "data").encode() in environment}
    return [words.replace(b"\0", b" ").decode() for pid, words in told_of_each("cmdline") if pid in own]


def accounts(world: World) -> dict[str, str]:
    """The ledger's address for each process, under an account of its own that may write its own facts alone."""
    prefix, url = f"t_{secrets.token_hex(4)}", make_url(world.ledger_url)
    with psycopg.connect(world.ledger_url.replace("+psycopg", ""), autocommit=True) as owner:
        owner.execute(roles_sql(prefix).encode())
        for process in RECORDS:
            made = f"CREATE ROLE {prefix}_{process}_account LOGIN PASSWORD 'a' IN ROLE {prefix}_{process}"
            owner.execute(made.encode())
    made_for = {process: url.set(username=f"{prefix}_{process}_account", password="a") for process in RECORDS}
    return {process: address.render_as_string(hide_password=False) for process, address in made_for.items()}


@contextmanager
def over_the_network(world: World) -> Iterator[dict[str, Process]]:
    """Each process by itself, with only what it may hold; the belts prove themselves to the mint."""
    migrate(world.ledger_url)
    port = free_port()
    common = {name: world.env[name] for name in world.env if name.startswith(("PATH", "CELERY", "COUNTER"))}
    ledgers = accounts(world)
    github = {"GITHUB_API_URL": world.env["GITHUB_API_URL"]}
    models = {name: world.env[name] for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")}
    credentials = {belt: secrets.token_hex(16) for belt in Belt}
    holds = {
        "mint": github
        | {name: world.env[name] for name in ("GITHUB_APP_ID", "GITHUB_PRIVATE_KEY")}
        | {f"COUNTERSIGN_MINT_CREDENTIAL_{belt.upper()}": credentials[belt] for belt in Belt}
        | {"COUNTERSIGN_MINT_LISTEN": f"127.0.0.1:{port}"},
        "web": {name: world.env[name] for name in ("GITHUB_WEBHOOK_SECRET", "PORT")},
        "beat": {},
    }
    words = {"mint": ["worker.main", "mint"], "web": ["app.main"], "beat": ["worker.main", "beat"]}
    for belt in Belt:
        line = {"COUNTERSIGN_MINT": f"127.0.0.1:{port}", "COUNTERSIGN_MINT_CREDENTIAL": credentials[belt]}
        holds[belt.value] = github | line | (models if belt is not Belt.PUBLISHER else {})
        words[belt.value] = ["worker.main", "worker", belt.value]
    with ExitStack() as stack:
        started = {}
        for name, said in words.items():
            environment = common | holds[name] | ({"DATABASE_URL": ledgers[name]} if name in ledgers else {})
            process = start_process([sys.executable, "-m", *said], environment, log=world.logs / f"{name}.log")
            stack.callback(ended, process)
            started[name] = process
        world.tend = lambda: [world_stands(world, started)]
        yield started


def world_stands(world: World, started: Mapping[str, Process]) -> None:
    """Nobody ends by itself."""
    assert [name for name, process in started.items() if process.poll() is not None] == [], world.told()


def ended(process: Process) -> None:
    process.terminate()
    if process.wait(20) is None:
        process.kill()
        process.wait(5)


def label_to_draft(world: World, approve: Callable[[int], object]) -> None:
    """The main story, as the clock runs."""
    world.until(world.ready)
    world.control.label(REPO, 1, "countersign", "mira")
    world.until(lambda: isinstance(state := world.state(), Proposed) and state.proposal.comment_id)
    proposed = world.state()
    assert isinstance(proposed, Proposed) and proposed.proposal.comment_id
    before = len([one for one in world.control.tokens() if one["permissions"].get("contents") == "write"])
    assert before == 0
    approve(proposed.proposal.comment_id)
    world.until(lambda: isinstance(world.state(), Published))
    world.until(world.at_rest)
    (pull,) = world.control.pulls(REPO)
    assert pull["draft"] is True and pull["body"].startswith("Fixes #1")
    assert b"hello" in world.control.branch_files(REPO, pull["head"]["ref"])["greet.sh"]
    writing = [one for one in world.control.tokens() if one["permissions"].get("contents") == "write"]
    assert len(writing) == 1 and writing[0]["repository_ids"] == [pull["base"]["repo"]["id"]]


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make(ledger_url: str = f"sqlite:///{tmp_path / 'data' / 'ledger.db'}", the_script: Any = SCRIPT) -> World:
        made.append(World(tmp_path, ledger_url, the_script))
        return made[-1]

    yield make
    for world in made:
        world.close()


def test_on_several_machines_with_postgresql_redis_and_a_mint_on_the_network(
    make_world: Callable[..., World], postgres_url: str, redis_url: str
) -> None:
    world = make_world(postgres_url)
    world.env["CELERY_BROKER_URL"] = redis_url
    with over_the_network(world):
        label_to_draft(world, lambda _: world.control.comment(REPO, 1, "/approve", "mira"))
        # The mint looked for missed deliveries from its start.
        assert "/app/hook/deliveries" in {one["path"] for one in world.control.journal()}
        assert world.ledger.due_at(ROUND) is not None
    said = "".join(path.read_text("utf-8", "replace") for path in world.logs.iterdir())
    assert "may not do that in the database" not in said and "Traceback" not in said
    assert processes_of(world.folder) == []
