"""Observations: the result of one tool call, or lines that somebody cites; whole, cut, or in one line."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from worker.evidence.untrusted import fence

ASKED_CHARACTERS = 200
BEGINNING_CHARACTERS = 120
CITED_CHARACTERS = 300


class Observation(BaseModel):
    """What one tool call showed, or what cited lines show. `reference` finds the full output.

    `asked` is the call in one line. With `path`, `start` and `end` it cites lines that code found to be there; `text`
    then begins with what they show.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: Annotated[int, Field(ge=1)]
    tool: str
    asked: str
    text: str
    reference: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    path: str = ""
    start: int = 0
    end: int = 0
    kept: bool = False
    """True for lines that the planner wants before its eyes for good."""

    @property
    def place(self) -> str:
        """`path:start-end`, empty where nothing is cited."""
        return f"{self.path}:{self.start}-{self.end}" if self.path else ""

    def line(self) -> str:
        """The observation in one line: a citation with what it shows, anything else with how its text begins."""
        if self.path:
            return f"#{self.number} {self.tool} {self.place}: {_flat(self.text, CITED_CHARACTERS)}"
        lines = self.text.count("\n") + 1
        begins = _flat(self.text.partition("\n")[0], BEGINNING_CHARACTERS)
        return f"#{self.number} {self._call()}: {begins} ({lines:,} lines; reopen #{self.number})"

    def whole(self) -> str:
        """The observation with its text, fenced as data."""
        return f"#{self.number} {self._call()}\n{fence(f'observation {self.number}', self.text)}"

    def cut(self, room: int) -> str:
        """As much of the observation as fits into `room` characters, with a note of what is missing."""
        marks = len(self.model_copy(update={"text": ""}).whole()) + 80
        kept = self.text[: max(room - marks, 0)]
        # Disarming a look-alike lengthens the text, so that the cut is made until it fits.
        while True:
            note = f"\n[… {len(self.text) - len(kept):,} more characters; reopen #{self.number}]"
            shown = self.model_copy(update={"text": kept + note}).whole()
            if len(shown) <= room or not kept:
                return shown if len(shown) <= room else f"#{self.number} (reopen #{self.number})"
            kept = kept[: len(kept) - max(len(shown) - room, 1)]

    def _call(self) -> str:
        asked = _flat(self.asked, ASKED_CHARACTERS)
        return f"{self.tool} {self.place}" if self.path else f"{self.tool} {asked}"


def shown_fresh(fresh: Sequence[Observation], room: int) -> list[str]:
    """Each in full, or as much of it as its fair share of `room` takes: what short ones leave is for long ones."""
    blocks: dict[int, str] = {}
    left = room
    by_size = sorted(fresh, key=lambda one: (len(one.whole()), one.number))
    for place, one in enumerate(by_size):
        share = left // (len(by_size) - place)
        whole = one.whole()
        blocks[one.number] = whole if len(whole) <= share else one.cut(share)
        left -= len(blocks[one.number])
    return [blocks[one.number] for one in fresh]


def _flat(text: str, most: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"
