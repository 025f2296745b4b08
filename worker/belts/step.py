"""One step of a plan, carried out by a model with the step's own tools and inside the step's own fence."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.core.budget import Meter
from app.core.plan import FileStep, MoveFile, Plan, StepTool, in_scope
from app.core.verdict import Refused
from worker.evidence.untrusted import fence
from worker.model.client import Model
from worker.model.conversation import Answer, Done, Failed, Finished, GaveUp, Handler, Limits, Opening, converse
from worker.model.words import Tool
from worker.repo.edits import Applied, Overlay, StepEdits
from worker.repo.fence import Fence
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache
from worker.repo.tools import ReadTools

_PATH = {"type": "string", "minLength": 1, "maxLength": 4096}
_CODE = {"type": "string", "maxLength": 400_000}
_WORDS = {"type": "string", "minLength": 1, "maxLength": 4000}


def _tool(name: str, description: str, fields: Mapping[str, object]) -> Tool:
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return Tool(name, description, schema)


REPLACE = _tool(
    "replace",
    "Replaces the one place where `old` stands in the file by `new`.",
    {"path": _PATH, "old": _CODE, "new": _CODE},
)
CREATE_FILE = _tool("create_file", "Makes a new file.", {"path": _PATH, "content": _CODE})
DELETE_FILE = _tool("delete_file", "Deletes a file.", {"path": _PATH})
MOVE_FILE = _tool("move_file", "Moves a file to a path where nothing is.", {"path": _PATH, "to": _PATH})
STEP_DONE = _tool("step_done", "Ends the work: the step is done. One sentence on what is different.", {"note": _WORDS})
CANNOT = _tool("cannot", "Ends the work without the step, and says why.", {"reason": _WORDS})


@dataclass(frozen=True, slots=True)
class Ended:
    """How the model ended its step: done with a note, or not with a reason."""

    done: bool
    words: str


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
    noted: Callable[[str, str], None]
    """Hears the name and the outcome of every edit."""


def carry_out(step: FileStep, overlay: Overlay, room: StepRoom, meter: Meter) -> str | Refused:
    """The model's closing note when the step's edits were kept; a refusal leaves nothing of the step (case ED-04)."""
    edits = overlay.begin(Fence.of(step, beside=lambda path: _beside(room.plan, path)))
    opening = Opening(room.prompt, _opening(step, room.plan))
    tools = _tools(step, edits, room)
    outcome = converse(room.model, opening, tools, meter, room.limits)
    if isinstance(outcome, GaveUp):
        return Refused(f"Step {step.id} was not finished: {outcome.reason}")
    ended: Ended = outcome.value if isinstance(outcome, Finished) else outcome
    if not ended.done:
        return Refused(f"Step {step.id} cannot be done as the plan says: {ended.words}")
    kept = edits.keep()
    if isinstance(kept, Refused):
        return Refused(f"Step {step.id}: {kept.reason}", kept.remedy)
    return ended.words


def _beside(plan: Plan, path: str) -> bool:
    return path not in plan.paths() and in_scope(plan, path)


def _tools(step: FileStep, edits: StepEdits, room: StepRoom) -> dict[str, tuple[Tool, Handler[Ended]]]:
    reading = ReadTools(room.snapshot, room.symbols, edits, room.read_lines)
    tools: dict[str, tuple[Tool, Handler[Ended]]] = dict(reading.some("read_file", "search"))
    writing: dict[StepTool, tuple[Tool, Callable[[Mapping[str, Any]], Applied | Refused]]] = {
        StepTool.REPLACE: (REPLACE, lambda a: edits.replace(a["path"], a["old"], a["new"])),
        StepTool.CREATE: (CREATE_FILE, lambda a: edits.create(a["path"], a["content"])),
        StepTool.DELETE: (DELETE_FILE, lambda a: edits.delete(a["path"])),
        StepTool.MOVE: (MOVE_FILE, lambda a: edits.move(a["path"], a["to"])),
    }
    for name, (tool, apply) in writing.items():
        if name in step.tools:
            tools[tool.name] = (tool, _editing(tool.name, apply, room.noted))
    tools["step_done"] = (STEP_DONE, lambda a: Done(Ended(True, str(a["note"]))))
    tools["cannot"] = (CANNOT, lambda a: Done(Ended(False, str(a["reason"]))))
    return tools


def _editing(
    name: str, apply: Callable[[Mapping[str, Any]], Applied | Refused], noted: Callable[[str, str], None]
) -> Handler[Ended]:
    def handle(asked: Mapping[str, object]) -> Answer | Failed:
        made = apply(asked)
        noted(name, "refused" if isinstance(made, Refused) else "ok")
        if isinstance(made, Refused):
            return Failed(str(made))
        return Answer(made.said)

    return handle


def _opening(step: FileStep, plan: Plan) -> str:
    at = [one.id for one in plan.steps].index(step.id) + 1
    target = f"{step.path} to {step.to}" if isinstance(step, MoveFile) else step.path
    own = "\n".join(f"- {one}" for one in step.constraints) or "- none of its own"
    general = "\n".join(f"- {one}" for one in plan.constraints) or "- none"
    stops = "\n".join(f"- {one}" for one in plan.stop_conditions)
    return (
        f"Step {at} of {len(plan.steps)}\n\n"
        f"Kind: {step.kind}\nPath: {target}\nIntent: {step.intent}\nConstraints:\n{own}\n"
        f"Done when: {step.done_when}\n\n"
        f"{fence('the approved plan, in short', f'{plan.summary}{chr(10)}{chr(10)}{plan.hypothesis}')}\n\n"
        f"Constraints of the whole plan:\n{general}\n\nStop, and call `cannot`, when:\n{stops}\n"
    )
