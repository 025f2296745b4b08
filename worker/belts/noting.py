"""The planner's own hand in its case file: notes, and lines that it wants to keep before its eyes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.verdict import Refused
from worker.evidence.artifacts import ArtifactShelf, keep_text
from worker.evidence.casefile import CaseFile
from worker.evidence.notes import Edit, Standing
from worker.evidence.observations import Observation
from worker.model.words import Tool
from worker.repo.reading import plainly, read_file, verify_citation
from worker.repo.snapshot import Snapshot

KEPT_LINES = 30
KEPT_CHARACTERS = 3_000
MOST_KEPT_AT_ONCE = 6

_LINE = {"type": "integer", "minimum": 1}
_TEXT = {"type": "string", "minLength": 1, "maxLength": 400}
_NUMBERS = {"type": "array", "items": _LINE, "maxItems": 12}


def _list(most: int, **fields: object) -> dict[str, object]:
    each = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {"type": "array", "items": each, "maxItems": most}


def _id(letter: str) -> dict[str, object]:
    return {"type": "string", "pattern": f"^{letter}[1-9][0-9]?$"}


NOTE = Tool(
    "note",
    "Puts notes into the case file: a new id adds one, a known id takes that one's place. Call it beside other tools.",
    {
        "type": "object",
        "properties": {
            "hypotheses": _list(
                12,
                id=_id("H"),
                says=_TEXT,
                standing={"type": "string", "enum": [str(one) for one in Standing]},
                **{"for": _NUMBERS, "against": _NUMBERS},
            ),
            "questions": _list(12, id=_id("Q"), asks=_TEXT, settled={"type": "string", "maxLength": 400}),
            "decisions": _list(12, id=_id("D"), says=_TEXT, because=_TEXT),
            "keep": _list(
                MOST_KEPT_AT_ONCE, path={"type": "string", "maxLength": 4096}, start=_LINE, end=_LINE, shows=_TEXT
            ),
        },
        "required": [],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class Pad:
    """What a note is checked against, and where the lines that it keeps are kept."""

    snapshot: Snapshot
    shelf: ArtifactShelf
    last_seen: int
    """The last observation that the planner had before it when it wrote the note."""


def noted(case: CaseFile, asked: Mapping[str, Any], pad: Pad) -> CaseFile | Refused:
    """The case file with the notes and the kept lines, or why not; then nothing of the call is taken."""
    edit = Edit.model_validate({name: value for name, value in asked.items() if name != "keep"})
    outcome = case.noting(edit, pad.last_seen)
    for one in asked.get("keep", ()):
        if isinstance(outcome, Refused):
            return outcome
        outcome = _kept(outcome, one, pad)
    return outcome


def _kept(case: CaseFile, one: Mapping[str, Any], pad: Pad) -> CaseFile | Refused:
    path, start, end = str(one["path"]), int(one["start"]), int(one["end"])
    verdict = verify_citation(pad.snapshot, path, start, end)
    if isinstance(verdict, Refused):
        return verdict
    if end - start + 1 > KEPT_LINES:
        return Refused(f"{path}:{start}-{end} is more than {KEPT_LINES} lines to keep.", "Keep the lines that decide.")
    lines = read_file(pad.snapshot, path, start, end)
    if isinstance(lines, Refused):
        return lines
    # The first line of the answer names the place once more.
    text = f"{' '.join(str(one['shows']).split())}\n{plainly(lines).partition(chr(10))[2]}"
    if len(text) > KEPT_CHARACTERS:
        return Refused(f"{path}:{start}-{end} holds {len(text):,} characters.", "Keep the lines that decide.")
    seen = Observation(
        number=1,
        tool="kept",
        asked="",
        text=text,
        reference=keep_text(pad.shelf, text),
        path=path,
        start=start,
        end=end,
        kept=True,
    )
    return case.having(seen)
