"""What adds to the case file: results of tools, notes, kept lines, and what scouts come back with."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.budget import Meter
from app.core.template import Template
from app.core.verdict import Refused
from worker.belts.noting import NOTE, Pad, noted
from worker.belts.planner_tools import REOPEN, SCOUT
from worker.belts.scout import CameBack, Errand, Lost, Seen, send_out
from worker.evidence.artifacts import ArtifactShelf, keep_text, reopen
from worker.evidence.casefile import CaseFile, Rendered, Room, View
from worker.evidence.distill import distill
from worker.evidence.observations import Observation
from worker.evidence.trace import Trace
from worker.model.client import Model
from worker.model.conversation import Answer, Failed, Handler
from worker.model.schema import faults
from worker.model.words import Tool, ToolCall
from worker.repo.snapshot import Snapshot
from worker.repo.tools import ReadTools

LONG_RESULT = 8_000
"""A longer result is shown as a distilled view; the whole is kept, and reopened by the observation's number."""

AS_THEY_ARE = frozenset({"read_file", "reopen", "submit_plan"})
"""Tools whose answer is the text that was asked for; they have bounds of their own."""

_NOTE_ID = re.compile(r"[HQD][1-9][0-9]?")


@dataclass
class Looking:
    """One investigation's case file, and what of it the planner had before it last."""

    template: Template
    scout: Model
    snapshot: Snapshot
    reading: ReadTools
    shelf: ArtifactShelf
    trace: Trace
    case: CaseFile = field(default_factory=CaseFile)
    view: View = field(default_factory=View)
    sent_out: int = 0

    def go_on_with(self, case: CaseFile) -> None:
        """The case file is this one, all of it folded: it was made before, or is empty."""
        self.case, self.view = case, View(folded=case.last)

    def every(self) -> dict[str, tuple[Tool, Handler[Any]]]:
        """The tools that work on the case file itself."""
        return {"note": (NOTE, self._note), "reopen": (REOPEN, self._reopen)}

    def page(self, room: Room) -> Rendered:
        """The case file as the planner now sees it; what it shows has been seen afterwards."""
        view = self.case.viewed(self.view, room)
        page = self.case.render(view, room)
        new = self.case.last > view.last_seen
        self.view = View(view.folded, (*view.turns, self.case.last)) if new else view
        return page

    def observe(self, call: ToolCall, outcome: Answer | Failed) -> None:
        """The result of a call is an observation: its whole text is kept, and a long one is shown distilled.

        A tool that gives a view beside the whole has made its own choice.
        """
        whole, text = outcome.whole if isinstance(outcome, Answer) else "", outcome.text
        reference = keep_text(self.shelf, whole or text)
        if call.name not in AS_THEY_ARE and not whole and len(text) > LONG_RESULT:
            text = distill(call.name, text, LONG_RESULT, f"#{self.case.last + 1}").text
        self.case = self.case.observed(call.name, _in_a_line(call.input), text, reference)

    def errands(self, calls: Sequence[ToolCall], meter: Meter) -> list[CameBack | Lost]:
        """What came of these calls for a scout, in their order; those that may go are out side by side."""
        outcomes: list[CameBack | Lost | None] = [None] * len(calls)
        going: list[int] = []
        for place, call in enumerate(calls):
            wrong = faults(SCOUT.schema, call.input)
            if wrong:
                outcomes[place] = Lost("scout was not called: " + " ".join(wrong))
            elif self.sent_out + len(going) >= self.template.limits.scouts:
                outcomes[place] = Lost(f"All {self.template.limits.scouts} scouts were sent out; look for yourself.")
            else:
                going.append(place)
        self.sent_out += len(going)
        if going:
            errands = [self._errand(calls[place]) for place in going]
            for place, outcome in zip(going, send_out(errands, meter, self.trace), strict=True):
                outcomes[place] = outcome
        return [one for one in outcomes if one is not None]

    def welcome(self, call: ToolCall, outcome: CameBack | Lost) -> Answer | Failed:
        """A scout's answer as observations: one of the errand, one for each claim whose lines are there."""
        if isinstance(outcome, Lost):
            failed = Failed(outcome.reason)
            self.observe(call, failed)
            return failed
        believed = [one for one in outcome.seen if not one.refused]
        text = _told(outcome, len(believed), self.case.last + 2)
        self.case = self.case.observed("scout", _in_a_line(call.input), text, keep_text(self.shelf, text))
        for one in believed:
            self.case = self.case.having(self._cited(one))
        return Answer(text)

    def _errand(self, call: ToolCall) -> Errand:
        return Errand(str(call.input["question"]), self.template, self.scout, self.snapshot, self.reading)

    def _cited(self, one: Seen) -> Observation:
        text = f"{one.text}\n{one.quote}".strip("\n")
        return Observation(
            number=1,
            tool="scout",
            asked="",
            text=text,
            reference=keep_text(self.shelf, text),
            path=one.path,
            start=one.start,
            end=one.end,
        )

    def _note(self, asked: Mapping[str, Any]) -> Answer | Failed:
        outcome = noted(self.case, asked, Pad(self.snapshot, self.shelf, self.view.last_seen))
        if isinstance(outcome, Refused):
            return Failed(f"Your note was not taken: {outcome}")
        self.case = outcome
        return Answer("The note stands in the case file.")

    def _reopen(self, asked: Mapping[str, Any]) -> Answer | Failed:
        wanted = str(asked["reference"]).strip()
        if _NOTE_ID.fullmatch(wanted):
            note = self.case.notes.note(wanted)
            return Failed(str(note)) if isinstance(note, Refused) else Answer(note)
        reference = self.case.resolve(wanted)
        if isinstance(reference, Refused):
            return Failed(str(reference))
        text = reopen(self.shelf, reference, _number(asked, "start"), _number(asked, "end"))
        return Failed(str(text)) if isinstance(text, Refused) else Answer(text)


def _told(outcome: CameBack, believed: int, first: int) -> str:
    """What the planner is told of an errand as a whole: which claims follow, and which are not believed, and why."""
    if not outcome.seen:
        return "The scout saw nothing that bears on the question."
    numbers = f"#{first}" if believed == 1 else f"#{first} to #{first + believed - 1}"
    lines = [
        f"{believed} of {len(outcome.seen)} observations cite lines that are there" + f": {numbers}." * bool(believed)
    ]
    lines += [
        f"NOT BELIEVED: {one.refused} The scout had said of {one.place}: {one.text}"
        for one in outcome.seen
        if one.refused
    ]
    if outcome.too_many:
        lines.append(f"{outcome.too_many} more observations went beyond the length of an answer.")
    return "\n".join(lines)


def _in_a_line(asked: Mapping[str, object]) -> str:
    return json.dumps(dict(asked), ensure_ascii=False)


def _number(asked: Mapping[str, Any], name: str) -> int | None:
    value = asked.get(name)
    return int(value) if isinstance(value, int | float) else None
