"""The product's own processes for a story: each by itself, between the twin, a scripted model and real databases."""

import os
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import psycopg
from sqlalchemy import make_url

from app.core.belts import Belt
from app.core.recording import RECORDS
from app.core.run import State
from app.ledger import migrate, open_ledger
from app.ledger.roles import roles_sql
from app.ledger.store import Ledger
from infra.scripted_model.server import ScriptedModel
from infra.twin.twin import AppWish, Twin
from tests.fakes.greeting import FILES, ISSUE
from tests.fakes.household import REPO, SECRET, app_key
from tests.fakes.processes import told_of_each
from worker.box.processes import Process, start_process

PATIENCE_SECONDS = 90.0
Tend = Callable[[], object]


class World:
    """GitHub and the model, people, and the environment that the product's processes are made from."""

    def __init__(
        self, folder: Path, ledger_url: str, the_script: Mapping[str, Any], files: Mapping[str, str] = FILES
    ) -> None:
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
        self.control.add_repo(REPO, files, collaborators={"mira": "maintain"})
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
                return client.get(f"{self.web_url}/readyz").text == "ready\n"
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

    def has_one_of_everything(self) -> None:
        """One status comment, one plan, one pull request and its branch."""
        ours = [one["body"] for one in self.control.comments(REPO, 1) if one["user"]["login"].endswith("[bot]")]
        assert len(ours) == 2 and sum(one.startswith("### Plan") for one in ours) == 1
        (pull,) = self.control.pulls(REPO)
        assert set(self.control.branches(REPO)) == {"main", pull["head"]["ref"]}

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


class Machines:
    """Each process by itself, with only what it may hold; the belts prove themselves to the mint. `running` names
    those that are to run: whoever else ends, does so by itself."""

    def __init__(self, world: World) -> None:
        migrate(world.ledger_url)
        self._world = world
        self.running: dict[str, Process] = {}
        port = free_port()
        self._common = {name: world.env[name] for name in world.env if name.startswith(("PATH", "CELERY", "COUNTER"))}
        self._ledgers = accounts(world)
        github = {"GITHUB_API_URL": world.env["GITHUB_API_URL"]}
        models = {name: world.env[name] for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")}
        credentials = {belt: secrets.token_hex(16) for belt in Belt}
        self._holds = {
            "mint": github
            | {name: world.env[name] for name in ("GITHUB_APP_ID", "GITHUB_PRIVATE_KEY")}
            | {f"COUNTERSIGN_MINT_CREDENTIAL_{belt.upper()}": credentials[belt] for belt in Belt}
            | {"COUNTERSIGN_MINT_LISTEN": f"127.0.0.1:{port}"},
            "web": {name: world.env[name] for name in ("GITHUB_WEBHOOK_SECRET", "PORT")},
            "beat": {},
        }
        self._words = {"mint": ["worker.main", "mint"], "web": ["app.main"], "beat": ["worker.main", "beat"]}
        for belt in Belt:
            line = {"COUNTERSIGN_MINT": f"127.0.0.1:{port}", "COUNTERSIGN_MINT_CREDENTIAL": credentials[belt]}
            self._holds[belt.value] = github | line | (models if belt is not Belt.PUBLISHER else {})
            self._words[belt.value] = ["worker.main", "worker", belt.value]
        world.tend = lambda: world_stands(world, self.running)

    def begin(self, role: str, name: str = "") -> Process:
        """A process of this role runs; a second one of the same role needs a name of its own."""
        ledger = {"DATABASE_URL": self._ledgers[role]} if role in self._ledgers else {}
        environment = self._common | self._holds[role] | ledger
        command = [sys.executable, "-m", *self._words[role]]
        process = start_process(command, environment, log=self._world.logs / f"{name or role}.log")
        self.running[name or role] = process
        return process

    def begin_all(self, *but: str) -> None:
        """One of each role runs, except for these."""
        for role in self._words:
            if role not in but:
                self.begin(role)

    def end(self) -> None:
        """None runs any more."""
        for process in self.running.values():
            ended(process)


@contextmanager
def over_the_network(world: World, *but: str) -> Iterator[Machines]:
    """One process of each role, except for these, while the block lasts."""
    machines = Machines(world)
    try:
        machines.begin_all(*but)
        yield machines
    finally:
        machines.end()


def world_stands(world: World, started: Mapping[str, Process]) -> None:
    """Nobody ends by itself."""
    assert [name for name, process in started.items() if process.poll() is not None] == [], world.told()


def ended(process: Process) -> None:
    process.terminate()
    if process.wait(20) is None:
        process.kill()
        process.wait(5)
