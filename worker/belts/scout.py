"""The scout: a small model that does one bounded reading errand and answers with cited lines, checked by code."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.budget import Meter
from app.core.template import Template
from app.core.verdict import Refused
from worker.model.client import Model
from worker.model.conversation import Answer, Done, Failed, Finished, Handler, Limits, Opening, converse
from worker.model.words import Tool
from worker.repo.reading import verify_citation
from worker.repo.snapshot import Snapshot
from worker.repo.tools import ReadTools

_LINE = {"type": "integer", "minimum": 1}
REPORT = Tool(
    "report",
    "Ends the errand with what was seen, each with the lines that show it.",
    {
        "type": "object",
        "properties": {
            "observations": {
                "type": "array",
                "maxItems": 20,
                "items": {
                    "type": "object",
                    "properties": {
                        "path": {"type": "string", "maxLength": 4096},
                        "start": _LINE,
                        "end": _LINE,
                        "text": {"type": "string", "minLength": 1, "maxLength": 2000},
                    },
                    "required": ["path", "start", "end", "text"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["observations"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class Errand:
    """One question, and what it may be answered with."""

    question: str
    template: Template
    model: Model
    snapshot: Snapshot
    reading: ReadTools


def send_out(errand: Errand, meter: Meter) -> Answer | Failed:
    """What the scout saw. An observation whose lines are not there is left out and counted."""
    tools: dict[str, tuple[Tool, Handler[list[dict[str, Any]]]]] = dict(errand.reading.every())
    tools["report"] = (REPORT, _reported)
    limits = Limits(max_tokens=errand.template.limits.reply_tokens, replies=errand.template.limits.scout_calls)
    opening = Opening(errand.template.prompts.scout, f"Question: {errand.question}")
    outcome = converse(errand.model, opening, tools, meter, limits)
    if not isinstance(outcome, Finished):
        return Failed(f"The scout came back without an answer: {outcome.reason}")
    return Answer(_checked(outcome.value, errand.snapshot))


def _reported(asked: Mapping[str, Any]) -> Done[list[dict[str, Any]]]:
    return Done(list(asked["observations"]))


def _checked(observations: list[dict[str, Any]], snapshot: Snapshot) -> str:
    lines, wrong = [], 0
    for one in observations:
        start, end = int(one["start"]), int(one["end"])
        if isinstance(verify_citation(snapshot, str(one["path"]), start, end), Refused):
            wrong += 1
            continue
        lines.append(f"{one['path']}:{start}-{end}: {one['text']}")
    if wrong:
        lines.append(f"({wrong} observations were left out: the lines that they cited are not there.)")
    return "\n".join(lines) or "The scout saw nothing that bears on the question."
