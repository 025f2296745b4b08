"""Unseen tests, run in the box: on the base, on the known change, and on what was built, in that order.

A test says something of a change only where it fails without it and passes with it, on this machine and with today's
dependencies. One that does not is left out, and where none is left, nobody is judged by them.
"""

import subprocess
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from app.core.facts import StepsDone
from app.core.patch import Patch
from app.core.policy import Policy
from app.core.run import Part
from app.core.verdict import Refused
from app.ledger.outcomes import RunView
from infra.eval.task import Task, touched
from infra.eval.world import World
from worker.belts.believing import heard
from worker.belts.scratch import scratch
from worker.box.checks import Ground, NamedCheck, PathArguments, checks_of, command_for
from worker.box.command import BoxUnavailable
from worker.box.environment import CheckEnvironment
from worker.box.preparing import of_this_machine, prepare
from worker.duties.preparing import opened, workshop_of
from worker.repo.snapshot import Snapshot


class Worth(StrEnum):
    """What a task's unseen tests are worth here."""

    COUNT = "count"
    NOT_USABLE = "not usable here"
    """They do not pass on the known change either, or could not be run."""
    PROVE_NOTHING = "prove nothing"
    """They pass without the change."""


class Unseen(Part):
    """What the unseen tests came to."""

    worth: Worth
    run: int = 0
    passed: int = 0
    """Of those that count, on what was built."""
    notes: tuple[str, ...] = ()
    """Why tests were left out, a sentence each."""

    def counted(self) -> tuple[int, int] | None:
        """How many passed and how many were run; None where nobody is judged by them."""
        return (self.passed, self.run) if self.worth is Worth.COUNT else None


class Ran(NamedTuple):
    """One run of the unseen tests: those that passed, and the last that the runner said."""

    passing: frozenset[str]
    last: str


def unseen_tests(task: Task, world: World, view: RunView) -> Unseen | None:
    """None where nothing was built, or the task has no unseen tests."""
    built = [one.fact for one in view.facts if isinstance(one.fact, StepsDone)]
    body = world.ledger.artifact(built[-1].patch_ref) if built else None
    if body is None or not _names(task):
        return None
    counting = tried(task, world)
    if not isinstance(counting, frozenset):
        return counting
    patch = Patch.model_validate_json(body)
    built_ran = _passing(task, world, lambda tree: _put(patch, touched(task.test_patch), tree, world))
    if isinstance(built_ran, str):
        return Unseen(worth=Worth.NOT_USABLE, notes=(built_ran,))
    left = len(_names(task)) - len(counting)
    why = f"{left} of {len(_names(task))} are left out: they do not tell the known change from the base."
    well, notes = len(counting & built_ran.passing), (why,) if left else ()
    return Unseen(worth=Worth.COUNT, run=len(counting), passed=well, notes=notes)


def tried(task: Task, world: World) -> frozenset[str] | Unseen:
    """The unseen tests that tell the known change from the base; where none does, what that makes them worth."""
    names = frozenset(_names(task))
    good = names
    if task.gold_patch:
        known = _passing(task, world, lambda tree: _applied(task.gold_patch, tree))
        if isinstance(known, str):
            return Unseen(worth=Worth.NOT_USABLE, notes=(f"On the known change: {known}",))
        good = known.passing
        if not good:
            why = f"On the known change all {len(names)} of them fail here: {known.last}"
            return Unseen(worth=Worth.NOT_USABLE, notes=(why,))
    before = _passing(task, world, lambda tree: "")
    if isinstance(before, str):
        return Unseen(worth=Worth.NOT_USABLE, notes=(f"On the base: {before}",))
    if not good - before.passing:
        many = len(good & before.passing)
        why = f"{many} of {len(names)} pass before anything is changed, and no other passes after it."
        return Unseen(worth=Worth.PROVE_NOTHING, notes=(why,))
    return good - before.passing


def _names(task: Task) -> tuple[str, ...]:
    return task.hidden or ((task.hidden_check,) if task.hidden_check else ())


def _passing(task: Task, world: World, change: Callable[[Path], str]) -> Ran | str:
    """Those of the unseen tests that pass on the base with this change; or why that cannot be told."""
    with Snapshot(world.repository, world.base) as snapshot, scratch() as folder:
        tree = folder / "tree"
        snapshot.export(tree)
        trouble = change(tree) or _applied(task.test_patch, tree)
        return trouble or _ran(task, tree, world)


def _put(patch: Patch, tests: frozenset[str], tree: Path, world: World) -> str:
    """What was built stands in the tree, but for the files that the unseen tests bring."""
    for change in patch.changes:
        for path in (change.old_path, change.path if change.content_ref is None else None):
            if path is not None and path not in tests:
                (tree / path).unlink(missing_ok=True)
        content = world.ledger.artifact(change.content_ref) if change.content_ref else None
        if content is not None and change.path not in tests:
            (tree / change.path).parent.mkdir(parents=True, exist_ok=True)
            (tree / change.path).write_bytes(content)
    return ""


def _applied(patch: str, tree: Path) -> str:
    """Why the patch could not be put there; empty where it is."""
    if not patch:
        return ""
    words = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"]
    # Above the tree there may be a repository, whose files it is not about.
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(tree.parent)}
    ran = subprocess.run(words, cwd=tree, input=patch.encode(), env=env, capture_output=True, check=False)
    return "" if ran.returncode == 0 else f"A patch does not apply: {ran.stderr.decode('utf-8', 'replace')[:300]}"


def _ran(task: Task, tree: Path, world: World) -> Ran | str:
    named = _check(task, checks_of(tree, Policy()))
    if named is None:
        return "There is no check that runs the unseen tests."
    box = opened(world.executor)
    if isinstance(box, BoxUnavailable):
        return f"The unseen tests were not run: {box}"
    environments: tuple[CheckEnvironment, ...] = ()
    if named.needs:
        workshop = workshop_of(world.executor)
        made = prepare({named.needs}, tree, workshop, of_this_machine(box, workshop, "evaluation"))
        if not isinstance(made, tuple):
            return f"The unseen tests were not run: {made}"
        environments = made
    paths = task.hidden if named.paths is PathArguments.ACCEPTED else ()
    command = command_for(named, paths, Ground(tree, frozenset(), environments))
    if isinstance(command, Refused):
        return f"The unseen tests were not run: {command}"
    ran = box.run(tree, command)
    if isinstance(ran, BoxUnavailable):
        return f"The unseen tests were not run: {ran}"
    if str(ran.ended) != "exited":
        return Ran(frozenset(), f"it {ran.ended}")
    output = ran.output.decode("utf-8", "replace")
    told, doubt = heard(command.argv, tree, output)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("FAILED ", "ERROR "))] or lines or ["it said nothing"]
    trouble = doubt if ran.exit_status == 0 else ""
    return Ran(passed(_names(task), ran.exit_status == 0 and not doubt, told.failing), trouble or telling[-1][:300])


def passed(names: tuple[str, ...], well: bool, failing: tuple[str, ...]) -> frozenset[str]:
    """Those that passed: all where the runner ended well; else those that it does not name, nor the file they are in.

    A runner that names no failure may not have come so far: then none counts as passed.
    """
    if well:
        return frozenset(names)
    return frozenset(one for one in names if failing and not _bad(one, frozenset(failing)))


def _bad(name: str, failing: frozenset[str]) -> bool:
    parts = name.split("::")
    return any("::".join(parts[:upto]) in failing for upto in range(1, len(parts) + 1))


def _check(task: Task, checks: tuple[NamedCheck, ...]) -> NamedCheck | None:
    if task.hidden_check:
        return next((one for one in checks if one.name == task.hidden_check), None)
    return next((one for one in checks if one.paths is PathArguments.ACCEPTED and "test" in one.name), None)
