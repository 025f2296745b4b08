"""The reviewer: a second model reads what was made. An opinion to be shown; it decides nothing."""

from collections.abc import Mapping
from typing import Any

from app.core.budget import Meter
from app.core.report import Finding, Review
from worker.model.client import Model
from worker.model.conversation import Done, Finished, Handler, Limits, Opening, converse
from worker.model.words import ModelError, Tool

REVIEW = Tool(
    "review",
    "Ends the review.",
    {
        "type": "object",
        "properties": {
            "verdict": {"type": "string", "enum": ["agrees", "doubts"]},
            "findings": {
                "type": "array",
                "maxItems": 30,
                "items": {
                    "type": "object",
                    "properties": {
                        "path": {"type": "string", "maxLength": 4096},
                        "line": {"type": "integer", "minimum": 1},
                        "text": {"type": "string", "minLength": 1, "maxLength": 2000},
                    },
                    "required": ["path", "text"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["verdict", "findings"],
        "additionalProperties": False,
    },
)


def review(
    model: Model, opening: Opening, reading: Mapping[str, tuple[Tool, Handler[Any]]], meter: Meter, limits: Limits
) -> Review | None:
    """What the reviewer thinks of what the opening shows; None where it came to no end."""
    tools: dict[str, tuple[Tool, Handler[Review]]] = dict(reading)
    tools["review"] = (REVIEW, lambda asked: Done(_opinion(asked, model.name)))
    try:
        outcome = converse(model, opening, tools, meter, limits)
    except ModelError:
        return None
    return outcome.value if isinstance(outcome, Finished) else None


def _opinion(asked: Mapping[str, Any], model: str) -> Review:
    findings = tuple(
        Finding(path=str(one["path"]), line=_line(one.get("line")), text=str(one["text"])) for one in asked["findings"]
    )
    return Review(agrees=asked["verdict"] == "agrees", findings=findings, model=model)


def _line(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) else None
