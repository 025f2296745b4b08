"""Preparing: what the checks of a tree need beside the tree, by kind; made by commands in the box alone."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from app.core.clients import client_of
from app.core.verdict import Refused
from worker.box.clients import registries_of
from worker.box.command import Runs
from worker.box.egress.rules import read_host
from worker.box.environment import PYTHON, CannotPrepare, CheckEnvironment, EnvironmentUnavailable, Workshop
from worker.box.found_setup import FOUND_KINDS, find_set_up
from worker.box.keeping import keep_within
from worker.box.provision import ANEW, Provisions
from worker.box.setting_up import KIND as SETUP_KIND
from worker.box.setting_up import SetUp, set_up
from worker.box.tool import ToolFailure, run_tool

_KEPT = (*FOUND_KINDS, SETUP_KIND)

Prepared = tuple[CheckEnvironment, ...] | EnvironmentUnavailable | Refused

How = Callable[[str, Path], SetUp | EnvironmentUnavailable | Refused]
"""The commands of a kind for a tree, with all that they may reach; or why they may not run."""


def prepare(kinds: set[str], tree: Path, workshop: Workshop, how: How) -> Prepared:
    """An environment of each kind for the tree, in the order of their names; the first that cannot be had ends it.

    Afterwards the cache is within its size again, as far as what is in use lets it.
    """
    made = []
    for kind in sorted(kinds):
        environment = _one(kind, tree, workshop, how)
        if not isinstance(environment, CheckEnvironment):
            return environment
        made.append(environment)
    keep_within(workshop.cache, _KEPT, workshop.most_bytes)
    return tuple(made)


def _one(kind: str, tree: Path, workshop: Workshop, how: How) -> CheckEnvironment | EnvironmentUnavailable | Refused:
    try:
        commands = how(kind, tree)
        if not isinstance(commands, SetUp):
            return commands
        if commands.found and commands.found.needs_python:
            _must_admit(commands.found.needs_python)
        if commands.found and commands.found.borrows_pip and workshop.pip_folder is None:
            raise CannotPrepare("The worker has no pip.", "Install one into the worker's environment.", passing=True)
        return set_up(tree, commands, workshop)
    except CannotPrepare as error:
        return error.told()


def of_this_machine(box: Runs, workshop: Workshop, scope: str) -> How:
    """Set-ups that nobody wrote, by clients that reach the registries of this machine's own configuration alone."""

    def how(kind: str, tree: Path) -> SetUp | EnvironmentUnavailable | Refused:
        if kind == SETUP_KIND:
            return EnvironmentUnavailable("Its set-up commands run for an approved plan only.", "")
        found = find_set_up(kind, tree)
        known = registries_of(found.commands, workshop)
        lacking = known.lacking(client_of(found.commands[0]))
        if lacking:
            return EnvironmentUnavailable(lacking, "")
        return SetUp(found.commands, known.hosts, box, scope, known.variables, found=found, beside=known.beside)

    return how


@dataclass(frozen=True, slots=True)
class Approved:
    """The set-up commands of an approved plan, and what its base takes to prepare, compared with each other before."""

    setup: tuple[tuple[str, ...], ...]
    known: Provisions
    box: Runs
    scope: str
    wanted: Callable[[], bool] = lambda: True


def of_approved(approved: Approved) -> How:
    """The set-ups that the plan names. What a changed tree asks for, the same client brings from the same hosts; for
    another client, and for a kind that the plan does not name, nobody approved anything."""

    def how(kind: str, tree: Path) -> SetUp | EnvironmentUnavailable | Refused:
        provision = approved.known.by_kind.get(kind)
        if provision is None or not set(provision.commands) <= set(approved.setup):
            return Refused(f"The approved plan names no set-up for what the checks need now ({kind}).", ANEW)
        if provision.lacking:
            return EnvironmentUnavailable(provision.lacking, "")
        found = None if kind == SETUP_KIND else find_set_up(kind, tree)
        commands = found.commands if found else provision.commands
        now, then = client_of(commands[0]), client_of(provision.commands[0])
        if now != then:
            return Refused(f"After the change {now} is to be asked, and the approved plan names {then}.", ANEW)
        return SetUp(
            commands,
            frozenset(map(read_host, provision.hosts)),
            approved.box,
            approved.scope,
            provision.registries.variables,
            approved.wanted,
            found=found,
            beside=provision.registries.beside,
        )

    return how


def _must_admit(wanted: str) -> None:
    """Raises CannotPrepare when the project is not for the box's Python."""
    words = [PYTHON, "-I", "-c", "import platform; print(platform.python_version())"]
    remedy = "Install the distribution's Python 3."
    try:
        ran = run_tool(words, cwd=Path("/"), environment={}, timeout_seconds=10)
    except ToolFailure as failure:
        raise CannotPrepare(f"{failure}.", remedy, passing=True) from failure
    if ran.exit_status != 0:
        raise CannotPrepare(f"{PYTHON} does not start.", remedy, passing=True)
    version = ran.stdout.decode().strip()
    try:
        admits = SpecifierSet(wanted).contains(version, prereleases=True)
    except InvalidSpecifier:
        return
    if not admits:
        raise CannotPrepare(
            f"The project needs Python {wanted} and the system's is {version}.",
            "Its tests cannot be run on this machine.",
        )
