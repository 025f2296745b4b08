"""One step of a plan, carried out by a model with the step's own tools and inside the step's own fence."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from app.core.budget import Meter
from app.core.plan import FileStep, Plan, stands_beside
from app.core.result import own_paths
from app.core.verdict import Refused
from worker.belts.amending import Amender, Proposing
from worker.belts.step_page import page_of
from worker.belts.step_tools import Ended, Tally, Tools, edit_tools, ending_tools
from worker.model.client import Model
from worker.model.conversation import Finished, GaveUp, Limits, Opening, converse
from worker.repo.edits import Overlay
from worker.repo.fence import Fence
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache
from worker.repo.tools import ReadTools


@dataclass(frozen=True, slots=True)
class Amending:
    """The step takes more than the approved plan says: nothing of it was kept, and this is the plan that is wanted."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class StepRoom:
    """What a step's model works with."""

    plan: Plan
    prompt: str
    model: Model
    snapshot: Snapshot
    symbols: SymbolCache
    limits: Limits
    read_lines: int
    amender: Amender
    noted: Callable[[str, str], None]
    """Hears the name and the outcome of every edit, and of every call beyond the step."""


@dataclass(frozen=True, slots=True)
class StepMade:
    """A step that was kept: the model's closing note, and what a reader of the report should know besides.

    `already`: paths in which an edit found its result.
    """

    note: str
    variance: str = ""
    lost: tuple[str, ...] = ()
    outside: int = 0
    already: frozenset[str] = frozenset()


def carry_out(step: FileStep, overlay: Overlay, room: StepRoom, meter: Meter) -> StepMade | Amending | Refused:
    """The step's edits, kept; a refusal and a wish for more leave nothing of the step (case ED-04)."""
    edits = overlay.begin(Fence.of(step, beside=lambda path: _beside(room.plan, step, path)))
    tally = Tally()
    reading = ReadTools(room.snapshot, room.symbols, edits, room.read_lines)
    tools: Tools = {
        **reading.some("read_file", "search"),
        **edit_tools(step.tools, edits, tally, room.noted),
        **ending_tools(edits, overlay, tally, room.plan.paths(), room.noted),
        **Proposing(room.amender, step).tool(_amending),
    }

    def beyond(tool: str) -> None:
        tally.outside += 1
        room.noted(tool, "outside the step")

    opening = Opening(room.prompt, page_of(step, room.plan, overlay))
    outcome = converse(room.model, opening, tools, meter, replace(room.limits, beyond=beyond))
    if isinstance(outcome, GaveUp):
        return Refused(f"Step {step.id} was not finished: {outcome.reason}")
    ended: Ended = outcome.value if isinstance(outcome, Finished) else outcome
    if ended.amended is not None:
        return Amending(ended.amended)
    if ended.done:
        kept = edits.keep()
        if isinstance(kept, Refused):
            return Refused(f"Step {step.id}: {kept}")
        return StepMade(ended.words, ended.variance, tally.lost, tally.outside, frozenset(tally.already))
    if ended.by_code:
        return Refused(f"Step {step.id}: {ended.words}")
    return Refused(f"Step {step.id} cannot be done as the plan says: {ended.words}")


def _amending(plan: Plan | Refused) -> Ended:
    if isinstance(plan, Refused):
        return Ended(False, str(plan), by_code=True)
    return Ended(False, "", amended=plan)


def notes_of(step: int, made: StepMade, nothing_to_do: str = "") -> list[str]:
    """What the report says of a step that was kept."""
    notes = [f"Step {step} had nothing to do: {nothing_to_do}."] if nothing_to_do else []
    if made.variance:
        notes.append(f"Step {step} was done otherwise than it says: {made.variance}")
    if made.lost:
        notes.append(f"Step {step} took away definitions: {', '.join(made.lost)}.")
    if made.outside:
        times = "once" if made.outside == 1 else f"{made.outside} times"
        notes.append(f"In step {step} the model asked {times} for something outside of it, and was refused.")
    return notes


def _beside(plan: Plan, step: FileStep, path: str) -> bool:
    """A test beside the step's own file; one beside another step's is that step's."""
    return path not in plan.paths() and stands_beside(path, own_paths(step))
