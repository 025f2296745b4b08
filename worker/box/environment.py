"""What checks need beside the tree: the words for it, and the folder in which it is kept."""

import fcntl
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from worker.box.keeping import Hold
from worker.box.limits import GIB

PYTHON = "/usr/bin/python3"
KIND = "python"
_REGISTRY_PREFIXES = ("PIP_", "NPM_CONFIG_", "npm_config_")
_REGISTRY_NAMES = frozenset(
    {
        "HOME",
        "XDG_CONFIG_HOME",
        "XDG_CONFIG_DIRS",
        "XDG_CACHE_HOME",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS",
        "CARGO_HOME",
        "GOPROXY",
        "GOSUMDB",
        "GOENV",
    }
    | {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy"}
)


def registry_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Those of the variables that the package clients' own configuration consists of; no others reach them."""
    return {
        name: value
        for name, value in variables.items()
        if name in _REGISTRY_NAMES or name.startswith(_REGISTRY_PREFIXES)
    }


def _own_pip() -> Path | None:
    found = find_spec("pip")
    return Path(found.origin).parent if found is not None and found.origin else None


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where and with what environments are made.

    `cache` keeps them; `registry` is what `registry_variables` gave; `pip` is asked for its configuration, and
    `pip_folder` is the same one's code, which the box borrows. The environments of a cache take `most_bytes` at the
    most.
    """

    cache: Path
    registry: Mapping[str, str] = field(default_factory=dict)
    pip: tuple[str, ...] = (sys.executable, "-I", "-m", "pip")
    pip_folder: Path | None = field(default_factory=_own_pip)
    most_bytes: int = 10 * GIB


@dataclass(frozen=True, slots=True)
class CheckEnvironment:
    """A directory that an install run filled and that never changes any more; a command finds it at `/made`.

    For Python, `pythonpath` names what is in it after the folder of the tree from which the project's own packages
    are imported. `variables` and `links` are what a command carries to find it. `digest` names exactly this content.
    It is there for as long as `use` lives.
    """

    directory: Path
    program: str
    pythonpath: tuple[str, ...]
    digest: str
    kind: str = KIND
    links: Mapping[str, str] = field(default_factory=dict)
    use: Hold | None = field(default=None, compare=False, repr=False)
    notes: tuple[str, ...] = ()
    """What is to be told about how it was made, a sentence each."""

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables of a command that uses it."""
        return {"PYTHONPATH": ":".join(self.pythonpath)} if self.pythonpath else {}


@dataclass(frozen=True, slots=True)
class EnvironmentUnavailable:
    """The tests of this project cannot be prepared here; says nothing about the tests.

    `passing` is True where the cause lies outside the project and may be gone later: a registry that is away, a
    missing program. `unsure`: it may lie there, or in what the project asks for.
    """

    reason: str
    remedy: str
    passing: bool = False
    unsure: bool = False

    def __str__(self) -> str:
        return f"{self.reason} {self.remedy}".strip()


class CannotPrepare(Exception):
    """Why no environment can be made, in the words of `EnvironmentUnavailable`; for the preparing code only."""

    def __init__(self, reason: str, remedy: str, *, passing: bool = False, unsure: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.remedy, self.passing, self.unsure = reason, remedy, passing, unsure

    def told(self) -> EnvironmentUnavailable:
        """The same as a value."""
        return EnvironmentUnavailable(self.reason, self.remedy, self.passing, self.unsure)


def digest_of(*parts: object) -> str:
    """SHA-256 of the parts as JSON."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def write_whole(path: Path, text: str) -> None:
    """The file holds the text, and never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    Path(file.name).rename(path)


@contextmanager
def alone(folder: Path, name: str) -> Iterator[None]:
    """No other process on this machine is in here for the same name; a dead one holds nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
