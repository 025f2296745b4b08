"""The words of the box: what is asked of it and what it answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol

from worker.box.egress.rules import Host, Reached

ALLOWED_VARIABLES = frozenset(
    {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "NODE_PATH", "NO_COLOR", "TZ"}
)
"""The only variables a command may carry into the box besides the fixed ones (sandbox 5.3)."""

INSTALL_VARIABLES = frozenset(
    {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "NPM_CONFIG_REGISTRY", "GOPROXY", "GONOSUMDB"}
    | {"GOSUMDB", "BUNDLE_MIRROR__ALL", "PIP_RETRIES", "PIP_DEFAULT_TIMEOUT", "NPM_CONFIG_FETCH_RETRIES"}
    | {"PIP_CERT", "NODE_EXTRA_CA_CERTS", "NPM_CONFIG_CAFILE", "SSL_CERT_FILE", "CARGO_HTTP_CAINFO"}
)
"""Where package clients look and whom they trust; for install runs, never with a user's name or password in them."""


_LINKED = ("/work/", "/tmp/home/")  # noqa: S108 (paths inside the box)


class Profile(StrEnum):
    """What a command may do with the tree at `/work` (sandbox 5.2)."""

    READ = "read"
    """The tree is read-only."""
    REPRO = "repro"
    """A throw-away copy; for the planner."""
    TEST = "test"
    """A throw-away copy; for checks."""
    WRITE = "write"
    """The tree itself, writable; trusted code collects the result afterwards."""
    INSTALL = "install"
    """A throw-away copy, the listed hosts, and a folder at `/made` for what is to stay; no scripts by default."""


@dataclass(frozen=True, slots=True)
class Command:
    """One program with its arguments, for the box. No shell reads it.

    The program starts in `/work`. `tools` are directories that trusted code prepared; the first is mounted
    read-only at `/tools/0`, the second at `/tools/1`, and so on. `environment` may only name
    `ALLOWED_VARIABLES`. `timeout_seconds` is cut to what the profile allows. With `trail` there is a channel
    beside its output: what is written to it comes back at once, so that nothing can take it back, and neither
    a sudden end nor a closed descriptor loses it. It is the one pipe above number 2 in `/proc/1/fd`.
    """

    argv: tuple[str, ...]
    timeout_seconds: float
    profile: Profile
    environment: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[Path, ...] = ()
    trail: bool = False
    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links that are made where nothing is yet in a throw-away copy or its home: place to target."""
    hosts: frozenset[Host] = frozenset()
    """What an install run may reach, over TLS and by its own proxy; nothing else can be reached at all."""
    made: Path | None = None
    """The folder at `/made`: an install run fills it, and trusted code judges what is in it; all others only read."""

    def __post_init__(self) -> None:
        """Raises ValueError for a command that no caller may make."""
        if not self.argv or not self.argv[0]:
            raise ValueError("a command needs a program")
        texts = (*self.argv, *self.environment, *self.environment.values())
        if any("\0" in text for text in texts):
            raise ValueError("a command may not contain a null character")
        installs = self.profile is Profile.INSTALL
        strangers = sorted(set(self.environment) - ALLOWED_VARIABLES - (INSTALL_VARIABLES if installs else set()))
        if strangers:
            raise ValueError(f"variables that may not enter the box: {', '.join(strangers)}")
        if not installs and self.hosts:
            raise ValueError("only an install run reaches hosts")
        if any("@" in self.environment.get(name, "") for name in INSTALL_VARIABLES):
            raise ValueError("an address with a user's name in it may not enter the box")
        if any(not path.startswith(_LINKED) or ".." in path.split("/") for path in self.links):
            raise ValueError("a link can only be made below /work and in the home of a run")
        if self.timeout_seconds <= 0:
            raise ValueError("a command needs a time limit above zero")


class Ended(StrEnum):
    """Why a command is over. Only `EXITED` carries an exit status."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    PIDS = "pids"
    OUTPUT = "output"
    DISK = "disk"
    CALLED_OFF = "called off"


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command that really started did. When this value exists, no process of the command is alive.

    `output` is standard output and standard error as they came, at most the profile's limit; where bytes were
    left out a line of its own between head and tail says how many. A program killed by signal N exits with
    128 + N; a program that is not there exits with 127. `seconds` leaves out the copying of the tree.
    `limits` is "hard" when a control group bounds memory and processes together, "soft" when they are bounded
    per process and by looking. `trail` is what was written to the command's trail, at most the profile's limit
    from its beginning; anything in the box may have written it. `trail_cut` says that there was more.
    """

    ended: Ended
    exit_status: int | None
    output: bytes
    dropped_bytes: int
    seconds: float
    cpu_seconds: float
    peak_memory_bytes: int | None
    limits: Literal["hard", "soft"]
    reached: tuple[Reached, ...] = ()
    """What an install run wished to reach, in the order of the wishes."""
    trail: bytes = b""
    trail_cut: bool = False


class Runs(Protocol):
    """What keeps the promise: bubblewrap on this machine, or pods on a cluster."""

    def run(self, tree: Path, command: Command, wanted: Callable[[], bool] = ...) -> "Ran | BoxUnavailable":
        """What the command did with the tree at `/work`, or why it could not start. When it returns no process of the
        command is alive. It is ended soon after `wanted` answers no. Raises ValueError for what no caller may hand
        over.
        """
        ...


@dataclass(frozen=True, slots=True)
class BoxUnavailable:
    """The command did not start, because the box cannot be had. Never a statement about the command.

    `reason` is what was seen; `remedy` is what the operator can do about it. `lasting`: it will be so again.
    """

    reason: str
    remedy: str
    lasting: bool = False

    def __str__(self) -> str:
        return f"{self.reason} {self.remedy}".strip()
