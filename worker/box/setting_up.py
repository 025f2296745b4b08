"""Setting up: a repository's own commands make what its checks need, in the install profile, and it is kept.

They run for an approved plan alone, reach exactly the hosts that it names, and what they made is judged by trusted
code, named by its content and mounted read-only. It is used again while everything by which it was made is the same.
"""

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from app.core.fit import is_manifest
from app.core.verdict import Refused
from worker.box.command import BoxUnavailable, Command, Ended, Profile, Ran, Runs
from worker.box.egress.inside import PORT
from worker.box.egress.rules import NOT_LISTED, NOT_REACHED, NOT_RESOLVED, Host, Reached
from worker.box.environment import CheckEnvironment, EnvironmentUnavailable, Workshop, alone, digest_of, write_whole
from worker.box.keeping import clear, hold
from worker.box.made import OddResult, accept
from worker.box.mounts import HOME_INSIDE, MADE_INSIDE
from worker.box.staging import RUNS

KIND = "setup"
INSTALLING = Path(__file__).with_name("installing")
_FORMAT = "1"
_SECONDS = 600.0
_MOST_LINKS = 2_000
_TAIL = 1_500
_LARGEST_NAMED = 16 * 1024 * 1024
_AT_HOME = (
    "/usr/bin/env",
    f"HOME={MADE_INSIDE}/home",
    f"PATH={MADE_INSIDE}/home/.local/bin:/usr/bin:/bin",
    # What is only there to be fetched faster the next time is left behind.
    "XDG_CACHE_HOME=/tmp/cache",
    "NPM_CONFIG_CACHE=/tmp/cache/npm",
    # Java takes its home from the list of accounts, and a proxy from nothing but these.
    f"JAVA_TOOL_OPTIONS=-Duser.home={MADE_INSIDE}/home -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort={PORT}",
)
_INTERPRETERS = ("python3", "node", "npm", "go", "cargo", "rustc", "java", "mvn", "make", "cc", "ruby", "sh")
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")


@dataclass(frozen=True, slots=True)
class SetUp:
    """The approved commands with what they may reach. `scope` keeps apart what different repositories made."""

    commands: tuple[tuple[str, ...], ...]
    hosts: frozenset[Host]
    box: Runs
    scope: str
    variables: Mapping[str, str] = field(default_factory=dict)
    wanted: Callable[[], bool] = lambda: True
    programs: Path = Path("/usr/bin")
    """Where the box's programs are; another version of one is another file."""


def set_up(tree: Path, how: SetUp, workshop: Workshop) -> CheckEnvironment | EnvironmentUnavailable | Refused:
    """What the commands made for the tree, from the cache where they ran before on the same dependencies.

    A command that fails, or that reached for a host which is not named and then failed, is a refusal; a registry
    that is away is a reason that may pass.
    """
    request = _request(tree, how)
    directory = workshop.cache / KIND / request
    record = workshop.cache / "resolved" / f"{request}.json"
    with alone(workshop.cache / "locks", request):
        use = hold(directory)
        if not record.exists() or not directory.is_dir():
            made = _made(tree, how, directory)
            if not isinstance(made, Mapping):
                return made
            write_whole(record, json.dumps(made))
        told = json.loads(record.read_text())
    links = _links(directory, tree)
    if isinstance(links, Refused):
        return links
    return CheckEnvironment(
        directory, "", (), told["digest"], (), kind=KIND, links=links, use=use, notes=tuple(told["notes"])
    )


def _request(tree: Path, how: SetUp) -> str:
    """Names everything by which the result is decided: commands, hosts, registries, lock files, tools."""
    hosts, words = sorted(map(str, how.hosts)), [list(one) for one in how.commands]
    files = {path: digest_of((tree / path).read_bytes().hex()) for path in _decisive(tree, how)}
    return digest_of(_FORMAT, how.scope, words, hosts, dict(how.variables), files, dict(_tools(how)))


def _decisive(tree: Path, how: SetUp) -> Iterator[str]:
    """Manifests and lock files of the tree, and the files that a command names by its words."""
    named = {PurePosixPath(word).as_posix().removeprefix("./") for one in how.commands for word in one}
    for top, folders, names in os.walk(tree):
        folders[:] = sorted(one for one in folders if one not in (".git", "node_modules"))
        for name in sorted(names):
            place = Path(top, name)
            path = place.relative_to(tree).as_posix()
            plain = stat.S_ISREG(place.lstat().st_mode) and place.stat().st_size <= _LARGEST_NAMED
            if plain and (path in named or is_manifest(path) or path in _MAKEFILES):
                yield path


def _tools(how: SetUp) -> Iterator[tuple[str, list[object]]]:
    """The programs of the system by which it is made."""
    for name in sorted({*_INTERPRETERS, *(one[0] for one in how.commands)}):
        place = how.programs / name
        if "/" not in name and place.exists():
            real = place.resolve()
            seen = real.stat()
            yield name, [str(real), seen.st_size, seen.st_mtime_ns]


def _made(tree: Path, how: SetUp, directory: Path) -> Mapping[str, object] | EnvironmentUnavailable | Refused:
    """The directory is there with what was made in it, or not at all."""
    # The box's account has to reach it, so it is filled in a folder that only lets pass, and moved afterwards.
    place = Path(tempfile.mkdtemp(prefix="countersign-made-", dir=RUNS))
    place.chmod(0o711)
    filled = place / "made"
    filled.mkdir()
    words = (*_AT_HOME, "/usr/bin/python3", "-I", "-S", "/tools/0/set_up.py", json.dumps(how.commands))
    command = Command(words, _SECONDS, Profile.INSTALL, how.variables, (INSTALLING,), hosts=how.hosts, made=filled)
    try:
        ran = how.box.run(tree, command, how.wanted)
        if isinstance(ran, BoxUnavailable):
            return EnvironmentUnavailable(ran.reason, ran.remedy, passing=True)
        failed = _failed(ran)
        if failed is not None:
            return failed
        digest = accept(filled)
        _move(filled, directory)
    except OddResult as odd:
        return Refused(f"What the set-up commands made cannot be used: {odd}.", _MEND)
    finally:
        clear(place)
    notes = [f"While setting up, {one} was reached for and refused: the plan does not name it." for one in _denied(ran)]
    return {"digest": digest, "notes": notes}


_MEND = "Mend `setup` in the repository's `.github/countersign.yml`, then ask for a plan anew."


_RESERVED = (
    "Only public addresses are connected to. Where the registry is on a network of the operator's own, the operator "
    "names that in COUNTERSIGN_BOX_NETWORKS."
)


def _failed(ran: Ran) -> EnvironmentUnavailable | Refused | None:
    """Why nothing was made; None where every command ended well."""
    if ran.ended is Ended.EXITED and ran.exit_status == 0:
        return None
    said = ran.output.decode(errors="replace").strip()
    command = next((line[2:] for line in reversed(said.splitlines()) if line.startswith("$ ")), "nothing yet")
    how = f"status {ran.exit_status}" if ran.ended is Ended.EXITED else ran.ended.value
    if ran.ended is Ended.CALLED_OFF:
        return EnvironmentUnavailable("The set-up was called off.", "", passing=True)
    denied = _denied(ran)
    if denied:
        return Refused(
            f"The set-up command `{command}` reached for {' and '.join(denied[:5])}, which the approved plan does not "
            f"name, and ended with {how}.",
            "Where that is meant, name it under `hosts` in `.github/countersign.yml`, then set the label again: the "
            "next plan shows it to whoever approves.",
        )
    away = [one for one in ran.reached if one.refused.startswith((NOT_REACHED, NOT_RESOLVED))]
    if away:
        return EnvironmentUnavailable(
            f"{away[0].target}, which the set-up needs, cannot be reached.", "Is the network there?", passing=True
        )
    others = "; ".join(dict.fromkeys(f"{one.target}: {one.refused}" for one in ran.reached if one.refused))
    refused = f" What it reached for was refused: {others}." if others else ""
    remedy = _RESERVED if "not a public address" in others else _MEND
    return Refused(f"The set-up command `{command}` ended with {how}.{refused} It said: {said[-_TAIL:]}", remedy)


def _denied(ran: Ran) -> list[str]:
    """Hosts that were reached for without standing on the list, each once."""
    return list(dict.fromkeys(_shown(one) for one in ran.reached if one.refused == NOT_LISTED))


def _shown(one: Reached) -> str:
    return f"`{one.target}`"


def _move(filled: Path, directory: Path) -> None:
    """Onto the disk of the cache, and there at once; links that were made from one place to the other lead on."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=".making-", dir=directory.parent))
    try:
        shutil.copytree(filled, place / "made", symlinks=True)
        (place / "made").chmod(0o755)
        clear(directory)
        (place / "made").rename(directory)
    finally:
        clear(place)


def _links(directory: Path, tree: Path) -> dict[str, str] | Refused:
    """By these a check finds, in its home and beside the files of its tree, what was made there."""
    home = directory / "home"
    names = sorted(one.name for one in home.iterdir()) if home.is_dir() else []
    links = {f"{HOME_INSIDE}/{name}": f"{MADE_INSIDE}/home/{name}" for name in names}
    links |= {f"/work/{path}": f"{MADE_INSIDE}/work/{path}" for path in _beside(directory / "work", tree, "")}
    if len(links) > _MOST_LINKS:
        return Refused(
            f"The set-up commands made new files in {len(links):,} places of the tree, and {_MOST_LINKS:,} may be.",
            "Let them make what they make in folders of their own.",
        )
    return links


def _beside(made: Path, tree: Path, folder: str) -> Iterator[str]:
    """The uppermost paths that the tree does not hold; folders that it lost since are left out."""
    place = made / folder
    for entry in sorted(place.iterdir()) if place.is_dir() else ():
        path = f"{folder}/{entry.name}".lstrip("/")
        there = tree / path
        if not os.path.lexists(there):
            yield path
        elif there.is_dir() and not there.is_symlink() and entry.is_dir() and not entry.is_symlink():
            yield from _beside(made, tree, path)
