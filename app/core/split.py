"""A split: how an issue that is too much for one plan could be cut into several. A proposal; nothing is opened."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.core.plan import ShortWords, Words

FEWEST, MOST = 2, 8


class _SplitPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Piece(_SplitPart):
    """One issue that could be opened: its title, what it covers, and the numbers of the pieces it has to wait for."""

    title: Annotated[ShortWords, Field(max_length=120, pattern=r"^[^\n]*\S[^\n]*$")]
    covers: Words
    after: Annotated[tuple[int, ...], Field(max_length=MOST)] = ()


class Split(_SplitPart):
    """Why the issue is too large for one plan, and the pieces in the order in which they can be done."""

    reason: Words
    pieces: Annotated[tuple[Piece, ...], Field(min_length=FEWEST, max_length=MOST)]

    @model_validator(mode="after")
    def _can_be_done_in_order(self) -> "Split":
        for number, piece in enumerate(self.pieces, start=1):
            late = [other for other in piece.after if not 1 <= other < number]
            if late:
                raise ValueError(f"piece {number} waits for {late[0]}, which is none of the pieces before it")
        titles = [" ".join(piece.title.split()).casefold() for piece in self.pieces]
        if len(set(titles)) < len(titles):
            raise ValueError("two pieces have the same title")
        return self
