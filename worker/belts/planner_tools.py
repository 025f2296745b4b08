"""The planner's own tools beside the reading: scouts, reopening, and the ends of its work that are no plan."""

from worker.model.words import Tool

MOST_QUESTIONS = 3

_WORDS = {"type": "string", "minLength": 1, "maxLength": 4000}
_LINE = {"type": "integer", "minimum": 1}


def _tool(name: str, description: str, required: str, **fields: object) -> Tool:
    schema = {"type": "object", "properties": fields, "required": [required], "additionalProperties": False}
    return Tool(name, description, schema)


ASK_AUTHOR = _tool(
    "ask_author",
    "Ends the work with one to three precise questions to the issue's author.",
    "questions",
    questions={
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": 1000},
        "minItems": 1,
        "maxItems": MOST_QUESTIONS,
    },
)
GIVE_UP = _tool("give_up", "Ends the work without a plan, and says why.", "reason", reason=_WORDS)
SCOUT = _tool(
    "scout",
    "Hands one bounded reading errand to a small model. Several in one reply run side by side.",
    "question",
    question=_WORDS,
)
REOPEN = _tool(
    "reopen",
    "Lines of the full output behind an observation, by its number such as #3; or a note, by its id such as H2.",
    "reference",
    reference={"type": "string", "minLength": 1, "maxLength": 80},
    start=_LINE,
    end=_LINE,
)
