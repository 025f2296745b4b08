"""The demo's stage: input, twin, scripted model and the product's processes, each started and ended here."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from infra.demo.fetch_input import fetch_input
from infra.twin.app_key import write_key_pair
from infra.twin.control import TwinControl, tree_of_folder
from worker.box.processes import Process, start_process
from worker.settings import MODEL_KEY
from worker.up import Household

HUMANIZE = Path(__file__).parent / "humanize"
APP_ID = 4711
OWNER, NAME = "demo", "humanize"
READY_SECONDS = 60.0


class DemoRefused(Exception):
    """The demo cannot begin; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be played: a repository and issue of the user's own, or the demo's own input."""

    repo: Path | None = None
    issue: Path | None = None
    out: Path | None = None


@dataclass(slots=True)
class Stage:
    """Everything that runs, and how to reach it."""

    folder: Path
    control: TwinControl
    web_url: str
    ledger_url: str
    household: Household
    others: dict[str, Process]
    scripted: bool
    repo: str
    issue: int
    began: float = field(default_factory=time.monotonic)

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
    say(
        "No model key is set: a SCRIPTED model plays the model's part for this one issue; everything else is real."
        if scripted
        else f"{MODEL_KEY} is set: real models do the work, and cost money."
    )
    tree, title, body = _input(wish, say)
    folder = Path(tempfile.mkdtemp(prefix="countersign-demo-"))
    started: list[Process] = []
    household: Household | None = None
    try:
        logs = folder / "logs"
        logs.mkdir()
        others: dict[str, Process] = {}
        port = int(env.get("PORT") or 0) or _free_port()
        secret = secrets.token_hex(24)
        others["twin"], control, key = _twin(folder, port, secret, env)
        started.append(others["twin"])
        product = dict(env) | _product_env(folder, control.url, port, secret, key)
        if scripted:
            others["scripted model"], url = _scripted(folder, env)
            started.append(others["scripted model"])
            product |= {MODEL_KEY: "scripted", "ANTHROPIC_BASE_URL": url}
        household = Household(product, logs)
        household.start()
        _wait_ready(f"http://127.0.0.1:{port}", household, logs)
        repo = f"{OWNER}/{NAME if wish.repo is None else _name_of(wish.repo)}"
        number = _people_and_issue(control, repo, tree, title, body)
        yield Stage(
            folder,
            control,
            f"http://127.0.0.1:{port}",
            product["DATABASE_URL"],
            household,
            others,
            scripted,
            repo,
            number,
        )
    finally:
        if household is not None:
            household.stop()
        for process in started:
            process.terminate()
            if process.wait(5) is None:
                process.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _input(wish: Wish, say: Callable[[str], None]) -> tuple[Path, str, str]:
    if wish.repo is not None and wish.issue is not None:
        if not wish.repo.is_dir():
            raise DemoRefused(f"{wish.repo} is not a folder.")
        try:
            title, _, body = wish.issue.read_text("utf-8").strip().partition("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise DemoRefused(f"The issue in {wish.issue} cannot be read: {error}.") from error
        return wish.repo, title.lstrip("# ").strip() or "An issue", body.strip()
    say("Bringing the input: the source of humanize 4.15.0, from the package index that pip is set up for.")
    cache = Path(os.environ.get("XDG_CACHE_HOME", "") or Path.home() / ".cache") / "countersign"
    tree = fetch_input(cache)
    title, _, body = (HUMANIZE / "issue.md").read_text("utf-8").strip().partition("\n")
    return tree, title.lstrip("# ").strip(), body.strip()


def _twin(folder: Path, port: int, secret: str, env: Mapping[str, str]) -> tuple[Process, TwinControl, Path]:
    private, public = write_key_pair(folder)
    words = [sys.executable, "-m", "infra.twin", "--data", str(folder / "twin"), "--app-id", str(APP_ID)]
    words += ["--app-public-key", str(public), "--webhook-url", f"http://127.0.0.1:{port}/webhooks/github"]
    words += ["--webhook-secret-env", "TWIN_SECRET"]
    log = folder / "twin.log"
    process = start_process(words, _plain(env) | {"TWIN_SECRET": secret}, log=log)
    told = json.loads(_first_line(log, process, "the GitHub look-alike"))
    return process, TwinControl(told["url"]), private


def _scripted(folder: Path, env: Mapping[str, str]) -> tuple[Process, str]:
    words = [sys.executable, "-m", "infra.scripted_model", "--port", "0", "--script", str(HUMANIZE / "script.yaml")]
    log = folder / "scripted.log"
    process = start_process(words, _plain(env), log=log)
    return process, _first_line(log, process, "the scripted model").rsplit(" ", 1)[-1]


def _product_env(folder: Path, github: str, port: int, secret: str, key: Path) -> dict[str, str]:
    data = folder / "data"
    return {
        "GITHUB_API_URL": github,
        "GITHUB_APP_ID": str(APP_ID),
        "GITHUB_PRIVATE_KEY_PATH": str(key),
        "GITHUB_PRIVATE_KEY": "",
        "GITHUB_WEBHOOK_SECRET": secret,
        "COUNTERSIGN_DATA_DIR": str(data),
        "DATABASE_URL": f"sqlite:///{data / 'ledger.db'}",
        "CELERY_BROKER_URL": "",
        "COUNTERSIGN_SWEEP_SECONDS": "1",
        "COUNTERSIGN_WATCH_SECONDS": "1",
        "HOST": "127.0.0.1",
        "PORT": str(port),
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
                if client.get(f"{url}/readyz").status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.05)
    raise DemoRefused(f"The product was not ready within {READY_SECONDS:.0f} s.")


def _people_and_issue(control: TwinControl, repo: str, tree: Path, title: str, body: str) -> int:
    for login in ("maintainer", "reporter"):
        control.add_user(login)
    control.add_repo(repo, tree_of_folder(tree), collaborators={"maintainer": "maintain"}, labels=["countersign"])
    control.install(repo.partition("/")[0])
    issue: dict[str, Any] = control.open_issue(repo, "reporter", title, body)
    return int(issue["number"])


def _name_of(folder: Path) -> str:
    name = "".join(ch if ch.isalnum() or ch in "._-" else "-" for ch in folder.resolve().name).strip(".-")
    return name or "repository"


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def clone_bare(url: str, target: Path) -> None:
    """The repository as anybody would clone it."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", "--bare", url, str(target)], check=True, env=_plain(os.environ))
