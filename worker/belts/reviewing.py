"""The reviewer: a second model reads what was made, judges each criterion, and says accept, repair or stop.

It can keep a pull request back. It cannot stand for a check: what it says is never asked where a check is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.budget import Meter
from app.core.plan import Criterion
from app.core.report import Answer, Finding, Judgement, Review
from app.core.verdict import Refused
from worker.belts.citing import missing
from worker.model.client import Model
from worker.model.conversation import Done, Failed, Finished, Handler, Limits, Opening, converse
from worker.model.words import ModelError, Tool

MOST_REFUSED = 3
"""Reviews that do not hold go back to the model so often; after that the part that does not hold is marked."""

_JUDGEMENT = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "met": {"type": "string", "enum": ["yes", "no", "unclear"]},
        "because": {"type": "string", "minLength": 1, "maxLength": 2000},
        "where": {"type": "string", "maxLength": 200},
        "quote": {"type": "string", "maxLength": 2000},
    },
    "required": ["id", "met", "because", "where", "quote"],
    "additionalProperties": False,
}
_FINDING = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "maxLength": 4096},
        "line": {"type": "integer", "minimum": 1},
        "text": {"type": "string", "minLength": 1, "maxLength": 2000},
    },
    "required": ["path", "text"],
    "additionalProperties": False,
}
REVIEW = Tool(
    "review",
    "Ends the review. `verdict`: accept; repair, where the executor's model can mend it within the plan's own paths; "
    "or stop. `words`: what exactly to mend, or why to stop; empty with accept. `criteria`: each criterion of the "
    "plan's acceptance by its id, whether it is met, why, and what shows it: `where` is `difference` or the name of a "
    "check whose output is shown, `quote` some words of it, letter by letter. Code looks for them there.",
    {
        "type": "object",
        "properties": {
            "verdict": {"type": "string", "enum": [one.value for one in Answer]},
            "words": {"type": "string", "maxLength": 4000},
            "criteria": {"type": "array", "maxItems": 30, "items": _JUDGEMENT},
            "findings": {"type": "array", "maxItems": 30, "items": _FINDING},
        },
        "required": ["verdict", "words", "criteria", "findings"],
        "additionalProperties": False,
    },
)

Reading = Mapping[str, tuple[Tool, Handler[Any]]]


@dataclass(frozen=True, slots=True)
class Shown:
    """What the reviewer judges: the page, the criteria, and the texts that it may cite, by name."""

    opening: Opening
    criteria: tuple[Criterion, ...]
    sources: Mapping[str, str]


def review(model: Model, shown: Shown, reading: Reading, meter: Meter, limits: Limits) -> Review | Refused:
    """What the reviewer says; or why it came to no end, which says nothing of what it read."""
    tools: dict[str, tuple[Tool, Handler[Review]]] = dict(reading)
    tools[REVIEW.name] = (REVIEW, _Desk(model.name, shown).end)
    try:
        outcome = converse(model, shown.opening, tools, meter, limits)
    except ModelError as error:
        return Refused(error.reason)
    return outcome.value if isinstance(outcome, Finished) else Refused(outcome.reason)


@dataclass(slots=True)
class _Desk:
    """How one review is ended, and how often an end of it did not hold."""

    model: str
    shown: Shown
    refused: int = 0

    def end(self, asked: Mapping[str, Any]) -> Failed | Done[Review]:
        faults = [*self._faults(asked), *self._uncited(asked)]
        if faults and self.refused < MOST_REFUSED:
            self.refused += 1
            return Failed("The review was not taken:\n" + "\n".join(f"- {one}" for one in faults))
        return Done(self._review(asked))

    def _faults(self, asked: Mapping[str, Any]) -> list[str]:
        wanted, given = [one.id for one in self.shown.criteria], [int(one["id"]) for one in asked["criteria"]]
        faults = [f"criterion {one} is not judged" for one in wanted if one not in given]
        faults += [f"criterion {one} is judged twice" for one in wanted if given.count(one) > 1]
        if asked["verdict"] == Answer.ACCEPT and any(one["met"] == "no" for one in asked["criteria"]):
            faults.append("it accepts although a criterion is not met; say repair or stop, or judge it again")
        if asked["verdict"] != Answer.ACCEPT and not asked["words"].strip():
            faults.append(f"`words` must say why to {asked['verdict']}")
        return faults

    def _uncited(self, asked: Mapping[str, Any]) -> list[str]:
        wanted = {one.id for one in self.shown.criteria}
        judged = [one for one in asked["criteria"] if int(one["id"]) in wanted and one["met"] != "unclear"]
        found = [(one, missing(one["where"], one["quote"], self.shown.sources)) for one in judged]
        return [f"criterion {one['id']}: {why}" for one, why in found if why]

    def _review(self, asked: Mapping[str, Any]) -> Review:
        given = {int(one["id"]): one for one in reversed(asked["criteria"])}
        answer = Answer(asked["verdict"])
        findings = tuple(
            Finding(path=str(one["path"]), line=_line(one.get("line")), text=str(one["text"]))
            for one in asked["findings"]
        )
        return Review(
            agrees=answer is Answer.ACCEPT,
            findings=findings,
            model=self.model,
            answer=answer,
            words=str(asked["words"]).strip() or ("" if answer is Answer.ACCEPT else "it gives no reason."),
            judgements=tuple(self._judgement(one.id, given.get(one.id)) for one in self.shown.criteria),
        )

    def _judgement(self, criterion: int, given: Mapping[str, Any] | None) -> Judgement:
        if given is None:
            return Judgement(criterion=criterion, met="unclear", because="It was not judged.", believed=False)
        where, quote = str(given["where"]), str(given["quote"])
        return Judgement(
            criterion=criterion,
            met=given["met"],
            because=str(given["because"]),
            where=where,
            quote=quote,
            believed=not missing(where, quote, self.shown.sources),
        )


def _line(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) else None
