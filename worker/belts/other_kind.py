"""Another kind of work than the label's: where the label names none, the planner may say which one fits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worker.model.words import Tool


@dataclass(frozen=True, slots=True)
class OtherKind:
    """The planner found that another template fits, and why; the planning begins anew with that one."""

    name: str
    because: str

    def told(self) -> str:
        """A sentence for the approver."""
        return f"The label names no kind of work; the planner chose {self.name}: {self.because}"


def other_kind(kinds: Mapping[str, str]) -> Tool:
    """The tool with which it is said; `kinds` are the templates that may be named, with what they are for."""
    listed = " ".join(f"{name}: {' '.join(about.split())}" for name, about in kinds.items())
    fields = {
        "template": {"type": "string", "enum": list(kinds)},
        "because": {"type": "string", "minLength": 1, "maxLength": 300},
    }
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    words = (
        "The label names no kind of work. Where the issue asks for another kind than the one you were told, this "
        f"begins the planning anew with that one; call it first or never. The kinds: {listed}"
    )
    return Tool("other_kind", words, schema)


def read_kind(asked: Mapping[str, Any]) -> OtherKind:
    """What was said with the tool."""
    return OtherKind(str(asked["template"]), " ".join(str(asked["because"]).split()))
