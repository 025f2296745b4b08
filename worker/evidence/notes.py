"""The planner's notes: hypotheses with their standing, open questions, decisions. Values; an edit gives new ones."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from app.core.verdict import Refused
from worker.evidence.untrusted import disarmed

MOST_OF_A_KIND = 24
"""Hypotheses, questions or decisions in one case file; more of them are not taken."""


class Standing(StrEnum):
    """How a hypothesis stands to what was observed."""

    OPEN = "open"
    SUPPORTED = "supported"
    REFUTED = "refuted"


class _Note(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    id: str

    def line(self) -> str:
        """The note in one line, its id first."""
        raise NotImplementedError


class Hypothesis(_Note):
    """What may be so, with the numbers of the observations for and against it."""

    says: str
    standing: Standing
    speaks_for: Annotated[tuple[int, ...], Field(alias="for")] = ()
    speaks_against: Annotated[tuple[int, ...], Field(alias="against")] = ()

    def line(self) -> str:
        numbers = [_numbers("for", self.speaks_for), _numbers("against", self.speaks_against)]
        return f"{self.id} [{'; '.join([str(self.standing), *filter(None, numbers)])}] {_flat(self.says)}"


class OpenQuestion(_Note):
    """What is not known yet; settled once `settled` says how."""

    asks: str
    settled: str = ""

    def line(self) -> str:
        return f"{self.id} {_flat(self.asks)}" + (f" Settled: {_flat(self.settled)}" if self.settled.strip() else "")


class Decision(_Note):
    """What was decided, and why."""

    says: str
    because: str

    def line(self) -> str:
        return f"{self.id} {_flat(self.says)} Because: {_flat(self.because)}"


class Edit(BaseModel):
    """Notes to be put: one with a known id takes that note's place, one with a new id is added."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hypotheses: tuple[Hypothesis, ...] = ()
    questions: tuple[OpenQuestion, ...] = ()
    decisions: tuple[Decision, ...] = ()


class Notes(BaseModel):
    """All notes of one case file, each kind in the order in which they were first put."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hypotheses: tuple[Hypothesis, ...] = ()
    questions: tuple[OpenQuestion, ...] = ()
    decisions: tuple[Decision, ...] = ()

    def edited(self, edit: Edit, last_seen: int) -> "Notes | Refused":
        """With the edit made, whole or not at all.

        Only observations up to `last_seen` can speak for or against anything: a later one nobody has read yet.
        """
        for one in edit.hypotheses:
            wrong = _unfounded(one, last_seen)
            if wrong is not None:
                return wrong
        put = Notes(
            hypotheses=_put(self.hypotheses, edit.hypotheses),
            questions=_put(self.questions, edit.questions),
            decisions=_put(self.decisions, edit.decisions),
        )
        for what, some in (("hypotheses", put.hypotheses), ("questions", put.questions), ("decisions", put.decisions)):
            if len(some) > MOST_OF_A_KIND:
                return Refused(f"There is room for {MOST_OF_A_KIND} {what}.", "Put one that has served anew instead.")
        return put

    def note(self, id: str) -> str | Refused:
        """The note with this id, in one line."""
        every: list[_Note] = [*self.hypotheses, *self.questions, *self.decisions]
        found = next((one.line() for one in every if one.id == id), None)
        return found if found is not None else Refused(f"There is no note {id}.")

    def render(self, room: int) -> str:
        """Every note in a line, as many as `room` characters take; those left out are named by their ids.

        Left out first is what has served: refuted hypotheses, settled questions, then the oldest decisions.
        """
        left_out: list[_Note] = []
        for one in [None, *self._by_use()]:
            if one is not None:
                left_out.append(one)
            text = self._rendered(frozenset(note.id for note in left_out))
            if len(text) <= room:
                return text
        return text[:room]

    def _by_use(self) -> list[_Note]:
        """From what is missed least to what is missed most."""
        refuted = [one for one in self.hypotheses if one.standing is Standing.REFUTED]
        settled = [one for one in self.questions if one.settled.strip()]
        standing = [one for one in self.hypotheses if one.standing is not Standing.REFUTED]
        waiting = [one for one in self.questions if not one.settled.strip()]
        return [*refuted, *settled, *self.decisions, *waiting, *standing]

    def _rendered(self, without: frozenset[str]) -> str:
        kinds: tuple[tuple[str, Sequence[_Note]], ...] = (
            ("Hypotheses", self.hypotheses),
            ("Questions", self.questions),
            ("Decisions", self.decisions),
        )
        lines: list[str] = []
        for title, notes in kinds:
            lines.append(f"{title}:{'' if notes else ' none yet'}")
            lines += [f"- {note.line()}" for note in notes if note.id not in without]
            missing = [note.id for note in notes if note.id in without]
            if missing:
                lines.append(f"- left out for length, reopen by id: {', '.join(missing)}")
        return "\n".join(lines)


_N = TypeVar("_N", bound=_Note)


def _put(notes: tuple[_N, ...], news: tuple[_N, ...]) -> tuple[_N, ...]:
    by_id = {one.id: one for one in notes}
    return tuple((by_id | {one.id: one for one in news}).values())


def _unfounded(one: Hypothesis, last_seen: int) -> Refused | None:
    unseen = [number for number in (*one.speaks_for, *one.speaks_against) if not 1 <= number <= last_seen]
    if unseen:
        return Refused(
            f"{one.id} rests on #{unseen[0]}, which you have not seen.", f"The last you saw is #{last_seen}."
        )
    if one.standing is Standing.SUPPORTED and not one.speaks_for:
        return Refused(f"{one.id} is supported by no observation.", "Name one in `for`, or leave it open.")
    if one.standing is Standing.REFUTED and not one.speaks_against:
        return Refused(f"{one.id} is refuted by no observation.", "Name one in `against`, or leave it open.")
    return None


def _numbers(word: str, numbers: tuple[int, ...]) -> str:
    return f"{word} {' '.join(f'#{number}' for number in numbers)}" if numbers else ""


def _flat(text: str) -> str:
    """One line, in which nothing that was copied from elsewhere can pass for a mark of ours."""
    return disarmed(" ".join(text.split()))
