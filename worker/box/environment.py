"""Prepares what a Python project's tests need: resolved, pinned by hash and installed by trusted code, outside the box.

Only wheels are used and no line of the project or of a dependency runs. The registry is whatever pip's own
configuration names.
"""

import fcntl
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from worker.box.keeping import Hold, hold
from worker.box.limits import GIB
from worker.box.project import Project, UnreadableProject, read_project
from worker.box.tool import ToolFailure, ToolRan, run_tool

PYTHON = "/usr/bin/python3"
KIND = "python"
_FORMAT = "2"
"""Part of every digest: to be raised when what is built from the same list changes."""
_RUNNER = "pytest"
_VERSION_MODULE = "written_by_the_build.py"
_RESOLVE_SECONDS = 180.0
_INSTALL_SECONDS = 300.0
_AWAY = ("Failed to establish a new connection", "NewConnectionError", "Max retries", "after connection broken")
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


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where and with what environments are made.

    `cache` keeps them; `registry` is what `registry_variables` gave; `pip` is a pip of version 22.3 or newer,
    which installs for the interpreter `python`. The environments of a cache take `most_bytes` at the most.
    """

    cache: Path
    registry: Mapping[str, str] = field(default_factory=dict)
    python: str = PYTHON
    pip: tuple[str, ...] = (sys.executable, "-I", "-m", "pip")
    most_bytes: int = 10 * GIB


@dataclass(frozen=True, slots=True)
class Package:
    """One installed package; `sha256` is that of its wheel, or the hash in the form of its registry."""

    name: str
    version: str
    sha256: str


@dataclass(frozen=True, slots=True)
class CheckEnvironment:
    """A directory that holds the packages and never changes any more.

    It is to be mounted as the first tool directory, which is `/tools/0`. For Python, `pythonpath` names it after
    the folder of the tree from which the project's own packages are imported. `variables` and `links` are what
    a command carries to find it. `digest` names exactly this content. It is there for as long as `use` lives.
    """

    directory: Path
    program: str
    pythonpath: tuple[str, ...]
    digest: str
    packages: tuple[Package, ...]
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


def build_environment(snapshot: Path, workshop: Workshop) -> CheckEnvironment | EnvironmentUnavailable:
    """The environment for the Python project in the directory, from the cache where it was made before.

    The first build for a list of requirements asks the registry and takes seconds; a second one starts no pip.
    Several processes may build at once.
    """
    try:
        project = read_project(snapshot)
        version = _python_version(workshop)
        _must_admit(project, version)
        request = digest_of(_FORMAT, version, asdict(project))
        with alone(workshop.cache / "locks", request):
            return _from_cache(workshop, project, request) or _made(workshop, project, request)
    except UnreadableProject as error:
        return EnvironmentUnavailable(f"The environment for the tests cannot be prepared: {error}.", "")
    except CannotPrepare as error:
        return error.told()


def _from_cache(workshop: Workshop, project: Project, request: str) -> CheckEnvironment | None:
    record = workshop.cache / "resolved" / f"{request}.json"
    if not record.exists():
        return None
    packages = tuple(Package(**entry) for entry in json.loads(record.read_text()))
    made = _environment(workshop, project, _content_digest(request, packages), packages)
    return made if made.directory.is_dir() else None


def _made(workshop: Workshop, project: Project, request: str) -> CheckEnvironment:
    packages = _resolve(workshop, project)
    made = _environment(workshop, project, _content_digest(request, packages), packages)
    if not made.directory.is_dir():
        _install(workshop, project, packages, made.directory)
    write_whole(workshop.cache / "resolved" / f"{request}.json", json.dumps([asdict(each) for each in packages]))
    return made


def _environment(workshop: Workshop, project: Project, digest: str, packages: tuple[Package, ...]) -> CheckEnvironment:
    """In use from now on, whether its directory is there or has yet to be made."""
    directory = workshop.cache / KIND / digest
    source = "/work" if project.source == "." else f"/work/{project.source}"
    return CheckEnvironment(
        directory,
        workshop.python,
        (source, "/tools/0"),
        digest,
        packages,
        links={f"/work/{path}": f"/tools/0/{_VERSION_MODULE}" for path in project.version_files},
        use=hold(directory),
    )


def _resolve(workshop: Workshop, project: Project) -> tuple[Package, ...]:
    """Exact versions with the hashes of their wheels, as pip would choose them now."""
    with tempfile.TemporaryDirectory(prefix="countersign-") as name:
        place = Path(name)
        (place / "wanted.txt").write_text("".join(f"{line}\n" for line in (*project.requirements, _RUNNER)))
        options = ["--dry-run", "--ignore-installed", "--report", "report.json", "-r", "wanted.txt"]
        _pip(workshop, options, place, _RESOLVE_SECONDS)
        try:
            report = json.loads((place / "report.json").read_text())
            chosen = [_package(entry) for entry in report["install"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CannotPrepare("pip gave a report that cannot be read.", "Use pip 22.3 or newer.") from error
    return tuple(sorted(chosen, key=lambda each: each.name))


def _package(entry: Mapping[str, dict[str, dict[str, dict[str, str]]]]) -> Package:
    metadata = entry["metadata"]
    return Package(
        str(metadata["name"]), str(metadata["version"]), entry["download_info"]["archive_info"]["hashes"]["sha256"]
    )


def _install(workshop: Workshop, project: Project, packages: tuple[Package, ...], directory: Path) -> None:
    """The directory is there with everything in it, or not at all."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=".making-", dir=directory.parent))
    try:
        target = place / "packages"
        pins = place / "pins.txt"
        pins.write_text("".join(f"{each.name}=={each.version} --hash=sha256:{each.sha256}\n" for each in packages))
        options = ["--require-hashes", "--no-deps", "--target", str(target), "-r", str(pins)]
        _pip(workshop, options, place, _INSTALL_SECONDS)
        _introduce(project, target)
        seal(target)
        try:
            target.rename(directory)
        except OSError:
            if not directory.is_dir():
                raise
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _introduce(project: Project, target: Path) -> None:
    """Says to `importlib.metadata` that the project is installed: its tests import it from the tree.

    What its build would have written from tags is kept beside the packages, and linked to where it is missing.
    """
    if project.version_files:
        (target / _VERSION_MODULE).write_text(project.version_module())
    if project.name is None:
        return
    place = target / f"{project.name.replace('-', '_')}-{project.version}.dist-info"
    if place.parent != target:
        raise CannotPrepare("The project's name is not a name.", "")
    place.mkdir(exist_ok=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project.name}\nVersion: {project.version}\n")
    lines: list[str] = []
    for group in dict.fromkeys(entry[0] for entry in project.entry_points):
        lines += [f"[{group}]"] + [f"{name} = {to}" for each, name, to in project.entry_points if each == group]
    (place / "entry_points.txt").write_text("".join(f"{line}\n" for line in lines))


def seal(target: Path) -> None:
    """Everything can be read by any account and written by none."""
    for folder, _, names in os.walk(target):
        for name in names:
            path = Path(folder, name)
            if path.is_symlink():
                continue
            path.chmod(0o555 if path.stat().st_mode & 0o100 else 0o444)
        if Path(folder) != target:
            Path(folder).chmod(0o555)
    # A directory without a right to write cannot be moved, so the top keeps its owner's.
    target.chmod(0o755)


def _pip(workshop: Workshop, options: list[str], place: Path, seconds: float) -> ToolRan:
    words = [*workshop.pip, "--python", workshop.python, "install", "--quiet", "--no-input", "--only-binary", ":all:"]
    environment = {
        **registry_variables(workshop.registry),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
    }
    try:
        ran = run_tool([*words, *options], cwd=place, environment=environment, timeout_seconds=seconds)
    except ToolFailure as failure:
        remedy = "Is the package index reachable?"
        raise CannotPrepare(f"pip did not come to an end: {failure}.", remedy, passing=True) from failure
    if ran.exit_status != 0:
        raise _explained(ran.stderr.decode(errors="replace"))
    return ran


def _explained(said: str) -> CannotPrepare:
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR: ")]
    reason = " ".join(errors or said.split()[-40:])[:400] or "it said nothing"
    if any(sign in said for sign in _AWAY):
        return CannotPrepare(
            f"The package index cannot be reached: {reason}.",
            "Check the network and pip's own configuration.",
            passing=True,
        )
    if "No module named pip" in said or "no such option: --python" in said:
        remedy = "Install one into the worker's environment."
        return CannotPrepare("There is no pip of version 22.3 or newer.", remedy, passing=True)
    if "(from versions: none)" in said:
        return CannotPrepare(
            f"The package index gave nothing: {reason}.",
            "Can it be reached, and does it have wheels for this Python?",
            unsure=True,
        )
    return CannotPrepare(
        f"pip found no wheels for what the tests need: {reason}.", "The checks of this repository cannot be run here."
    )


def _python_version(workshop: Workshop) -> str:
    words = [workshop.python, "-I", "-c", "import platform; print(platform.python_version(), platform.machine())"]
    try:
        ran = run_tool(words, cwd=Path("/"), environment={}, timeout_seconds=10)
    except ToolFailure as failure:
        raise CannotPrepare(f"{failure}.", "Install the distribution's Python 3.", passing=True) from failure
    if ran.exit_status != 0:
        raise CannotPrepare(f"{workshop.python} does not start.", "Install the distribution's Python 3.", passing=True)
    return ran.stdout.decode().strip()


def _must_admit(project: Project, version: str) -> None:
    """Raises CannotPrepare when the project is not for this interpreter."""
    try:
        admits = SpecifierSet(project.requires_python).contains(version.split(maxsplit=1)[0], prereleases=True)
    except InvalidSpecifier:
        return
    if not admits:
        raise CannotPrepare(
            f"The project needs Python {project.requires_python} and the system's is {version.split(maxsplit=1)[0]}.",
            "Its tests cannot be run on this machine.",
        )


def _content_digest(request: str, packages: tuple[Package, ...]) -> str:
    return digest_of(request, [asdict(each) for each in packages])


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
