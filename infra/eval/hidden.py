"""Unseen tests, run in the box on what was built: the base, the patch, and the tests that nobody was shown."""

import subprocess
from pathlib import Path

from app.core.facts import StepsDone
from app.core.patch import Patch
from app.core.policy import Policy
from app.core.verdict import Refused
from app.ledger.outcomes import RunView
from infra.eval.task import Task
from infra.eval.world import World
from worker.belts.believing import heard
from worker.belts.scratch import scratch
from worker.box.checks import Ground, NamedCheck, PathArguments, checks_of, command_for
from worker.box.command import BoxUnavailable
from worker.box.environment import CheckEnvironment
from worker.box.preparing import of_this_machine, prepare
from worker.duties.preparing import opened, workshop_of
from worker.repo.snapshot import Snapshot

Seen = tuple[tuple[int, int] | None, tuple[str, ...]]
"""How many passed and how many were run, or None; and why none were."""


def unseen_tests(task: Task, world: World, view: RunView) -> Seen:
    """Nothing where nothing was built, or the task has no unseen tests."""
    built = [one.fact for one in view.facts if isinstance(one.fact, StepsDone)]
    body = world.ledger.artifact(built[-1].patch_ref) if built else None
    if body is None or not (task.hidden or task.hidden_check):
        return None, ()
    with Snapshot(world.repository, world.base) as snapshot, scratch() as folder:
        tree = folder / "tree"
        snapshot.export(tree)
        _put(Patch.model_validate_json(body), tree, world)
        applied = _applied(task.test_patch, tree)
        return (None, (applied,)) if applied else _ran(task, tree, world)


def _put(patch: Patch, tree: Path, world: World) -> None:
    for change in patch.changes:
        for path in (change.old_path, change.path if change.content_ref is None else None):
            if path is not None:
                (tree / path).unlink(missing_ok=True)
        content = world.ledger.artifact(change.content_ref) if change.content_ref else None
        if content is not None:
            (tree / change.path).parent.mkdir(parents=True, exist_ok=True)
            (tree / change.path).write_bytes(content)


def _applied(patch: str, tree: Path) -> str:
    """Why the unseen tests could not be put there; empty where they are."""
    if not patch:
        return ""
    words = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"]
    # Above the tree there may be a repository, whose files it is not about.
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(tree.parent)}
    ran = subprocess.run(words, cwd=tree, input=patch.encode(), env=env, capture_output=True, check=False)
    return (
        "" if ran.returncode == 0 else f"The unseen tests do not apply: {ran.stderr.decode('utf-8', 'replace')[:300]}"
    )


def _ran(task: Task, tree: Path, world: World) -> Seen:
    named = _check(task, checks_of(tree, Policy()))
    if named is None:
        return None, ("There is no check that runs the unseen tests.",)
    box = opened(world.executor)
    if isinstance(box, BoxUnavailable):
        return None, (f"The unseen tests were not run: {box}",)
    environments: tuple[CheckEnvironment, ...] = ()
    if named.needs:
        workshop = workshop_of(world.executor)
        made = prepare({named.needs}, tree, workshop, of_this_machine(box, workshop, "evaluation"))
        if not isinstance(made, tuple):
            return None, (f"The unseen tests were not run: {made}",)
        environments = made
    paths = task.hidden if named.paths is PathArguments.ACCEPTED else ()
    command = command_for(named, paths, Ground(tree, frozenset(), environments))
    if isinstance(command, Refused):
        return None, (f"The unseen tests were not run: {command}",)
    ran = box.run(tree, command)
    if isinstance(ran, BoxUnavailable):
        return None, (f"The unseen tests were not run: {ran}",)
    many = max(len(task.hidden), 1)
    if str(ran.ended) == "exited" and ran.exit_status == 0:
        return (many, many), ()
    counted, _ = heard(command.argv, tree, ran.output.decode("utf-8", "replace"))
    failing = set(counted.failing)
    # A runner that names no failure may not have come so far: then none counts as passed.
    return (sum(one not in failing for one in task.hidden) if failing else 0, many), ()


def _check(task: Task, checks: tuple[NamedCheck, ...]) -> NamedCheck | None:
    if task.hidden_check:
        return next((one for one in checks if one.name == task.hidden_check), None)
    return next((one for one in checks if one.paths is PathArguments.ACCEPTED and "test" in one.name), None)
