"""The demo's stage: input, twin, scripted model and the product's processes, each started and ended here."""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from app.settings import MODEL_KEY, whole_number
from infra.demo.fetch_input import fetch_input
from infra.demo.reach import NETWORKS, reserved_networks
from infra.twin.app_key import write_key_pair
from infra.twin.control import TwinControl, tree_of_folder
from worker.box.processes import Process, start_process
from worker.up import Household

HUMANIZE = Path(__file__).parent / "humanize"
APP_ID = 4711
OWNER, NAME = "demo", "humanize"
READY_SECONDS = 60.0
HERE = "127.0.0.1,localhost"


class DemoRefused(Exception):
    """The demo cannot begin; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Told:
    """An issue as its author and others wrote it."""

    title: str
    body: str
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be played: a repository and issue (or its file) of the user's own, or the demo's own input."""

    repo: Path | None = None
    issue: Path | Told | None = None
    out: Path | None = None


@dataclass(frozen=True, slots=True)
class Ground:
    """What the stage is built on: its folder, web's port, the user's environment, and the way to clear it all."""

    folder: Path
    port: int
    env: dict[str, str]
    clearing: ExitStack

    def begin(self, words: list[str], log: Path, **more: str) -> Process:
        """A process of the stage that is not the product's; it ends with the stage."""
        process = start_process([sys.executable, *words], _plain(self.env) | more, log=log)
        self.clearing.callback(_ended, process)
        return process


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything that runs, and how to reach it."""

    control: TwinControl
    web_url: str
    ledger_url: str
    household: Household
    scripted: bool
    repo: str
    issue: int
    data: Path

    @property
    def issue_url(self) -> str:
        return f"{self.control.url}/{self.repo}/issues/{self.issue}"

    def pids(self) -> dict[str, int]:
        """Every product process by name."""
        return {name: member.process.pid for name, member in self.household.members.items()}


@contextmanager
def set_up(wish: Wish, env: Mapping[str, str], say: Callable[[str], None]) -> Iterator[Stage]:
    """The stage while the block lasts. Afterwards no process of it runs, and its folder is gone."""
    scripted = not env.get(MODEL_KEY, "").strip()
    if scripted and wish.repo is not None:
        raise DemoRefused(f"--repo needs real models: set {MODEL_KEY}. The scripted one knows the demo's issue only.")
    port = _port(env)
    say(
        "No model key is set: a SCRIPTED model plays the model's part for this one issue; everything else is real."
        if scripted
        else f"{MODEL_KEY} is set: real models do the work, and cost money."
    )
    given = _input(wish, env, say)
    networks = reserved_networks(env)
    if networks != env.get(NETWORKS, ""):
        say(f"Package registries stand at reserved addresses here, and set-ups may reach them: {networks}.")
    clearing = ExitStack()
    try:
        folder = Path(tempfile.mkdtemp(prefix="countersign-demo-"))
        clearing.callback(shutil.rmtree, folder, ignore_errors=True)
        yield _built(Ground(folder, port, {**env, NETWORKS: networks}, clearing), scripted, wish, given)
    finally:
        with undisturbed():
            clearing.close()


def _built(ground: Ground, scripted: bool, wish: Wish, given: tuple[Path, Told]) -> Stage:
    """Everything runs, and the issue is open."""
    logs = ground.folder / "logs"
    logs.mkdir()
    secret = secrets.token_hex(24)
    control, key = _twin(ground, secret)
    product = ground.env | _product_env(ground, control.url, secret, key)
    if scripted:
        product |= {MODEL_KEY: "scripted", "ANTHROPIC_BASE_URL": _scripted(ground)}
    household = Household(product, logs)
    ground.clearing.callback(household.stop)
    household.start()
    url = f"http://127.0.0.1:{ground.port}"
    _wait_ready(url, household, logs)
    repo = f"{OWNER}/{NAME if wish.repo is None else _name_of(wish.repo)}"
    number = _people_and_issue(control, repo, *given)
    return Stage(control, url, product["DATABASE_URL"], household, scripted, repo, number, ground.folder / "data")


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C does not break off what is inside: clearing up, and keeping what was made."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _input(wish: Wish, env: Mapping[str, str], say: Callable[[str], None]) -> tuple[Path, Told]:
    if wish.repo is not None and wish.issue is not None:
        return wish.repo, _own_issue(wish.repo, wish.issue)
    say("Bringing the input: the source of humanize 4.15.0, from the package index that pip is set up for.")
    cache = Path(env.get("XDG_CACHE_HOME", "") or Path.home() / ".cache") / "countersign"
    return fetch_input(cache), _titled((HUMANIZE / "issue.md").read_text("utf-8"))


def _titled(text: str) -> Told:
    title, _, body = text.strip().partition("\n")
    return Told(title.lstrip("# ").strip(), body.strip())


def _own_issue(repo: Path, issue: Path | Told) -> Told:
    """The user's own issue. Raises `DemoRefused` for what cannot be played."""
    if not repo.is_dir():
        raise DemoRefused(f"{repo} is not a folder.")
    if not any(path.name != ".git" for path in repo.iterdir()):
        raise DemoRefused(f"{repo} is empty.")
    if isinstance(issue, Told):
        return issue
    try:
        told = _titled(issue.read_text("utf-8"))
    except UnicodeDecodeError as error:
        raise DemoRefused(f"{issue} is not UTF-8 text.") from error
    except OSError as error:
        raise DemoRefused(f"{issue} cannot be read: {error.strerror}.") from error
    if not told.title:
        raise DemoRefused(f"{issue} is empty. Its first line is the issue's title, the rest its text.")
    return told


def _twin(ground: Ground, secret: str) -> tuple[TwinControl, Path]:
    private, public = write_key_pair(ground.folder)
    words = ["-m", "infra.twin", "--data", str(ground.folder / "twin"), "--app-id", str(APP_ID)]
    words += ["--app-public-key", str(public), "--webhook-url", f"http://127.0.0.1:{ground.port}/webhooks/github"]
    words += ["--webhook-secret-env", "TWIN_SECRET"]
    log = ground.folder / "twin.log"
    process = ground.begin(words, log, TWIN_SECRET=secret)
    told = json.loads(_first_line(log, process, "The GitHub look-alike"))
    return TwinControl(told["url"]), private


def _scripted(ground: Ground) -> str:
    words = ["-m", "infra.scripted_model", "--port", "0", "--script", str(HUMANIZE / "script.yaml")]
    log = ground.folder / "scripted.log"
    process = ground.begin(words, log)
    return _first_line(log, process, "The scripted model").rsplit(" ", 1)[-1]


def _ended(process: Process) -> None:
    process.terminate()
    if process.wait(5) is None:
        process.kill()
        process.wait(5)


def _product_env(ground: Ground, github: str, secret: str, key: Path) -> dict[str, str]:
    data = ground.folder / "data"
    # The stage is this machine alone, whatever is set for other things.
    directly = {name: ",".join(filter(None, (HERE, ground.env.get(name, "")))) for name in ("NO_PROXY", "no_proxy")}
    return {
        "GITHUB_API_URL": github,
        "GITHUB_APP_ID": str(APP_ID),
        "GITHUB_PRIVATE_KEY_PATH": str(key),
        "GITHUB_PRIVATE_KEY": "",
        **directly,
        "COUNTERSIGN_LABEL": "",
        "COUNTERSIGN_BOT_ID": "",
        "COUNTERSIGN_PAGES_PASSWORD": "",
        "COUNTERSIGN_URL": "",
        "GITHUB_CLIENT_ID": "",
        "GITHUB_CLIENT_SECRET": "",
        "GITHUB_WEBHOOK_SECRET": secret,
        "COUNTERSIGN_DATA_DIR": str(data),
        "DATABASE_URL": f"sqlite:///{data / 'ledger.db'}",
        "CELERY_BROKER_URL": "",
        "COUNTERSIGN_SWEEP_SECONDS": "1",
        "COUNTERSIGN_WATCH_SECONDS": "1",
        "HOST": "127.0.0.1",
        "PORT": str(ground.port),
    }


def _plain(env: Mapping[str, str]) -> dict[str, str]:
    return {name: env[name] for name in ("PATH", "LANG", "HOME", "VIRTUAL_ENV") if env.get(name)}


def _first_line(log: Path, process: Process, what: str) -> str:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        text = log.read_text("utf-8", "replace") if log.exists() else ""
        line = text.partition("\n")[0]
        if "\n" in text and not line.startswith(("Traceback", "  ")):
            return line
        if process.poll() is not None:
            raise DemoRefused(f"{what} did not start: {text[-500:]}")
        time.sleep(0.02)
    raise DemoRefused(f"{what} did not start in {READY_SECONDS:.0f} s.")


def _wait_ready(url: str, household: Household, logs: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    with httpx.Client(trust_env=False, timeout=5) as client:
        while time.monotonic() < deadline:
            for name, member in household.members.items():
                if member.process.poll() is not None:
                    tail = (logs / f"{name}.log").read_text("utf-8", "replace")[-800:]
                    raise DemoRefused(f"The process {name} ended at its start: {tail}")
            try:
                if client.get(f"{url}/readyz").text == "ready\n":
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.05)
    raise DemoRefused(f"The product was not ready within {READY_SECONDS:.0f} s.")


def _people_and_issue(control: TwinControl, repo: str, tree: Path, told: Told) -> int:
    for login in ("maintainer", "reporter"):
        control.add_user(login)
    try:
        files = tree_of_folder(tree)
    except OSError as error:
        raise DemoRefused(f"A file of {tree} cannot be read: {error}.") from error
    control.add_repo(repo, files, collaborators={"maintainer": "maintain"}, labels=["countersign"])
    control.install(repo.partition("/")[0])
    issue: dict[str, Any] = control.open_issue(repo, "reporter", told.title, told.body)
    for words in told.comments:
        control.comment(repo, int(issue["number"]), words, "reporter")
    # What was said before the label is taken in before it.
    control.settle()
    return int(issue["number"])


def _name_of(folder: Path) -> str:
    name = "".join(ch if ch.isalnum() or ch in "._-" else "-" for ch in folder.resolve().name).strip(".-")
    return name or "repository"


def _port(env: Mapping[str, str]) -> int:
    """Where web is to listen: `PORT`, or a free one. Raises `SettingsWrong` or `DemoRefused` where it cannot."""
    wanted = whole_number(env, "PORT", 0, (0, 65_535)) or 0
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", wanted))
        except OSError as error:
            raise DemoRefused(f"Port {wanted} cannot be had ({error.strerror}); set another PORT.") from error
        return int(sock.getsockname()[1])


def clone_bare(url: str, target: Path) -> None:
    """The repository as anybody would clone it."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", "--bare", url, str(target)], check=True, env=_plain(os.environ))
