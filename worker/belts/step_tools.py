"""The tools of a step: reading, the kinds of edit that it allows, and the ways to end it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from app.core.paths import shown
from app.core.plan import Plan, StepTool
from app.core.verdict import Refused
from app.core.work_score import DONE, UNTRUE
from worker.model.conversation import Answer, Done, Failed, Handler
from worker.model.words import Tool
from worker.repo.assertions import as_strict
from worker.repo.edits import Applied, StepEdits
from worker.repo.fence import Insert, Outside
from worker.repo.placed import NotPlaced, Why
from worker.repo.placing import Where
from worker.repo.symbols import Symbol
from worker.repo.syntax import lost_definitions
from worker.repo.textedits import WHOLE_FILE_LINES
from worker.repo.tree import Tree

MOST_ENDINGS_REFUSED = 3
"""How often an ending that does not hold goes back to the model; then the step ends without it."""

_PATH = {"type": "string", "minLength": 1, "maxLength": 4096}
_CODE = {"type": "string", "maxLength": 400_000}
_WORDS = {"type": "string", "minLength": 1, "maxLength": 4000}


def _tool(name: str, description: str, fields: Mapping[str, object], *optional: str) -> Tool:
    required = [field for field in fields if field not in optional]
    schema = {"type": "object", "properties": fields, "required": required, "additionalProperties": False}
    return Tool(name, description, schema)


REPLACE = _tool(
    "replace",
    "Replaces the one place where `old` stands in the file by `new`.",
    {"path": _PATH, "old": _CODE, "new": _CODE},
)
INSERT = _tool(
    "insert",
    "Puts the lines of `text`, with their indents, before or after the whole lines of `anchor`, which must stand in "
    "one place; with an empty anchor at the start or end of the file.",
    {"path": _PATH, "anchor": _CODE, "text": _CODE, "where": {"type": "string", "enum": ["before", "after"]}},
)
WRITE_FILE = _tool(
    "write_file",
    f"Gives a file of at most {WHOLE_FILE_LINES} lines a whole new content. For a longer one use replace.",
    {"path": _PATH, "content": _CODE},
)
APPLY_DIFF = _tool(
    "apply_diff",
    "Makes the changes of a unified diff of one file, all or none. Hunks are found by their lines, not by numbers.",
    {"path": _PATH, "diff": _CODE},
)
CREATE_FILE = _tool("create_file", "Makes a new file.", {"path": _PATH, "content": _CODE})
DELETE_FILE = _tool("delete_file", "Deletes a file.", {"path": _PATH})
MOVE_FILE = _tool("move_file", "Moves a file to a path where nothing is.", {"path": _PATH, "to": _PATH})
STEP_DONE = _tool(
    DONE,
    "Ends the work: the step is done. `note` says in one sentence what is different. `variance`, where there is one, "
    "says what was done otherwise than the step says, within its paths and constraints.",
    {"note": _WORDS, "variance": _WORDS},
    "variance",
)
CANNOT = _tool("cannot", "Ends the work without the step, and says why.", {"reason": _WORDS})


@dataclass(frozen=True, slots=True)
class Ended:
    """How the model ended its step: done with a note, or not with a reason."""

    done: bool
    words: str
    variance: str = ""
    by_code: bool = False
    """Not the model gave up, but its ending was refused too often."""
    amended: Plan | None = None
    """The plan's next version, where the model asked for more than this one says."""


@dataclass(slots=True)
class Tally:
    """What happened beside the edits themselves: calls beyond the step, and definitions that it took away.

    `already`: paths in which an edit found its result.
    """

    outside: int = 0
    already: set[str] = field(default_factory=set)
    lost: tuple[str, ...] = ()
    refused_endings: int = 0
    warned: set[str] = field(default_factory=set)


Noted = Callable[[str, str], None]
"""Hears the name and the outcome of every edit, and of every call beyond the step."""

Tools = dict[str, tuple[Tool, Handler[Any]]]


def edit_tools(allowed: tuple[StepTool, ...], edits: StepEdits, tally: Tally, noted: Noted) -> Tools:
    """The kinds of edit. Whoever may replace lines may also insert some, write a short file anew or apply a diff."""
    kinds: dict[StepTool, list[tuple[Tool, Callable[[Mapping[str, Any]], Applied | Refused]]]] = {
        StepTool.REPLACE: [
            (REPLACE, lambda a: edits.replace(a["path"], a["old"], a["new"])),
            (INSERT, lambda a: edits.insert(Insert(a["path"], a["anchor"], a["text"], cast(Where, a["where"])))),
            (WRITE_FILE, lambda a: edits.write(a["path"], a["content"])),
            (APPLY_DIFF, lambda a: edits.patch(a["path"], a["diff"])),
        ],
        StepTool.CREATE: [(CREATE_FILE, lambda a: edits.create(a["path"], a["content"]))],
        StepTool.DELETE: [(DELETE_FILE, lambda a: edits.delete(a["path"]))],
        StepTool.MOVE: [(MOVE_FILE, lambda a: edits.move(a["path"], a["to"]))],
    }
    offered = [pair for kind in allowed for pair in kinds.get(kind, [])]
    return {tool.name: (tool, _editing(tool.name, apply, tally, noted)) for tool, apply in offered}


def _editing(
    name: str, apply: Callable[[Mapping[str, Any]], Applied | Refused], tally: Tally, noted: Noted
) -> Handler[Ended]:
    def handle(asked: Mapping[str, object]) -> Answer | Failed:
        made = apply(asked)
        if isinstance(made, Outside):
            tally.outside += 1
        if _made_before(made):
            tally.already.add(str(asked["path"]))
        noted(name, _outcome(made))
        return Failed(str(made)) if isinstance(made, Refused) else Answer(made.said)

    return handle


def _made_before(made: Applied | Refused) -> bool:
    """True where the edit found its result in the file."""
    return (isinstance(made, Applied) and not made.fresh) or (isinstance(made, NotPlaced) and made.why is Why.DONE)


def _outcome(made: Applied | Refused) -> str:
    match made:
        case Outside():
            return "outside the step"
        case NotPlaced():
            return f"refused: {made.why}"
        case Refused():
            return "refused"
        case Applied():
            return "ok" if made.fresh else "nothing to do"


def ending_tools(edits: StepEdits, before: Tree, tally: Tally, named: frozenset[str], noted: Noted) -> Tools:
    """The two ends. An end that does not hold goes back to the model, some times. `named` are the plan's paths.
    `noted` hears of each time that something is said to be done and nothing was changed.

    They keep nothing: an end may still be refused for what was called beside it. Who hears of the end keeps the edits.
    """

    def done(asked: Mapping[str, object]) -> Failed | Done[Ended]:
        if not edits.touched() and not tally.already:
            noted(STEP_DONE.name, UNTRUE)
        refused = edits.refusal() or _loosened(edits, before, named) or _not_yet(edits, before, tally)
        if refused is None:
            return Done(Ended(True, str(asked["note"]), str(asked.get("variance") or "")))
        tally.refused_endings += 1
        if tally.refused_endings > MOST_ENDINGS_REFUSED:
            return Done(Ended(False, str(refused), by_code=True))
        return Failed(str(refused))

    return {
        STEP_DONE.name: (STEP_DONE, done),
        CANNOT.name: (CANNOT, lambda asked: Done(Ended(False, str(asked["reason"])))),
    }


def _loosened(edits: StepEdits, before: Tree, named: frozenset[str]) -> Refused | None:
    """Why a test beside the plan's files must be put back as strict as it was; None where each is."""
    for path in sorted(edits.touched() - named):
        entry = before.entry(path)
        if entry is not None and entry.kind == "file" and edits.entry(path) is not None:
            verdict = as_strict(path, before.read(path), edits.read(path))
            if isinstance(verdict, Refused):
                return verdict
    return None


def _not_yet(edits: StepEdits, before: Tree, tally: Tally) -> Refused | None:
    """What the model is told once before its step counts as done: nothing changed, or definitions that are gone."""
    if not edits.touched() and "nothing" not in tally.warned:
        tally.warned.add("nothing")
        return Refused("The step has changed nothing.", "Make the change; if there is none to make, call it again.")
    lost = [(path, one) for path in sorted(edits.touched()) for one in _lost(edits, before, path)]
    tally.lost = tuple(f"{one.name} ({shown(path)})" for path, one in lost)
    fresh = [name for name in tally.lost if name not in tally.warned]
    if not fresh:
        return None
    tally.warned.update(fresh)
    lines = "\n".join(f"- {one.kind} {one.name}, which was in line {one.start} of {shown(path)}" for path, one in lost)
    return Refused(
        f"After the step these are no longer defined:\n{lines}\n",
        "If the step takes them away, call step_done again. If not, put them back first.",
    )


def _lost(edits: StepEdits, before: Tree, path: str) -> tuple[Symbol, ...]:
    """Definitions that are gone from the file; a file that the step deletes or moves away is not asked for."""
    entry = before.entry(path)
    if entry is None or entry.kind != "file" or edits.entry(path) is None:
        return ()
    return lost_definitions(path, before.read(path), edits.read(path))
