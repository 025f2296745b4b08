"""Results of tools that look beyond the base commit, as an earlier attempt at the same plan saw them: what a model then
said rests on them, and they may differ today."""

import json

from worker.evidence.trace import Trace
from worker.model.conversation import Answer, Failed
from worker.model.words import ToolCall


def outcome_of(trace: Trace, call: ToolCall) -> Answer | Failed | None:
    """What this very call brought in an earlier attempt; None where it was not made, or not kept."""
    body = trace.memory.outcome(call.id)
    if body is None:
        return None
    told = json.loads(body)
    return Failed(told["text"]) if told["failed"] else Answer(told["text"], told["whole"])


def remember(trace: Trace, call: ToolCall, outcome: Answer | Failed) -> None:
    """Another attempt has the same result."""
    whole = outcome.whole if isinstance(outcome, Answer) else ""
    told = {"text": outcome.text, "whole": whole, "failed": isinstance(outcome, Failed)}
    trace.remember(call.id, json.dumps(told).encode())
