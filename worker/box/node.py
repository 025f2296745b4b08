"""Prepares what a Node.js project's tests need: resolved and unpacked by npm outside the box, and no script runs.

Only packages of the registry are taken, each with the hash that the lock file or the registry gives; the registry is
whatever npm's own configuration names, never what the repository says. The project's own `.npmrc` is not read, but for
the one switch that decides which tree npm makes.
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from worker.box.environment import (
    CannotPrepare,
    CheckEnvironment,
    EnvironmentUnavailable,
    Package,
    Workshop,
    alone,
    digest_of,
    registry_variables,
    seal,
    write_whole,
)
from worker.box.keeping import Hold, hold
from worker.box.tool import ToolFailure, run_tool

NODE = "/usr/bin/node"
NPM = "/usr/bin/npm"
KIND = "node"
LOCKS = ("npm-shrinkwrap.json", "package-lock.json")
OTHER_LOCKS = ("pnpm-lock.yaml", "yarn.lock")
_FORMAT = "1"
_SECONDS = 600.0
_LARGEST_FILE = 64 * 1024 * 1024
_MANIFESTS = 500
_PEERS = re.compile(r"^\s*legacy-peer-deps\s*=\s*true\s*$", re.MULTILINE)
_ELSEWHERE = re.compile(r"^(git|github|gitlab|bitbucket|gist|ssh|https?|file|link|portal)[+:]|^[\w.-]+/[\w.-]+(#|$)")
_AWAY = re.compile(r"\b(ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|ECONNRESET|code E(429|5\d\d))\b")
SETS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_INSIDE = PurePosixPath("/tools/0")
_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--no-progress")


@dataclass(frozen=True, slots=True)
class _Project:
    """The manifests by path, the lock without addresses (if there is one), and whether old rules on peers hold."""

    manifests: Mapping[str, Mapping[str, Any]]
    lock: Mapping[str, Any] | None
    lock_name: str
    legacy_peers: bool
    unread_locks: tuple[str, ...] = ()
    """Lock files of other clients, where there is none of npm."""


def build_node_environment(snapshot: Path, workshop: Workshop) -> CheckEnvironment | EnvironmentUnavailable:
    """The packages of the project in the directory, from the cache where they were unpacked before.

    A second build for the same manifests and lock starts no npm. Several processes may build at once.
    """
    try:
        project = _read(snapshot)
        request = digest_of(_FORMAT, _version(), project.manifests, project.lock, project.legacy_peers)
        directory = workshop.cache / KIND / request
        with alone(workshop.cache / "locks", request):
            use = hold(directory)
            record = workshop.cache / "resolved" / f"{request}.json"
            if not record.exists() or not directory.is_dir():
                _install(project, workshop, directory)
            return _environment(directory, json.loads(record.read_text()), use, project)
    except CannotPrepare as error:
        return error.told()


def _chosen_anew(project: _Project) -> tuple[str, ...]:
    if not project.unread_locks:
        return ()
    locks = " and ".join(f"`{name}`" for name in project.unread_locks)
    return (f"The packages for the checks were chosen anew by npm: {locks} is not read for them.",)


def _environment(directory: Path, record: Mapping[str, Any], use: Hold, project: _Project) -> CheckEnvironment:
    links = {f"/work/{path}": str(_INSIDE / path) for path in record["folders"]}
    packages = tuple(Package(**entry) for entry in record["packages"])
    digest = digest_of(directory.name, record)
    return CheckEnvironment(directory, NODE, (), digest, packages, KIND, links, use, _chosen_anew(project))


def _read(snapshot: Path) -> _Project:
    """What package.json files and the lock say. Raises CannotPrepare for what would be taken from elsewhere."""
    if (snapshot / "node_modules").exists():
        raise CannotPrepare("The repository holds a `node_modules` of its own.", "Its checks run without preparation.")
    manifests = {path: _json(snapshot / path) for path in _manifests(snapshot)}
    for path, manifest in manifests.items():
        _must_be_registrys(path, manifest)
    name = next((one for one in LOCKS if (snapshot / one).is_file()), "")
    lock = _unaddressed(name, _json(snapshot / name)) if name else None
    unread = tuple(one for one in OTHER_LOCKS if not name and (snapshot / one).is_file())
    rules = snapshot / ".npmrc"
    text = rules.read_text(errors="replace") if rules.is_file() and not rules.is_symlink() else ""
    return _Project(manifests, lock, name, _PEERS.search(text) is not None, unread)


def _manifests(snapshot: Path) -> list[str]:
    """The paths of the root's package.json and of those that can be workspaces, in order."""
    if not isinstance(_json(snapshot / "package.json").get("workspaces"), list | dict):
        return ["package.json"]
    found = []
    for folder, folders, names in _walk(snapshot):
        folders[:] = sorted(one for one in folders if one != "node_modules" and not (folder / one).is_symlink())
        if "package.json" in names and not (folder / "package.json").is_symlink():
            found.append((folder / "package.json").relative_to(snapshot).as_posix())
        if len(found) > _MANIFESTS:
            raise CannotPrepare(f"The repository holds more than {_MANIFESTS} package.json files.", "")
    return sorted(found)


def _walk(top: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    for folder, folders, names in os.walk(top):
        yield Path(folder), folders, names


def _must_be_registrys(path: str, manifest: Mapping[str, Any]) -> None:
    for kind in SETS:
        wanted = manifest.get(kind)
        for name, spec in wanted.items() if isinstance(wanted, dict) else ():
            if not isinstance(spec, str) or (_ELSEWHERE.search(spec) and not spec.startswith("npm:")):
                raise CannotPrepare(
                    f"`{path}` wants {name} from elsewhere than the registry ({str(spec)[:100]}).",
                    "Only packages of the registry are prepared.",
                )


def _unaddressed(name: str, lock: Mapping[str, Any]) -> Mapping[str, Any]:
    """The lock without the addresses in it: npm takes them from its own registry, and compares the hashes.

    A link into the tree (a workspace) stays; anything else that is not the registry's is refused.
    """
    packages = lock.get("packages")
    if not isinstance(packages, dict):
        raise CannotPrepare(f"`{name}` is of a form older than npm 7.", "Write it anew with a current npm.")
    kept: dict[str, Any] = {}
    for place, entry in packages.items():
        if not isinstance(entry, dict) or not _inside(place):
            raise CannotPrepare(f"`{name}` names a place outside the repository: {place[:100]}.", "")
        resolved = str(entry.get("resolved", ""))
        if entry.get("link"):
            if not _inside(resolved):
                raise CannotPrepare(f"`{name}` links to a place outside the repository: {resolved[:100]}.", "")
            kept[place] = entry
            continue
        if resolved.startswith(("git", "ssh", "file:")) or (resolved and "integrity" not in entry):
            raise CannotPrepare(f"`{name}` takes {place[:100]} from elsewhere than the registry.", "")
        kept[place] = {key: value for key, value in entry.items() if key != "resolved"}
    return {**{key: value for key, value in lock.items() if key != "dependencies"}, "packages": kept}


def _inside(place: str) -> bool:
    path = PurePosixPath(place)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in place


def _install(project: _Project, workshop: Workshop, directory: Path) -> None:
    """The directory is there with everything in it, or not at all."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=".making-", dir=directory.parent))
    try:
        for path, manifest in project.manifests.items():
            target = place / path
            target.parent.mkdir(parents=True, exist_ok=True)
            # npm itself would run these around an installation; without them there is nothing to leave out.
            target.write_text(json.dumps({key: value for key, value in manifest.items() if key != "scripts"}))
        if project.lock is not None:
            (place / project.lock_name).write_text(json.dumps(project.lock))
        _npm(project, workshop, place)
        folders, packages = _folders(place), _packages(place)
        _point_at_work(place, folders)
        seal(place)
        record = {"folders": folders, "packages": packages}
        write_whole(workshop.cache / "resolved" / f"{directory.name}.json", json.dumps(record))
        try:
            place.rename(directory)
        except OSError:
            if not directory.is_dir():
                raise
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _npm(project: _Project, workshop: Workshop, place: Path) -> None:
    words = [NPM, "ci" if project.lock is not None else "install", *_OPTIONS]
    words += ["--legacy-peer-deps"] if project.legacy_peers else []
    environment = {**registry_variables(workshop.registry), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    try:
        ran = run_tool(words, cwd=place, environment=environment, timeout_seconds=_SECONDS)
    except ToolFailure as failure:
        reason, remedy = f"npm did not come to an end: {failure}.", "Is the registry reachable?"
        raise CannotPrepare(reason, remedy, passing=True) from failure
    if ran.exit_status != 0:
        raise _explained(ran.stderr.decode(errors="replace"), project)


def _explained(stderr: str, project: _Project) -> CannotPrepare:
    lines = [line.removeprefix("npm error").strip() for line in stderr.splitlines()]
    said = " ".join(line for line in lines if line and "complete log of this run" not in line)[:400]
    if "EUSAGE" in said and project.lock is not None:
        return CannotPrepare(f"`{project.lock_name}` does not fit package.json: {said}.", "Write the lock file anew.")
    if _AWAY.search(said):
        reason, remedy = f"The package registry cannot be reached: {said}.", "Check the network and npm's settings."
        return CannotPrepare(reason, remedy, passing=True)
    return CannotPrepare(f"npm could not install what the tests need: {said}.", "")


def _folders(place: Path) -> list[str]:
    """Every `node_modules` that is not within another one."""
    found = []
    for folder, folders, _ in _walk(place):
        if "node_modules" in folders:
            found.append((folder / "node_modules").relative_to(place).as_posix())
            folders.remove("node_modules")
    return sorted(found)


def _packages(place: Path) -> list[dict[str, str]]:
    record = place / "node_modules" / ".package-lock.json"
    if not record.is_file():
        return []
    entries = json.loads(record.read_text()).get("packages", {})
    return [
        {"name": path, "version": str(entry.get("version", "")), "sha256": str(entry.get("integrity", ""))}
        for path, entry in sorted(entries.items())
        if not entry.get("link")
    ]


def _point_at_work(place: Path, folders: list[str]) -> None:
    """Links to workspaces lead to the tree under test, not to the manifests beside the packages."""
    for name in folders:
        for folder, inner, names in _walk(place / name):
            for one in (*inner, *names):
                link = folder / one
                if not link.is_symlink():
                    continue
                target = (folder / link.readlink()).resolve(strict=False)
                if "node_modules" in target.relative_to(place).parts if target.is_relative_to(place) else True:
                    continue
                link.unlink()
                link.symlink_to(PurePosixPath("/work", target.relative_to(place).as_posix()))


def _version() -> str:
    try:
        ran = run_tool([NODE, "--version"], cwd=Path("/"), environment={}, timeout_seconds=10)
    except ToolFailure as failure:
        raise CannotPrepare(f"{failure}.", "Install the distribution's nodejs and npm.", passing=True) from failure
    if not Path(NPM).exists():
        raise CannotPrepare(f"There is no {NPM}.", "Install the distribution's npm.", passing=True)
    return ran.stdout.decode().strip()


def _json(path: Path) -> dict[str, Any]:
    """Raises CannotPrepare for a link, for what is too large, and for what is not a JSON object."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_FILE:
        raise CannotPrepare(f"`{path.name}` cannot be read.", "")
    try:
        value = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise CannotPrepare(f"`{path.name}` is not JSON.", "") from error
    if not isinstance(value, dict):
        raise CannotPrepare(f"`{path.name}` is not a JSON object.", "")
    return value
