"""The form in which a planner says that an issue is too much for one plan, and how it could be cut."""

from collections.abc import Mapping

from pydantic import ValidationError

from app.core.split import FEWEST, MOST, Split
from worker.model.words import Tool

_PIECE = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 120},
        "covers": {"type": "string", "minLength": 1, "maxLength": 4000},
        "after": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": MOST}, "maxItems": MOST},
    },
    "required": ["title", "covers", "after"],
    "additionalProperties": False,
}

TOO_LARGE = Tool(
    "too_large",
    "Ends the work without a plan, since the issue is too much for one: says why, and how it could be cut into 2 to 8 "
    "issues of their own, in the order in which they can be done. `after` holds the numbers, from 1, of the pieces "
    "before it for which a piece has to wait. Nothing is opened; a maintainer reads the pieces as texts to copy.",
    {
        "type": "object",
        "properties": {
            "reason": {"type": "string", "minLength": 1, "maxLength": 4000},
            "pieces": {"type": "array", "items": _PIECE, "minItems": FEWEST, "maxItems": MOST},
        },
        "required": ["reason", "pieces"],
        "additionalProperties": False,
    },
)


def read_split(form: Mapping[str, object]) -> Split | str:
    """The split, or what is wrong with it in one text."""
    try:
        return Split.model_validate(dict(form))
    except ValidationError as error:
        faults = [f"- {'.'.join(map(str, fault['loc'])) or 'pieces'}: {fault['msg']}" for fault in error.errors()[:8]]
        return "The split was not accepted:\n" + "\n".join(faults)
