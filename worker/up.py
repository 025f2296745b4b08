"""Everything on one machine: each part its own process, with only the environment that it may hold."""

import logging
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from app.core.belts import Belt
from app.ledger import migrate
from app.settings import data_dir, ledger_url, web_settings
from worker.box.environment import registry_variables
from worker.box.processes import Process, Speech, start_process
from worker.github.key import private_key_of
from worker.settings import MODEL_KEY, belt_settings, mint_settings

GRACE_SECONDS = 10.0
STEADY_SECONDS = 30.0
"""A process that lived so long begins again without a pause."""
LONGEST_PAUSE = 30.0

_LOG = logging.getLogger("countersign.up")

_EVERYBODY = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "COUNTERSIGN_DATA_DIR",
    "DATABASE_URL",
    "CELERY_BROKER_URL",
    "COUNTERSIGN_SWEEP_SECONDS",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
)
_GITHUB = ("GITHUB_API_URL", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "NO_PROXY", "https_proxy", "no_proxy")
_MODELS = (
    MODEL_KEY,
    "ANTHROPIC_BASE_URL",
    "COUNTERSIGN_PLANNER_MODEL",
    "COUNTERSIGN_EXECUTOR_MODEL",
    "COUNTERSIGN_SCOUT_MODEL",
)
_BELT = ("COUNTERSIGN_LEASE_SECONDS", "COUNTERSIGN_WATCH_SECONDS")

HOLDS: Mapping[str, tuple[str, ...]] = {
    "web": (
        "GITHUB_WEBHOOK_SECRET",
        "GITHUB_WEBHOOK_SECRET_OLD",
        "COUNTERSIGN_LABEL",
        "COUNTERSIGN_BOT_ID",
        "COUNTERSIGN_PAGES_PASSWORD",
        "HOST",
        "PORT",
    ),
    "mint": ("GITHUB_APP_ID", "GITHUB_PRIVATE_KEY", "GITHUB_PRIVATE_KEY_PATH", *_GITHUB),
    "planner": (*_MODELS, *_GITHUB, *_BELT),
    "executor": (*_MODELS, *_GITHUB, *_BELT, "COUNTERSIGN_BWRAP"),
    "publisher": (*_GITHUB, *_BELT),
    "beat": (),
}
"""Which variables each process gets, beside those that everybody may have."""


@dataclass(slots=True)
class _Member:
    name: str
    process: Process
    began: float
    falls: int = 0


@dataclass(slots=True)
class Household:
    """The product's processes on one machine. `logs` is a folder for one log file each, or None for the terminal."""

    env: Mapping[str, str]
    logs: Path | None = None
    members: dict[str, _Member] = field(default_factory=dict)
    _lines: socket.socket | None = None
    _pauses: dict[str, float] = field(default_factory=dict)

    def start(self) -> None:
        """Settings are checked, the ledger is brought up to date, then all six begin; raises `SettingsWrong`."""
        checked(self.env)
        data_dir(self.env).mkdir(mode=0o711, parents=True, exist_ok=True)
        migrate(ledger_url(self.env))
        self._start_mint_and_belts()
        self._begin("web", ["-m", "app.main"])
        self._begin("beat", ["-m", "worker.main", "beat"])

    def tend(self) -> None:
        """Whoever has fallen is started again, after a pause that grows with each fall."""
        for name, member in list(self.members.items()):
            status = member.process.poll()
            if status is None:
                continue
            if name not in self._pauses:
                steady = time.monotonic() - member.began > STEADY_SECONDS
                member.falls = 1 if steady else member.falls + 1
                pause = min(0.5 * 2.0**member.falls, LONGEST_PAUSE)
                _LOG.warning("%s ended with status %s; it begins again in %.0f s", name, status, pause)
                self._pauses[name] = time.monotonic() + pause
            if time.monotonic() >= self._pauses[name]:
                del self._pauses[name]
                self._again(name, member.falls)

    def stop(self) -> None:
        """Every process has ended: asked first, made to after ten seconds; the mint last, since it ends the tokens."""
        order = [name for name in self.members if name != "mint"] + ["mint"]
        for names in (order[:-1], order[-1:]):
            present = [self.members[name].process for name in names if name in self.members]
            for process in present:
                if process.poll() is None:
                    process.terminate()
            deadline = time.monotonic() + GRACE_SECONDS
            for process in present:
                if process.wait(max(deadline - time.monotonic(), 0.05)) is None:
                    process.kill()
                    process.wait(5)
        self.members.clear()

    def _again(self, name: str, falls: int) -> None:
        if name == "mint":
            # The belts' lines ended with it; they are started again with new ones.
            for belt in Belt:
                self.members[belt.value].process.terminate()
                if self.members[belt.value].process.wait(GRACE_SECONDS) is None:
                    self.members[belt.value].process.kill()
            self._start_mint_and_belts()
        elif name in set(Belt):
            self._begin_belt(Belt(name))
        elif name == "web":
            self._begin("web", ["-m", "app.main"])
        else:
            self._begin("beat", ["-m", "worker.main", "beat"])
        self.members[name].falls = falls

    def _start_mint_and_belts(self) -> None:
        ours, theirs = socket.socketpair()
        self._lines = ours
        extra = {"COUNTERSIGN_MINT_LINES_FD": str(theirs.fileno())}
        self._begin("mint", ["-m", "worker.main", "mint"], extra, (theirs.fileno(),))
        theirs.close()
        for belt in Belt:
            self._begin_belt(belt)

    def _begin_belt(self, belt: Belt) -> None:
        assert self._lines is not None
        belts_end, mints_end = socket.socketpair()
        socket.send_fds(self._lines, [belt.value.encode()], [mints_end.fileno()])
        extra = {"COUNTERSIGN_MINT_FD": str(belts_end.fileno())}
        self._begin(belt.value, ["-m", "worker.main", "worker", belt.value], extra, (belts_end.fileno(),))
        mints_end.close()
        belts_end.close()

    def _begin(
        self, name: str, words: list[str], extra: Mapping[str, str] | None = None, descriptors: tuple[int, ...] = ()
    ) -> None:
        environment = held_by(name, self.env) | dict(extra or {})
        log = self.logs / f"{name}.log" if self.logs else Speech.INHERIT
        process = start_process([sys.executable, *words], environment, descriptors, log)
        self.members[name] = _Member(name, process, time.monotonic())


def held_by(name: str, env: Mapping[str, str]) -> dict[str, str]:
    """The environment of one process: what everybody may have, what it may hold, and nothing else."""
    held = {key: env[key] for key in (*_EVERYBODY, *HOLDS[name]) if env.get(key)}
    if name == "executor":
        # It prepares check environments from the package clients' own configuration.
        held |= registry_variables(env)
    return held


def checked(env: Mapping[str, str]) -> None:
    """Raises `SettingsWrong` or `KeyRefused` for anything that would stop a process at its start."""
    web_settings(held_by("web", env))
    mint = mint_settings(held_by("mint", env) | {"COUNTERSIGN_MINT_LINES_FD": "3"})
    private_key_of(mint.private_key, mint.key_variable)
    for belt in Belt:
        belt_settings(belt, held_by(belt.value, env) | {"COUNTERSIGN_MINT_FD": "3"})


def up(env: Mapping[str, str]) -> int:
    """Runs everything until it is told to stop."""
    household = Household(env)
    stopping = threading.Event()
    _on_signal(stopping.set)
    household.start()
    try:
        while not stopping.wait(0.5):
            household.tend()
    finally:
        household.stop()
    return 0


def _on_signal(stop: Callable[[], None]) -> None:
    def told(number: int, frame: FrameType | None) -> None:
        stop()

    signal.signal(signal.SIGTERM, told)
    signal.signal(signal.SIGINT, told)
