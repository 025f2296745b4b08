"""The case file: what the planner believes, has observed and does not know yet.

It is a value; every change gives a new one. Its rendering is bounded however long the investigation is: the newest
observations stand in full, older ones as one line each that says how to reopen them. Attention is lost that way,
never information.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
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

    What came since the last turn has `fresh`. It stays in full until it and what came after it would go beyond
    `window`; then all but the newest `rest` of what was seen is folded to a line each, for which there are `lines`.
    Folding seldom and much lets most requests begin as the one before, so that a cache can serve it.
    """

    notes: int = 10_000
    kept: int = 10_000
    fresh: int = 32_000
    window: int = 16_000
    rest: int = 4_000
    lines: int = 6_000

    @property
    def most(self) -> int:
        """No rendering is longer."""
        return self.notes + self.kept + max(self.fresh, self.window) + self.lines


@dataclass(frozen=True, slots=True)
class View:
    """What stands in full: the observations of the last turns, by the number of each turn's last one.

    `turns` rises and ends with the last that was seen; what came after it is fresh. All up to `folded` is a line each.
    """

    folded: int = 0
    turns: tuple[int, ...] = ()

    @property
    def last_seen(self) -> int:
        """The newest observation that was before the planner in an earlier turn."""
        return self.turns[-1] if self.turns else self.folded


@dataclass(frozen=True, slots=True)
class Rendered:
    """A case file in text: `blocks` of observations, which the next rendering repeats or folds, and what changes."""

    blocks: tuple[str, ...]
    notes: str


class CaseFile(BaseModel):
    """Hypotheses, questions and decisions as the planner last put them, and every observation it made of a commit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    commit: str = ""

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

    def viewed(self, view: View, room: Room) -> View:
        """The view of the next turn: the same, or with older turns folded where they and the fresh have no room."""
        fresh = sum(len(seen.whole()) for seen in self.observations[view.last_seen :])
        sizes = [self._size_of(first, last) for first, last in pairwise((view.folded, *view.turns))]
        if fresh + sum(sizes) <= room.window:
            return view
        folded, turns = view.folded, list(view.turns)
        while turns and (sum(sizes) > room.rest or fresh + sum(sizes) > room.window):
            folded = turns.pop(0)
            sizes.pop(0)
        return View(folded, tuple(turns))

    def render(self, view: View, room: Room) -> Rendered:
        """The case file in at most `room.most` characters."""
        kept = self._kept(room.kept)
        elsewhere = {seen.number for seen, _ in kept}
        blocks = self._folded(view.folded, room.lines, elsewhere)
        for first, last in pairwise((view.folded, *view.turns)):
            whole = [seen.whole() for seen in self.observations[first:last] if seen.number not in elsewhere]
            blocks += ["\n\n".join(whole)] if whole else []
        fresh = [seen for seen in self.observations[view.last_seen :] if seen.number not in elsewhere]
        blocks += ["\n\n".join(shown_fresh(fresh, room.fresh - _MARKS))] if fresh else []
        parts = [self.notes.render(room.notes - _MARKS)]
        if kept:
            parts.append(f"Kept lines:\n{fence('kept lines', _joined(block for _, block in kept))}")
        return Rendered(tuple(blocks), "\n\n".join([*parts, f"Observations so far: {self.last}."]))

    def _size_of(self, first: int, last: int) -> int:
        return sum(len(seen.whole()) for seen in self.observations[first:last])

    def _folded(self, folded: int, room: int, elsewhere: set[int]) -> list[str]:
        """One block with a line for each folded observation, the newest of them where there is no room for all."""
        lines: list[str] = []
        room -= _MARKS
        for seen in reversed(self.observations[:folded]):
            if seen.number in elsewhere:
                continue
            room -= _size(seen.line())
            if room < 0:
                lines.append(f"#1 to #{seen.number}: older; each can be reopened by its number")
                break
            lines.append(seen.line())
        return [fence("older observations, a line each", _joined(lines[::-1]))] if lines else []

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


def _size(text: str) -> int:
    """What the text takes inside a fence: a disarmed look-alike is longer than what was written."""
    return len(fence("", text)) - len(fence("", "")) + 1


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines)
