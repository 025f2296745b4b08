"""Setting up: commands make what checks need, in the install profile, and it is kept.

They are a repository's own, which run for an approved plan alone, or those that its package files call for. They reach
exactly the hosts that they are given, and what they made is judged by trusted code, named by its content and mounted
read-only. It is used again while everything by which it was made is the same.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.core.verdict import Refused
from worker.box.client_words import explained
from worker.box.command import BoxUnavailable, Command, Ended, Profile, Ran, Runs
from worker.box.deciding import files_that_decide, tools_that_decide
from worker.box.egress.inside import PORT
from worker.box.egress.rules import NOT_LISTED, NOT_REACHED, NOT_RESOLVED, Host, Reached
from worker.box.environment import CheckEnvironment, EnvironmentUnavailable, Workshop, alone, digest_of, write_whole
from worker.box.found_setup import PIP_INSIDE, FoundSetUp
from worker.box.keeping import clear, hold
from worker.box.made import OddResult, accept
from worker.box.mounts import HOME_INSIDE, MADE_INSIDE
from worker.box.staging import RUNS

KIND = "setup"
INSTALLING = Path(__file__).with_name("installing")
_FORMAT = "2"
_SECONDS = 600.0
_MOST_LINKS = 2_000
_TAIL = 1_500
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


@dataclass(frozen=True, slots=True)
class SetUp:
    """Commands with what they may reach. `scope` keeps apart what different repositories made.

    `found` is there where no one wrote them. `beside` are files by their path below `/made`, there from the start.
    """

    commands: tuple[tuple[str, ...], ...]
    hosts: frozenset[Host]
    box: Runs
    scope: str
    variables: Mapping[str, str] = field(default_factory=dict)
    wanted: Callable[[], bool] = lambda: True
    programs: Path = Path("/usr/bin")
    """Where the box's programs are; another version of one is another file."""
    found: FoundSetUp | None = None
    beside: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of environment that comes of it."""
        return self.found.kind if self.found else KIND


def set_up(tree: Path, how: SetUp, workshop: Workshop) -> CheckEnvironment | EnvironmentUnavailable | Refused:
    """What the commands made for the tree, from the cache where they ran before on the same dependencies.

    A repository's own command that fails is a refusal, and so is any that reached for a host which is not named and
    then failed; of a client that was found it is a reason. A registry that is away is a reason that may pass.
    """
    request = _request(tree, how, workshop)
    directory = workshop.cache / how.kind / request
    record = workshop.cache / "resolved" / f"{request}.json"
    with alone(workshop.cache / "locks", request):
        use = hold(directory)
        if not record.exists() or not directory.is_dir():
            made = _made(tree, how, directory, workshop)
            if not isinstance(made, Mapping):
                return made
            write_whole(record, json.dumps(made))
        told = json.loads(record.read_text())
    links = _links(directory, tree)
    if isinstance(links, Refused):
        return links
    found = how.found or FoundSetUp(KIND, how.commands)
    return CheckEnvironment(
        directory,
        found.program,
        found.pythonpath,
        told["digest"],
        kind=how.kind,
        links={**links, **found.links},
        use=use,
        notes=(*told["notes"], *found.notes),
    )


def _request(tree: Path, how: SetUp, workshop: Workshop) -> str:
    """Names everything by which the result is decided: commands, hosts, registries, lock files, tools."""
    hosts, words = sorted(map(str, how.hosts)), [list(one) for one in how.commands]
    decides = how.found.decides if how.found else ""
    files = decides or dict(files_that_decide(tree, how.commands))
    tools = dict(tools_that_decide(how.programs, how.commands))
    return digest_of(
        _FORMAT, how.kind, how.scope, words, hosts, dict(how.variables), _laid(how), files, tools, _pip(how, workshop)
    )


def _laid(how: SetUp) -> dict[str, str]:
    return {**how.beside, **(how.found.beside if how.found else {})}


def _pip(how: SetUp, workshop: Workshop) -> str:
    """The version of the pip that the box borrows, as its code says it; empty where it borrows none."""
    borrowed = workshop.pip_folder if how.found and how.found.borrows_pip else None
    return (borrowed / "__init__.py").read_text() if borrowed else ""


def _made(
    tree: Path, how: SetUp, directory: Path, workshop: Workshop
) -> Mapping[str, object] | EnvironmentUnavailable | Refused:
    """The directory is there with what was made in it, or not at all."""
    # The box's account has to reach it, so it is filled in a folder that only lets pass, and moved afterwards.
    place = Path(tempfile.mkdtemp(prefix="countersign-made-", dir=RUNS))
    place.chmod(0o711)
    filled = place / "made"
    filled.mkdir()
    try:
        _lay(filled, _laid(how))
        ran = how.box.run(tree, _command(how, filled, workshop), how.wanted)
        if isinstance(ran, BoxUnavailable):
            return EnvironmentUnavailable(ran.reason, ran.remedy, passing=not ran.lasting)
        failed = _failed(ran, how)
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


def _lay(filled: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (filled / path).parent.mkdir(parents=True, exist_ok=True)
        (filled / path).write_text(text)


def _command(how: SetUp, filled: Path, workshop: Workshop) -> Command:
    words = (*_AT_HOME, "/usr/bin/python3", "-I", "-S", "/tools/0/set_up.py", json.dumps(how.commands))
    borrowed = (workshop.pip_folder,) if how.found and how.found.borrows_pip and workshop.pip_folder else ()
    return Command(
        words,
        _SECONDS,
        Profile.INSTALL,
        how.variables,
        (INSTALLING, *borrowed),
        links={PIP_INSIDE: "/tools/1"} if borrowed else {},
        hosts=how.hosts,
        made=filled,
    )


_MEND = "Mend `setup` in the repository's `.github/countersign.yml`, then ask for a plan anew."


_RESERVED = (
    "Only public addresses are connected to. Where the registry is on a network of the operator's own, the operator "
    "names that in COUNTERSIGN_BOX_NETWORKS."
)


def _failed(ran: Ran, how: SetUp) -> EnvironmentUnavailable | Refused | None:
    """Why nothing was made; None where every command ended well."""
    if ran.ended is Ended.EXITED and ran.exit_status == 0:
        return None
    said = ran.output.decode(errors="replace").strip()
    command = next((line[2:] for line in reversed(said.splitlines()) if line.startswith("$ ")), "nothing yet")
    how_ended = f"status {ran.exit_status}" if ran.ended is Ended.EXITED else ran.ended.value
    if ran.ended is Ended.CALLED_OFF:
        return EnvironmentUnavailable("The set-up was called off.", "", passing=True)
    denied = _denied(ran)
    if denied:
        return Refused(
            f"The set-up command `{command}` reached for {' and '.join(denied[:5])}, which the approved plan does not "
            f"name, and ended with {how_ended}.",
            "Where that is meant, name it under `hosts` in `.github/countersign.yml`, then set the label again: the "
            "next plan shows it to whoever approves.",
        )
    away = [one for one in ran.reached if one.refused.startswith((NOT_REACHED, NOT_RESOLVED))]
    if away:
        return EnvironmentUnavailable(
            f"{away[0].target}, which the set-up needs, cannot be reached.", "Is the network there?", passing=True
        )
    reserved = [one for one in ran.reached if "not a public address" in one.refused]
    if how.found and reserved:
        reason = f"{reserved[0].target}, which the set-up needs, is refused: {reserved[0].refused}."
        return EnvironmentUnavailable(reason, _RESERVED, passing=True)
    if how.found and ran.ended is Ended.EXITED:
        return explained(how.kind, said)
    if how.found:
        return EnvironmentUnavailable(f"`{command}` did not come to an end: {how_ended}.", "")
    others = "; ".join(dict.fromkeys(f"{one.target}: {one.refused}" for one in ran.reached if one.refused))
    refused = f" What it reached for was refused: {others}." if others else ""
    remedy = _RESERVED if "not a public address" in others else _MEND
    return Refused(f"The set-up command `{command}` ended with {how_ended}.{refused} It said: {said[-_TAIL:]}", remedy)


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
