"""A repair: after the steps, the executor's model mends what the checks or the reviewer found.

Inside the plan's own paths, constraints and stop conditions, in a conversation of its own, and bounded in number.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from app.core.budget import Meter
from app.core.fit import is_test
from app.core.patch import ChangeKind, StepChanges
from app.core.paths import shown
from app.core.plan import MoveFile, Plan, StepTool, in_scope
from app.core.report import CheckRun, Repair
from app.core.span import SpanKind
from app.core.verdict import Allowed, Refused
from worker.belts.bench import Bench, Walk
from worker.belts.reconciling import Change
from worker.belts.repair_page import page_of
from worker.belts.step_tools import STEP_DONE, Ended, Tally, Tools, edit_tools, ending_tools
from worker.model.client import Model
from worker.model.conversation import Answer, Done, Failed, Finished, Limits, Opening, converse
from worker.repo.edits import Overlay, StepEdits
from worker.repo.fence import Fence
from worker.repo.syntax import lost_definitions
from worker.repo.tools import ReadTools

REPLIES = 40
"""The most that one repair may take, beside what the plan's budget leaves."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What was found after the steps: why the result may not leave the box as it is."""

    asked_by: Literal["checks", "reviewer"]
    refused: Refused
    runs: tuple[CheckRun, ...] = ()

    def is_as(self, before: Repair) -> bool:
        """True where nothing has become different since this repair was asked for."""
        return _signs(self.refused.reason, self.runs) == _signs(before.because, before.runs) and (
            self.asked_by == before.asked_by
        )


def _signs(because: str, runs: tuple[CheckRun, ...]) -> tuple[object, ...]:
    """What is distinctive: of red checks their runs, of a reviewer's wish its words."""
    said = "" if runs else " ".join(because.split()).lower()
    seen = [(one.name, one.when, one.ended, one.exit_status, one.failing, one.marks, one.doubt) for one in runs]
    return (said, *seen)


def mend(plan: Plan, trouble: Trouble, walk: Walk, bench: Bench, meter: Meter) -> Refused | None:
    """One more repair is kept in the walk, or it is said why there is none. What it did is told either way."""
    number, before, spent = len(walk.repairs) + 1, walk.overlay.at_present(), meter.spent
    outcome = _converse(plan, trouble, walk, bench, meter)
    change = Change(before, walk.overlay, bench.keep)
    files = change.files()
    done = isinstance(outcome, Ended) and outcome.done
    walk.repairs.append(
        Repair(
            number=number,
            asked_by=trouble.asked_by,
            because=trouble.refused.reason,
            note=outcome.words if isinstance(outcome, Ended) and done else "",
            paths=tuple(change.path for change in files),
            runs=trouble.runs,
            calls=meter.spent.calls - spent.calls,
            usd=meter.spent.usd - spent.usd,
        )
    )
    if files:
        walk.kept.append(StepChanges(repair=number, changes=files))
    if isinstance(outcome, Refused):
        return Refused(f"Repair {number} was not finished: {outcome.reason}")
    if not done:
        return Refused(f"Repair {number} was given up: {outcome.words}")
    if not files:
        return Refused(f"Repair {number} changed nothing.")
    clean = change.clean()
    if isinstance(clean, Refused):
        return clean
    bench.progress.keep_repair(walk.repairs[-1], walk.overlay.held(), meter)
    return None


def _converse(plan: Plan, trouble: Trouble, walk: Walk, bench: Bench, meter: Meter) -> Ended | Refused:
    if bench.models is None:
        return Refused("there is no model here.")
    edits = walk.overlay.begin(fence_of(plan, walk.overlay))
    tally = Tally()
    limits = bench.template.limits
    reading = ReadTools(bench.snapshot, bench.symbols, edits, limits.read_lines)
    allowed = tuple(dict.fromkeys(tool for step in plan.file_steps() for tool in step.tools if tool in _MENDING))
    tools: Tools = {
        **reading.some("read_file", "search"),
        **edit_tools(allowed, edits, tally, bench.note),
        **ending_tools(edits, walk.overlay, tally, plan.paths(), bench.note),
    }
    tools[STEP_DONE.name] = _keeping_tests(tools, edits, walk.overlay)
    number = len(walk.repairs) + 1
    asked = f"Repair {number} of {limits.repairs}"
    model: Model = bench.models.standard
    with bench.trace.noting(SpanKind.TOOL, f"repair {number}") as noted:
        opening = Opening(bench.template.prompts.executor, page_of(asked, plan, trouble.refused, trouble.runs, walk))
        outcome = converse(
            model,
            opening,
            tools,
            meter,
            Limits(max_tokens=limits.reply_tokens, replies=REPLIES, beyond=lambda tool: bench.note(tool, "outside")),
        )
        noted.outcome = "ok" if isinstance(outcome, Finished) and outcome.value.done else "given up"
    if not isinstance(outcome, Finished):
        return Refused(outcome.reason)
    ended: Ended = outcome.value
    kept = edits.keep() if ended.done else Allowed()
    return kept if isinstance(kept, Refused) else ended


_MENDING = (StepTool.REPLACE, StepTool.CREATE)


def fence_of(plan: Plan, overlay: Overlay) -> Fence:
    """What a repair may touch: what the plan's steps change, create or moved, and tests beside them that are new here.

    A test that was there and that the plan does not name is not among them, unless a step has changed it.
    """
    allowed: dict[str, ChangeKind] = {}
    moves: dict[str, str] = {}
    for step in plan.file_steps():
        if isinstance(step, MoveFile):
            moves[step.path] = step.to
        elif step.kind in ("change", "create"):
            allowed.setdefault(step.path, step.kind)
    edited = overlay.edited_paths()

    def beside(path: str) -> bool:
        new = overlay.base.entry(path) is None or path in edited
        return path not in plan.paths() and in_scope(plan, path) and new

    return Fence(allowed, moves, beside)


def _keeping_tests(tools: Tools, edits: StepEdits, before: Overlay) -> tuple[Any, Any]:
    """The ending that is not taken while a test is gone that was there before the run began."""
    tool, done = tools[STEP_DONE.name]

    def handle(asked: Mapping[str, object]) -> Answer | Failed | Done[Any]:
        gone = [name for path in sorted(edits.touched()) if is_test(path) for name in taken(path, edits, before)]
        if gone:
            return Failed(f"A repair takes no test away. Put back: {', '.join(gone)}.")
        return done(asked)

    return tool, handle


def taken(path: str, edits: StepEdits, before: Overlay) -> list[str]:
    """Definitions of the base that stood in the file before the repair and do not stand in it now."""
    entry = before.base.entry(path)
    if entry is None or entry.kind != "file" or before.entry(path) is None:
        return []
    was = before.base.read(path)
    kept = {one.name for one in lost_definitions(path, was, before.read(path))}
    now = edits.read(path) if edits.entry(path) is not None else b""
    return [f"{one.name} ({shown(path)})" for one in lost_definitions(path, was, now) if one.name not in kept]
