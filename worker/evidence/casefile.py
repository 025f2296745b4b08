"""The case file: what the planner believes, has observed and does not know yet.

It is a value; every change gives a new one. Its rendering is bounded however long the investigation is: the newest
observations stand in full, older ones as one line that says how to reopen them. Attention is lost that way, never
information.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from pydantic import BaseModel, ConfigDict

from app.core.verdict import Refused
from worker.evidence.notes import Edit, Notes
from worker.evidence.observations import Observation, shown_fresh
from worker.evidence.untrusted import fence

_MARKS = 240
"""Room for a heading, the marks of a fence, and the line that says what is left out."""


@dataclass(frozen=True, slots=True)
class Room:
    """How many characters each part of a rendering may take.

    What came since the last turn has `fresh`; what came before stands in full as long as it and the fresh together
    stay within `window`. `lines` is for everything older, a line each, and `kept` for lines kept for good.
    """

    notes: int = 10_000
    kept: int = 10_000
    fresh: int = 32_000
    window: int = 12_000
    lines: int = 6_000

    @property
    def most(self) -> int:
        """No rendering is longer."""
        return self.notes + self.kept + max(self.fresh, self.window) + self.lines


class CaseFile(BaseModel):
    """Hypotheses, questions and decisions as the planner last put them, and every observation it made."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    notes: Notes = Notes()
    observations: tuple[Observation, ...] = ()

    @property
    def last(self) -> int:
        """The number of the newest observation, 0 where there is none."""
        return len(self.observations)

    def observed(self, tool: str, asked: str, text: str, reference: str) -> Self:
        """With one more observation, numbered after the last."""
        return self.having(Observation(number=1, tool=tool, asked=asked, text=text, reference=reference))

    def having(self, seen: Observation) -> Self:
        """With this observation; its number is set here, after the last."""
        numbered = seen.model_copy(update={"number": self.last + 1})
        return self.model_copy(update={"observations": (*self.observations, numbered)})

    def noting(self, edit: Edit, last_seen: int) -> Self | Refused:
        """With these notes, or why not: see `Notes.edited`."""
        notes = self.notes.edited(edit, last_seen)
        return notes if isinstance(notes, Refused) else self.model_copy(update={"notes": notes})

    def resolve(self, reference: str) -> str | Refused:
        """The full reference behind `#3`, `3` or the first eight or more digits of one that this case file knows."""
        wanted = reference.strip().lstrip("#").lower()
        if wanted.isascii() and wanted.isdigit() and len(wanted) < 8:
            number = int(wanted)
            if 1 <= number <= self.last:
                return self.observations[number - 1].reference
            return Refused(f"There is no observation #{number}; the last is #{self.last}.")
        known = {seen.reference for seen in self.observations if len(wanted) >= 8 and seen.reference.startswith(wanted)}
        if len(known) == 1:
            return known.pop()
        return Refused("The reference is not one of this case file.", "Use the number of an observation, such as #3.")

    def render(self, last_seen: int, room: Room) -> str:
        """The case file in at most `room.most` characters; observations after `last_seen` are fresh."""
        kept = self._kept(room.kept)
        shown = {seen.number for seen, _ in kept}
        parts = [self.notes.render(room.notes)]
        if kept:
            parts.append(f"Kept lines:\n{fence('kept lines', _joined(block for _, block in kept))}")
        parts.append(f"Observations ({self.last}):")
        older, whole = self._before(last_seen, room, shown)
        if older:
            parts.append(fence("older observations, a line each", _joined(older)))
        return "\n\n".join([*parts, *whole])

    def _kept(self, room: int) -> list[tuple[Observation, str]]:
        """As many of the kept lines as there is room for, the oldest being left out first."""
        shown: list[tuple[Observation, str]] = []
        room -= _MARKS
        for seen in reversed([one for one in self.observations if one.kept]):
            block = f"#{seen.number} {seen.place}: {seen.text}"
            room -= _size(block)
            if room < 0:
                break
            shown.append((seen, block))
        return shown[::-1]

    def _before(self, last_seen: int, room: Room, elsewhere: set[int]) -> tuple[list[str], list[str]]:
        """Lines of what is older, and blocks of what stands in full, each in the order of their numbers."""
        fresh = [seen for seen in self.observations[last_seen:] if seen.number not in elsewhere]
        whole = shown_fresh(fresh, room.fresh)
        left = room.window - sum(map(len, whole))
        lines: list[str] = []
        spare = room.lines - _MARKS
        for seen in reversed(self.observations[:last_seen]):
            if seen.number in elsewhere:
                continue
            left -= len(seen.whole()) if not seen.path else 0
            if left >= 0 and not seen.path:
                whole.insert(0, seen.whole())
                continue
            spare -= _size(seen.line())
            if spare < 0:
                lines.append(f"#1 to #{seen.number}: older; each can be reopened by its number")
                break
            lines.append(seen.line())
        return lines[::-1], whole


def _size(text: str) -> int:
    """What the text takes inside a fence: a disarmed look-alike is longer than what was written."""
    return len(fence("", text)) - len(fence("", "")) + 1


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines)
