"""A task's world: a GitHub look-alike, a ledger and the product's parts in this process, for this one task.

Nothing of the product is replaced. What would be seven processes are parts of one, as many worlds side by side as there
are tasks under way; each has a folder, a ledger and a look-alike of its own.
"""

import functools
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from app.core.belts import Belt
from app.core.facts import ExecutionHeld
from app.core.work_score import spent_of
from app.ledger import migrate, open_ledger
from app.ledger.outcomes import RunView
from app.queue import Doorbell, make_celery
from app.settings import DAY_USD, bounds_settings, web_settings
from infra.eval.task import Task
from infra.parts import MintPart, WebPart
from infra.twin.app_key import new_private_key, public_key_of
from infra.twin.control import TwinControl
from infra.twin.git_store import GitFailed
from infra.twin.twin import AppWish, Twin
from worker import tasks
from worker.github.app import AppIdentity
from worker.github.connection import ConnectionSettings
from worker.github.key import private_key_of
from worker.mint.caller import MintCaller
from worker.mint.mint import Mint, Site
from worker.repo.clone import Clone
from worker.settings import belt_settings
from worker.shop import Shop

SECRET = "known to the look-alike and to web"
MAINTAINER, REPORTER = "maintainer", "reporter"
HANDED_ON = ("COUNTERSIGN_BOUNDS", "COUNTERSIGN_BOX", "COUNTERSIGN_BWRAP", "COUNTERSIGN_DOCS_", "COUNTERSIGN_ENV")
NAMES_OF_MODELS = ("COUNTERSIGN_MODELS", "COUNTERSIGN_PLANNER_", "COUNTERSIGN_EXECUTOR_", "COUNTERSIGN_SCOUT_")
TEMPLATES = ("COUNTERSIGN_TEMPLATE",)
WAITS_SECONDS = 60.0
"""What has to be waited for longer than this stands in the way of a task."""


_MAKING = threading.Lock()
"""Worlds are made one after another: migrations of a ledger keep what they are at in one place of the process."""


class Unmade(Exception):
    """A task's world cannot be made; the message says why."""


class Stop:
    """Whether an evaluation is to end, and what breaks off what is under way."""

    def __init__(self) -> None:
        self.is_set = False
        """Whether everything is to end; set from any thread, and never taken back."""
        self._acts: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    def now(self) -> None:
        """Everything under way is broken off."""
        with self._lock:
            self.is_set, acts = True, list(self._acts)
        for act in acts:
            act()

    def calls(self, act: Callable[[], object]) -> Callable[[], None]:
        """`act` is called on the stop; what comes back takes that away."""
        with self._lock:
            self._acts.append(act)

        def forget() -> None:
            with self._lock:
                self._acts.remove(act)

        return forget


@dataclass(frozen=True, slots=True)
class Means:
    """What every world of an evaluation has: the user's environment, the model's address, and money for one task."""

    env: Mapping[str, str]
    model_url: str | None = None
    model_key: str = ""
    usd: str = ""
    stop: Stop = field(default_factory=Stop)
    seconds: float = 3_600.0
    """How long one task may take, from its label on; unseen tests have time limits of their own."""
    making_seconds: float = 120.0
    """How long one command may take that brings a task's repository into its world."""


@functools.cache
def _key() -> tuple[str, str]:
    private = new_private_key()
    return private_key_of(private, "the evaluation's key"), public_key_of(private)


def _too_long(seconds: float) -> str:
    return f"It took longer than the {seconds / 60:g} minutes that one task may take."


def now() -> datetime:
    """The time, aware and in UTC."""
    return datetime.now(UTC)


class World:
    """One task's world, from `begin` until `close`."""

    def __init__(self, folder: Path, means: Means) -> None:
        self.means = means
        self.broken_off = ""
        """Why nothing goes on here; empty while it does."""
        self._woken = threading.Event()
        self._ending: list[Callable[[], object]] = []
        self._make_ledger(folder)
        try:
            with _MAKING:
                self._make(folder)
        except BaseException:
            self.close()
            raise
        self._ending.append(means.stop.calls(lambda: self.break_off("It was broken off.")))

    def _make_ledger(self, folder: Path) -> None:
        self._url = f"sqlite:///{folder / 'ledger.db'}"
        with _MAKING:
            migrate(self._url)
            self.ledger = open_ledger(self._url)

    def _make(self, folder: Path) -> None:
        means = self.means
        self._twin = Twin.start(folder / "twin", AppWish(public_key=_key()[1]))
        self._ending.append(self._twin.stop)
        kept = {name: value for name, value in means.env.items() if name.startswith((*HANDED_ON, *TEMPLATES))}
        self._env = kept | {
            "GITHUB_API_URL": self._twin.url,
            "DATABASE_URL": self._url,
            "COUNTERSIGN_DATA_DIR": str(folder / "data"),
        }
        self._models = {
            name: value for name, value in means.env.items() if name.startswith((*NAMES_OF_MODELS, "ANTHROPIC_"))
        }
        if means.model_url is not None:
            self._models |= {"ANTHROPIC_BASE_URL": means.model_url, "ANTHROPIC_API_KEY": means.model_key}
        if means.usd:
            self._env[DAY_USD] = means.usd
        self.repository: Clone
        """The task's repository, and the commit on which its issue was opened; there once it is open."""
        self.base = ""
        self._start_web()
        self._start_mint()

    @property
    def control(self) -> TwinControl:
        """What people do in this world."""
        return self._twin.control

    def _start_web(self) -> None:
        web = WebPart(web_settings(self._env | {"GITHUB_WEBHOOK_SECRET": SECRET, "PORT": "0"}))
        self.control.set_hook(f"{web.url}/webhooks/github", SECRET)
        self._ending.append(web.stop)

    def _start_mint(self) -> None:
        connections = ConnectionSettings(write_gap_seconds=0.0)
        identity = AppIdentity(self._twin.url, str(self._twin.app.id), _key()[0], time.time, connections)
        identity.__enter__()
        site = Site(self._twin.url, connections, bounds_settings(self._env))
        part = MintPart(Mint(self.ledger, identity, site, self.ledger.clock), identity)
        self._ending.append(part.stop)
        self._shops = {belt: self._shop(belt, part) for belt in Belt}

    def _shop(self, belt: Belt, part: MintPart) -> Shop:
        env = self._env | {"COUNTERSIGN_MINT_FD": "3"} | ({} if belt is Belt.PUBLISHER else self._models)
        settings = belt_settings(belt, env)
        line = MintCaller(part.line(belt))
        return Shop(settings, self.ledger, Doorbell(make_celery(settings.queue)), line, self.ledger.clock)

    @property
    def executor(self) -> Shop:
        """The executor's process, for what is looked at after it."""
        return self._shops[Belt.EXECUTOR]

    # -- what happens in it ---------------------------------------------------------------------------------------

    def open(self, task: Task) -> int:
        """The task's repository is there with its issue, and a maintainer; the issue's number. Raises `Unmade`."""
        for login in (MAINTAINER, REPORTER):
            self.control.add_user(login)
        roles = {MAINTAINER: "maintain", REPORTER: "read"}
        shown = self.control.add_repo(
            task.repository, dict(task.files) or None, collaborators=roles, labels=["countersign"]
        )
        if task.clone is not None:
            self._bring(task.clone, task.commit, int(shown["id"]))
        self.repository = Clone(self._twin.forge.git.path(int(shown["id"])))
        self.base = self.repository.commit("refs/heads/main")
        self.control.install(task.repository.partition("/")[0])
        issue = self.control.open_issue(task.repository, REPORTER, task.title, task.body)
        over = threading.Timer(self.means.seconds, self.break_off, [_too_long(self.means.seconds)])
        over.daemon = True
        over.start()
        self._ending.append(over.cancel)
        return int(issue["number"])

    def _bring(self, clone: Path, commit: str, repository: int) -> None:
        """The commit and what it comes of, and nothing that came after it."""
        words = ["fetch", "-q", "--no-tags", str(clone.absolute()), f"{commit}:refs/heads/main"]
        try:
            self._twin.forge.git.git(repository, words, seconds=self.means.making_seconds)
        except GitFailed as error:
            raise Unmade(f"{clone} is no bare clone that has the commit {commit}: {error}") from error

    def rest(self) -> str:
        """Everything that is owed has been done; or what it waits for that will not come soon, in a sentence."""
        while not self.broken_off:
            self.control.settle()
            if self._once():
                continue
            debts = self.ledger.debts()
            if not debts:
                return ""
            held = self._held()
            due = [at for one in debts for at in (one.available_at, one.lease_until) if at is not None]
            waits = (min(due) - self.ledger.clock()).total_seconds() if due else 0.1
            if held or waits > WAITS_SECONDS:
                return held or next((one.why for one in debts if one.why), "It waits.")
            self._woken.wait(min(max(waits, 0.05), 1.0))
        return self.broken_off

    def _once(self) -> bool:
        busy = False
        for belt, shop in self._shops.items():
            for effect_id in self.ledger.owed(belt, self.ledger.clock()):
                busy = True
                tasks.work(shop, effect_id)
        return busy

    def _held(self) -> str:
        view = self.view()
        last = next((one.fact for one in reversed(view.facts)), None) if view else None
        return last.reason if isinstance(last, ExecutionHeld) else ""

    def view(self) -> RunView | None:
        """The run; None before there is one."""
        found = self.ledger.runs(1)
        return self.ledger.run(found[0].id) if found else None

    def break_off(self, why: str) -> None:
        """What is under way is broken off and given back, and nothing new begins here; other worlds go on. The first
        reason stays. From any thread."""
        self.broken_off = self.broken_off or why
        for shop in self._shops.values():
            shop.ending.break_off()
        self._woken.set()

    def taken(self) -> Decimal:
        """The most that models may have cost here: what was billed, and what was held for an answer that never came."""
        view = self.view()
        spent = spent_of(self.ledger.spans(view.id)).usd if view else Decimal(0)
        return max(spent, self.ledger.day(now()).taken)

    def close(self) -> None:
        """Nobody works any more, no token lives, and no server answers."""
        while self._ending:
            self._ending.pop()()
        self.ledger.close()
