"""Scouts: small models that do one bounded reading errand each, several side by side. Code checks what they cite."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from app.core.budget import Meter
from app.core.span import SpanKind
from app.core.template import Template
from app.core.verdict import Refused
from worker.evidence.trace import Trace
from worker.model.client import Model
from worker.model.conversation import Done, Finished, Handler, Limits, Opening, converse
from worker.model.words import Tool
from worker.repo.reading import verify_citation, verify_quote
from worker.repo.snapshot import Snapshot
from worker.repo.tools import ReadTools

SIDE_BY_SIDE = 4
MOST_OBSERVATIONS = 16

_LINE = {"type": "integer", "minimum": 1}
REPORT = Tool(
    "report",
    "Ends the errand with what was seen, each with the lines that show it, and the decisive text of these lines.",
    {
        "type": "object",
        "properties": {
            "observations": {
                "type": "array",
                "maxItems": MOST_OBSERVATIONS,
                "items": {
                    "type": "object",
                    "properties": {
                        "path": {"type": "string", "maxLength": 4096},
                        "start": _LINE,
                        "end": _LINE,
                        "text": {"type": "string", "minLength": 1, "maxLength": 1000},
                        "quote": {"type": "string", "maxLength": 600},
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


@dataclass(frozen=True, slots=True)
class Seen:
    """What a scout reports of some lines. `refused` says why it is not believed; empty where the lines are there."""

    path: str
    start: int
    end: int
    text: str
    quote: str = ""
    refused: str = ""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.start}-{self.end}"


@dataclass(frozen=True, slots=True)
class CameBack:
    """What a scout saw, in its own order, and how many of its observations went beyond the length of an answer."""

    seen: tuple[Seen, ...]
    too_many: int = 0


@dataclass(frozen=True, slots=True)
class Lost:
    """A scout that came back without an answer."""

    reason: str


def send_out(errands: Sequence[Errand], meter: Meter, trace: Trace) -> list[CameBack | Lost]:
    """What each scout came back with, in the order of the errands, each with a span of its own.

    They have shares of what is left, so that none can spend what is another's. The meter is charged with all that
    they spent, whatever becomes of them. Raises the first errand's `ModelError`.
    """
    shares = meter.shares(len(errands), errands[0].template.limits.scout_calls)
    if isinstance(shares, Refused):
        return [Lost(f"{shares} Look for yourself.")] * len(errands)

    def go(errand: Errand, share: Meter) -> CameBack | Lost:
        with trace.noting(SpanKind.TOOL, "scout") as noted:
            outcome = _go(errand, share)
            noted.outcome = "ok" if isinstance(outcome, CameBack) else "refused"
        return outcome

    try:
        with ThreadPoolExecutor(min(len(errands), SIDE_BY_SIDE), "scout") as pool:
            return list(pool.map(go, errands, shares))
    finally:
        for share in shares:
            meter.join(share)


def _go(errand: Errand, meter: Meter) -> CameBack | Lost:
    tools: dict[str, tuple[Tool, Handler[list[dict[str, Any]]]]] = dict(errand.reading.every())
    tools["report"] = (REPORT, _reported)
    bounds = errand.template.limits
    limits = Limits(max_tokens=bounds.reply_tokens, replies=meter.cap.calls, tokens=bounds.scout_tokens)
    opening = Opening(errand.template.prompts.scout, f"Question: {errand.question}")
    outcome = converse(errand.model, opening, tools, meter, limits)
    if not isinstance(outcome, Finished):
        return Lost(f"The scout came back without an answer: {outcome.reason}")
    return _checked(outcome.value, errand)


def _reported(asked: Mapping[str, Any]) -> Done[list[dict[str, Any]]]:
    return Done(list(asked["observations"]))


def _checked(observations: list[dict[str, Any]], errand: Errand) -> CameBack:
    seen: list[Seen] = []
    room = errand.template.limits.scout_answer
    for one in observations:
        claim = Seen(str(one["path"]), int(one["start"]), int(one["end"]), str(one["text"]), str(one.get("quote", "")))
        room -= len(claim.text) + len(claim.quote)
        if room < 0:
            break
        refused = _doubt(claim, errand.snapshot)
        seen.append(Seen(claim.path, claim.start, claim.end, claim.text, claim.quote, refused))
    return CameBack(tuple(seen), len(observations) - len(seen))


def _doubt(claim: Seen, snapshot: Snapshot) -> str:
    """Why the claim is not believed, or an empty string: its lines are there, and hold what it quotes."""
    verdict = verify_citation(snapshot, claim.path, claim.start, claim.end)
    if not isinstance(verdict, Refused) and claim.quote.strip():
        verdict = verify_quote(snapshot, claim)
    return str(verdict) if isinstance(verdict, Refused) else ""
