"""One task, played: the label, the plan, the maintainer's yes, the work, and what is known of it afterwards."""

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from app.core.digest import short
from app.core.plan import Plan
from app.core.run import Part, Proposed
from app.core.verdict import Refused
from app.core.work_score import spent_of
from app.shown.scores import Beside, RunScores, scores_of
from infra.eval.hidden import unseen_tests
from infra.eval.model import Scripted, scripted_for
from infra.eval.task import Task
from infra.eval.world import MAINTAINER, Means, Unmade, World
from infra.scripted_model.server import ScriptedModel
from worker.repo.clone import NoClone
from worker.repo.reading import verify_citation, verify_quote
from worker.repo.snapshot import Snapshot


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
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wish:
    """How tasks are played: both belts or the planner alone, by a real model or from the known answer."""

    planner_only: bool = False
    scripted: Scripted | None = None
    unseen: bool = True
    """Whether unseen tests are run on what was built."""


def play(task: Task, wish: Wish, means: Means) -> Result | None:
    """The task's result; None where it was broken off. Raises `Unmade` before anything was spent."""
    began = time.monotonic()
    if task.clone is not None and not (task.clone / "objects").is_dir():
        raise Unmade(f"{task.clone} is no bare clone.")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="countersign-eval-", ignore_cleanup_errors=True)))
        folder.chmod(0o711)  # The box's account passes through to the trees.
        if wish.scripted is not None:
            try:
                model = ScriptedModel.start(scripted_for(task, wish.scripted, folder))
            except NoClone as missing:
                raise Unmade(str(missing)) from missing
            stack.callback(model.stop)
            means = replace(means, model_url=model.url, model_key="scripted")
        world = World(folder, means)
        stack.callback(world.close)
        return _played(task, wish, world, began)


def _played(task: Task, wish: Wish, world: World, began: float) -> Result | None:
    number = world.open(task)
    world.control.label(task.repository, number, "countersign", MAINTAINER)
    outside = world.rest()
    view = world.view()
    if view is None:
        raise Unmade("No run was opened for the label.")
    if isinstance(view.state, Proposed) and not outside and not wish.planner_only:
        word = f"/approve {short(view.state.proposal.digest)}"
        world.control.comment(task.repository, number, word, MAINTAINER)
        outside = world.rest()
    if world.means.stop.is_set:
        return None
    view = world.ledger.run(view.id) or view
    hidden, notes = (None, ()) if wish.planner_only or not wish.unseen else unseen_tests(task, world, view)
    held = _held_up(outside, view.state.name)
    with Snapshot(world.repository, world.base) as snapshot:
        beside = Beside(task.gold, lambda plan: _holding(plan, snapshot), hidden, held)
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
        notes=(*notes, *([outside] if outside else ())),
    )


def _held_up(outside: str, state: str) -> str:
    """What stood in the way of the planner; that execution cannot be tried here leaves the plan's score as it is."""
    return "" if state == "approved" else outside


def _holding(plan: Plan, snapshot: Snapshot) -> int:
    """Citations of which lines and words are there, looked up again."""
    held = 0
    for item in plan.evidence:
        verdict = verify_citation(snapshot, item.path, item.start, item.end)
        if not isinstance(verdict, Refused) and item.quote is not None:
            verdict = verify_quote(snapshot, item)
        held += not isinstance(verdict, Refused)
    return held
