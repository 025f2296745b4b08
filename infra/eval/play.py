"""One task, played: the label, the plan, the maintainer's yes, the work, and what is known of it afterwards."""

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

from app.core.digest import short
from app.core.plan import Plan
from app.core.run import Part, Proposed
from app.core.verdict import Refused
from app.core.work_score import spent_of
from app.shown.scores import Beside, RunScores, scores_of
from infra.eval.hidden import Unseen, unseen_tests
from infra.eval.model import Scripted, scripted_for
from infra.eval.task import Task
from infra.eval.world import MAINTAINER, Means, Unmade, World
from infra.scripted_model.server import ScriptedModel
from infra.twin.git_store import GitFailed
from worker.repo.clone import Clone, NoClone
from worker.repo.git import Bounds, GitError
from worker.repo.reading import verify_citation, verify_quote
from worker.repo.snapshot import Snapshot, UnsafeTree


class Result(Part):
    """What came of one task."""

    task: str
    digest: str
    """Of the task's own line: a task that was changed is another one."""
    scores: RunScores
    gold_files: tuple[str, ...]
    planned_files: tuple[str, ...] = ()
    usd: str
    unpriced: int = 0
    """Model calls whose price is not known, and which `usd` leaves out."""
    seconds: float
    unseen: Unseen | None = None
    """What the unseen tests are worth here; None where they were not run."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokenOff:
    """A task that was broken off, and the most that it may have cost."""

    usd: Decimal


@dataclass(frozen=True, slots=True)
class Wish:
    """How tasks are played: both belts or the planner alone, by a real model or from the known answer."""

    planner_only: bool = False
    scripted: Scripted | None = None
    unseen: bool = True
    """Whether unseen tests are run on what was built."""


def play(task: Task, wish: Wish, means: Means) -> Result | BrokenOff:
    """The task's result. Raises `Unmade` before anything was spent."""
    began = time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="countersign-eval-", ignore_cleanup_errors=True)))
        folder.chmod(0o711)  # The box's account passes through to the trees.
        try:
            world, number = _made(task, wish, means, folder, stack)
        except (NoClone, GitError, GitFailed, UnsafeTree) as trouble:
            raise Unmade(f"The task's repository cannot be used: {trouble}") from trouble
        return _played(task, wish, world, number, began)


def _made(task: Task, wish: Wish, means: Means, folder: Path, stack: ExitStack) -> tuple[World, int]:
    """The task's world, and the number of its issue there."""
    if task.clone is not None:
        Clone(task.clone).git.run("cat-file", "-e", f"{task.commit}^{{commit}}", bounds=Bounds(means.making_seconds))
    if wish.scripted is not None:
        model = ScriptedModel.start(scripted_for(task, wish.scripted, folder))
        stack.callback(model.stop)
        means = replace(means, model_url=model.url, model_key="scripted")
    world = World(folder, means)
    stack.callback(world.close)
    return world, world.open(task)


def _played(task: Task, wish: Wish, world: World, number: int, began: float) -> Result | BrokenOff:
    world.control.label(task.repository, number, "countersign", MAINTAINER)
    outside = world.rest()
    view = world.view()
    if view is not None and isinstance(view.state, Proposed) and not outside and not wish.planner_only:
        word = f"/approve {short(view.state.proposal.digest)}"
        world.control.comment(task.repository, number, word, MAINTAINER)
        outside = world.rest()
    if world.means.stop.is_set:
        return BrokenOff(world.taken())
    view = world.view()
    if view is None:
        raise Unmade(outside or "No run was opened for the label.")
    unseen = None if wish.planner_only or not wish.unseen else unseen_tests(task, world, view)
    with Snapshot(world.repository, world.base) as snapshot:
        counted = unseen.counted() if unseen is not None else None
        beside = Beside(task.gold, lambda plan: _holding(plan, snapshot), counted, outside)
        scores = scores_of(world.ledger, view, beside)
    spent = spent_of(world.ledger.spans(view.id))
    plans = [plan for version in range(view.state.last_version, 0, -1) if (plan := world.ledger.plan(view.id, version))]
    return Result(
        task=task.name,
        digest=task.digest,
        scores=scores,
        gold_files=tuple(sorted(task.gold.files)),
        planned_files=tuple(sorted(plans[0].paths())) if plans else (),
        usd=str(spent.usd),
        unpriced=spent.unpriced_calls,
        seconds=round(time.monotonic() - began, 2),
        unseen=unseen,
        notes=(outside,) if outside else (),
    )


def _holding(plan: Plan, snapshot: Snapshot) -> int:
    """Citations of which lines and words are there, looked up again."""
    held = 0
    for item in plan.evidence:
        verdict = verify_citation(snapshot, item.path, item.start, item.end)
        if not isinstance(verdict, Refused) and item.quote is not None:
            verdict = verify_quote(snapshot, item)
        held += not isinstance(verdict, Refused)
    return held
