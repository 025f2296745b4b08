"""The case file: what the planner believes, has observed and does not know yet.

It is a value; every change gives a new one. Its rendering is bounded however long the investigation is: newer
observations stand in full, older ones as one line that says how to reopen them. Attention is lost that way, never
information.
"""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from app.core.verdict import Refused
from worker.evidence.untrusted import fence

SMALLEST_LIMIT = 2_000
NOTE_CHARACTERS = 600
NOTES = 30
ASKED_CHARACTERS = 200


class Observation(BaseModel):
    """The distilled result of one tool call. `reference` finds the full output; `asked` is the call in one line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: Annotated[int, Field(ge=1)]
    tool: str
    asked: str
    text: str
    reference: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    path: str | None = None
    start: int | None = None
    end: int | None = None

    def line(self) -> str:
        """The observation in one line, without its text."""
        asked = " ".join(self.asked.split())[:ASKED_CHARACTERS]
        lines = self.text.count("\n") + 1
        return f"#{self.number} {self.tool} {asked} ({lines:,} lines; reopen #{self.number})"

    def whole(self) -> str:
        """The observation with its text, fenced as data."""
        asked = " ".join(self.asked.split())[:ASKED_CHARACTERS]
        return f"#{self.number} {self.tool} {asked}\n{fence(f'observation {self.number}', self.text)}"

    def cut(self, room: int) -> str:
        """As much of the observation as fits into `room` characters, with a note of what is missing."""
        marks = len(self.model_copy(update={"text": ""}).whole()) + 80
        kept = self.text[: max(room - marks, 0)]
        # Disarming a look-alike lengthens the text, so that the cut is made until it fits.
        while True:
            note = f"\n[… {len(self.text) - len(kept):,} more characters; reopen #{self.number}]"
            shown = self.model_copy(update={"text": kept + note}).whole()
            if len(shown) <= room or not kept:
                return shown if len(shown) <= room else self.line()
            kept = kept[: len(kept) - max(len(shown) - room, 1)]


class CaseFile(BaseModel):
    """Beliefs and open questions as the planner last put them, and every observation it made."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hypothesis: str = ""
    beliefs: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    observations: tuple[Observation, ...] = ()

    def observed(self, tool: str, asked: str, text: str, reference: str) -> Self:
        """With one more observation, numbered after the last."""
        number = len(self.observations) + 1
        seen = Observation(number=number, tool=tool, asked=asked, text=text, reference=reference)
        return self.model_copy(update={"observations": (*self.observations, seen)})

    def observed_lines(self, seen: Observation) -> Self:
        """With an observation that cites a place; its number is set here."""
        numbered = seen.model_copy(update={"number": len(self.observations) + 1})
        return self.model_copy(update={"observations": (*self.observations, numbered)})

    def believing(self, hypothesis: str, beliefs: tuple[str, ...], questions: tuple[str, ...]) -> Self:
        """With the planner's present hypothesis, beliefs and open questions in place of the former ones."""
        return self.model_copy(update={"hypothesis": hypothesis, "beliefs": beliefs, "questions": questions})

    def resolve(self, reference: str) -> str | Refused:
        """The full reference behind `#3`, `3` or the first eight or more digits of one that this case file knows."""
        wanted = reference.strip().lstrip("#").lower()
        if wanted.isascii() and wanted.isdigit() and len(wanted) < 8:
            number = int(wanted)
            if 1 <= number <= len(self.observations):
                return self.observations[number - 1].reference
            return Refused(f"There is no observation #{number}; the last is #{len(self.observations)}.")
        known = {seen.reference for seen in self.observations if len(wanted) >= 8 and seen.reference.startswith(wanted)}
        if len(known) == 1:
            return known.pop()
        return Refused("The reference is not one of this case file.", "Use the number of an observation, such as #3.")

    def render(self, limit: int) -> str:
        """The case file in at most `limit` characters. Raises ValueError for a limit under 2,000."""
        if limit < SMALLEST_LIMIT:
            raise ValueError(f"a case file is rendered in at least {SMALLEST_LIMIT} characters")
        notes = self._notes(limit // 3)
        heading = f"\n\nObservations ({len(self.observations)}):\n"
        return (notes + heading + self._observed(limit - len(notes) - len(heading))).rstrip("\n")

    def _notes(self, room: int) -> str:
        parts = [("Hypothesis", (self.hypothesis,) if self.hypothesis else ()), ("Beliefs", self.beliefs)]
        parts.append(("Open questions", self.questions))
        lines = []
        for title, notes in parts:
            lines.append(f"{title}:{'' if notes else ' none yet'}")
            lines += [f"- {' '.join(note.split())[:NOTE_CHARACTERS]}" for note in notes[:NOTES]]
            if len(notes) > NOTES:
                lines.append(f"- (and {len(notes) - NOTES} more)")
        text = "\n".join(lines)
        return text if len(text) <= room else text[: room - 30] + "\n[… notes cut at the limit]"

    def _observed(self, room: int) -> str:
        """Whole from the newest back while three quarters of the room last, then one line each, then a count."""
        blocks: list[str] = []
        whole = room * 3 // 4
        lines_only = False
        for place, seen in enumerate(reversed(self.observations)):
            left = len(self.observations) - place
            block = seen.whole() if not lines_only else seen.line()
            if not lines_only and len(block) > whole:
                lines_only = True
                block = seen.cut(whole) if not blocks else seen.line()
            reserve = 80 if left > 1 else 0
            if len(block) + 1 + reserve > room:
                blocks.append(f"#1 to #{left}: older; each can be reopened by its number")
                break
            blocks.append(block)
            room -= len(block) + 1
            whole -= len(block) + 1
        return "\n".join(reversed(blocks))
