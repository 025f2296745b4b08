"""Everything on one machine: each part its own process, with only the environment that it may hold."""

import logging
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from app.core.belts import Belt
from app.ledger import migrate
from app.settings import (
    DAY_USD,
    MODEL_KEY,
    PULL_SECRET,
    REPOSITORY_DAY_USD,
    SettingsWrong,
    data_dir,
    ledger_url,
    local_url,
    made_data_dir,
    public_url,
    web_settings,
    with_registered,
)
from app.web.links import new_link
from worker.box.environment import registry_variables
from worker.box.processes import Process, Speech, start_process
from worker.github.key import private_key_of
from worker.setting_up import EVERYBODY, GITHUB, is_set_up, set_up, tell_what_is_next
from worker.settings import beat_settings, belt_settings, mint_settings

GRACE_SECONDS = 10.0
STEADY_SECONDS = 30.0
"""A process that lived so long begins again without a pause."""
LONGEST_PAUSE = 30.0

_LOG = logging.getLogger("countersign.up")

_LEDGER = ("DATABASE_URL",)
_QUEUE = ("CELERY_BROKER_URL", "COUNTERSIGN_SWEEP_SECONDS")
_MODELS = (
    MODEL_KEY,
    "ANTHROPIC_BASE_URL",
    "COUNTERSIGN_PLANNER_MODEL",
    "COUNTERSIGN_EXECUTOR_MODEL",
    "COUNTERSIGN_SCOUT_MODEL",
    "COUNTERSIGN_MODELS",
    DAY_USD,
    REPOSITORY_DAY_USD,
)
_TEMPLATES = ("COUNTERSIGN_TEMPLATES", "COUNTERSIGN_TEMPLATE_VERSIONS", "COUNTERSIGN_TEMPLATE_CANDIDATES")
_DOCS = ("COUNTERSIGN_DOCS_HOSTS", "COUNTERSIGN_DOCS_NETWORKS", "COUNTERSIGN_DOCS_CA_FILE")
_BOX = (
    "COUNTERSIGN_BWRAP",
    "COUNTERSIGN_ENVIRONMENTS_GB",
    "COUNTERSIGN_BOX",
    "COUNTERSIGN_PODS_API",
    "COUNTERSIGN_PODS_NAMESPACE",
    "COUNTERSIGN_PODS_IMAGE",
    "COUNTERSIGN_PODS_RUNTIME_CLASS",
    "COUNTERSIGN_PODS_CLAIM",
    "COUNTERSIGN_PODS_VOLUME",
    "COUNTERSIGN_BOX_NETWORKS",
    "COUNTERSIGN_BOX_NAMES",
    "COUNTERSIGN_BOX_CGROUP",
    "COUNTERSIGN_BOX_LIMITS",
    "COUNTERSIGN_EGRESS",
)
_BOUNDS = ("COUNTERSIGN_BOUNDS",)
_BELT = (*_LEDGER, *_QUEUE, *GITHUB, "COUNTERSIGN_LEASE_SECONDS", "COUNTERSIGN_WATCH_SECONDS")
_PULL = (PULL_SECRET, "COUNTERSIGN_PULL_TO", "HOST", "PORT")
_MIRRORS = ("COUNTERSIGN_MIRROR_GB",)

HOLDS: Mapping[str, tuple[str, ...]] = {
    "web": (
        *_LEDGER,
        *_QUEUE,
        *GITHUB,
        "GITHUB_WEBHOOK_SECRET",
        "GITHUB_WEBHOOK_SECRET_OLD",
        "COUNTERSIGN_LABEL",
        "COUNTERSIGN_BOT_ID",
        "COUNTERSIGN_PAGES_PASSWORD",
        "COUNTERSIGN_URL",
        PULL_SECRET,
        "GITHUB_CLIENT_ID",
        "GITHUB_CLIENT_SECRET",
        "COUNTERSIGN_METRICS_TOKEN",
        "HOST",
        "PORT",
    ),
    "mint": (*_LEDGER, *GITHUB, *_BOUNDS, *_PULL, "GITHUB_APP_ID", "GITHUB_PRIVATE_KEY", "GITHUB_PRIVATE_KEY_PATH"),
    "planner": (*_BELT, *_MIRRORS, *_MODELS, *_TEMPLATES, *_DOCS, *_BOX),
    "executor": (*_BELT, *_MIRRORS, *_MODELS, *_TEMPLATES, *_BOX),
    "publisher": (*_BELT, *_BOUNDS, "COUNTERSIGN_LABEL"),
    "beat": _QUEUE,
}
"""Which variables each process gets, beside those that everybody may have."""

_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "web": ("-m", "app.main"),
    "mint": ("-m", "worker.main", "mint"),
    "beat": ("-m", "worker.main", "beat"),
    **{belt.value: ("-m", "worker.main", "worker", belt.value) for belt in Belt},
}


@dataclass(slots=True)
class Member:
    """One of the product's processes. `due`: when one that has fallen begins again, by the monotonic clock."""

    process: Process
    began: float
    falls: int = 0
    due: float | None = None

    @property
    def runs(self) -> bool:
        return self.process.poll() is None


@dataclass(slots=True)
class Household:
    """The product's processes on one machine. `logs` is a folder for one log file each, or None for the terminal."""

    env: Mapping[str, str]
    logs: Path | None = None
    members: dict[str, Member] = field(default_factory=dict)
    _lines: socket.socket | None = None

    def start(self) -> None:
        """Settings are checked, the ledger is brought up to date, then all six begin; raises `SettingsWrong`."""
        checked(self.env)
        made_data_dir(self.env)
        migrate(ledger_url(self.env))
        self._begin_mint_and_belts()
        self._begin("web")
        self._begin("beat")

    def tend(self) -> None:
        """Whoever has fallen is started again, after a pause that grows with each fall."""
        for name in list(self.members):
            if not self._is_due(name):
                continue
            try:
                self._begin_again(name)
            except OSError:
                _LOG.exception("%s could not be started; it is tried again", name)
                self.members[name].due = time.monotonic() + LONGEST_PAUSE

    def stop(self) -> None:
        """Every process has ended: asked first, made to after ten seconds; the mint last, since it ends the tokens."""
        self._end([name for name in self.members if name != "mint"])
        self._end(["mint"])
        self.members.clear()

    def _is_due(self, name: str) -> bool:
        member = self.members[name]
        if member.runs:
            return False
        if member.due is None:
            steady = time.monotonic() - member.began > STEADY_SECONDS
            member.falls = 1 if steady else member.falls + 1
            pause = min(0.5 * 2.0**member.falls, LONGEST_PAUSE)
            member.due = time.monotonic() + pause
            _LOG.warning("%s ended with status %s; it begins again in %.0f s", name, member.process.poll(), pause)
        return time.monotonic() >= member.due

    def _begin_again(self, name: str) -> None:
        if name == "mint":
            # The belts' lines ended with it; they are started again with new ones.
            self._end([belt.value for belt in Belt])
            self._begin_mint_and_belts()
        elif name not in set(Belt):
            self._begin(name)
        elif self.members["mint"].runs:
            self._begin_belt(Belt(name))

    def _begin_mint_and_belts(self) -> None:
        if self._lines is not None:
            self._lines.close()
        self._lines, theirs = socket.socketpair()
        with theirs:
            self._begin("mint", "COUNTERSIGN_MINT_LINES_FD", theirs)
        for belt in Belt:
            self._begin_belt(belt)

    def _begin_belt(self, belt: Belt) -> None:
        assert self._lines is not None
        belts_end, mints_end = socket.socketpair()
        with belts_end, mints_end:
            # Where the mint has fallen meanwhile, the belt finds its line broken, ends, and is started again.
            with suppress(OSError):
                socket.send_fds(self._lines, [belt.value.encode()], [mints_end.fileno()])
            self._begin(belt.value, "COUNTERSIGN_MINT_FD", belts_end)

    def _begin(self, name: str, variable: str = "", inherited: socket.socket | None = None) -> None:
        """Starts the process; `variable` tells it the number of the socket that it inherits."""
        environment = held_by(name, self.env)
        descriptors = (inherited.fileno(),) if inherited else ()
        if inherited:
            environment[variable] = str(inherited.fileno())
        log = self.logs / f"{name}.log" if self.logs else Speech.INHERIT
        process = start_process([sys.executable, *_COMMANDS[name]], environment, descriptors, log)
        falls = self.members[name].falls if name in self.members else 0
        self.members[name] = Member(process, time.monotonic(), falls)

    def _end(self, names: Iterable[str]) -> None:
        present = [self.members[name] for name in names if name in self.members]
        for member in present:
            if member.runs:
                member.process.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for member in present:
            if member.process.wait(max(deadline - time.monotonic(), 0.05)) is None:
                member.process.kill()
                member.process.wait(5)


def held_by(name: str, env: Mapping[str, str]) -> dict[str, str]:
    """The environment of one process: what everybody may have, what it may hold, and nothing else."""
    held = {key: env[key] for key in (*EVERYBODY, *HOLDS[name]) if env.get(key)}
    held |= {key: value for key, value in env.items() if key.startswith("OTEL_") and value}
    if name in ("planner", "executor"):
        # One prepares check environments from the package clients' own configuration, the other tells in a plan which
        # registries that names.
        held |= registry_variables(env)
    return held


def checked(env: Mapping[str, str]) -> None:
    """Raises `SettingsWrong` or `KeyRefused` for anything that would stop a process at its start."""
    web_settings(held_by("web", env))
    mint = mint_settings(held_by("mint", env) | {"COUNTERSIGN_MINT_LINES_FD": "3"})
    private_key_of(mint.private_key, mint.key_variable)
    beat_settings(held_by("beat", env))
    for belt in Belt:
        belt_settings(belt, held_by(belt.value, env) | {"COUNTERSIGN_MINT_FD": "3"})


def up(env: Mapping[str, str]) -> int:
    """Runs everything until it is told to stop; where no App is set up, that is done first."""
    stopping = threading.Event()
    _on_signal(stopping.set)
    if not is_set_up(env):
        if not set_up(env, _say, stopping.wait):
            return 0
        tell_what_is_next(env)
    household = Household(with_pull(env))
    try:
        household.start()
        web = web_settings(held_by("web", env))
        if web.pages_password is None and web.sign_in is None:
            _say(f"The pages, for you at this machine (the link works once): {new_link(data_dir(env), local_url(env))}")
        while not stopping.wait(0.5):
            household.tend()
    finally:
        household.stop()
    return 0


def with_pull(env: Mapping[str, str]) -> Mapping[str, str]:
    """The environment; with a secret of mint and receiver, made for this start, where deliveries are to be fetched:
    `COUNTERSIGN_PULL=yes`, or set-up found no address where GitHub could deliver and there still is none."""
    wanted = env.get("COUNTERSIGN_PULL", "").strip().lower()
    if not wanted and not env.get("GITHUB_APP_ID", "").strip() and not public_url(env):
        wanted = with_registered(env, ("COUNTERSIGN_PULL",)).get("COUNTERSIGN_PULL", "").strip()
    if wanted not in ("", "yes", "no"):
        raise SettingsWrong("COUNTERSIGN_PULL", "COUNTERSIGN_PULL is yes or no.")
    return {PULL_SECRET: secrets.token_hex(24), **env} if wanted == "yes" else env


def _say(words: str) -> None:
    print(words, flush=True)  # noqa: T201 (for the one who started it)


def _on_signal(stop: Callable[[], None]) -> None:
    def told(number: int, frame: FrameType | None) -> None:
        stop()

    signal.signal(signal.SIGTERM, told)
    signal.signal(signal.SIGINT, told)
