"""A split is two to eight pieces that can be done in their order, or it is none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.core import facts as f
from app.core.budget import Spent
from app.core.effects import Purpose, Say, SourceKind, SplitSaying
from app.core.run import Closed, ClosedReason, Proposed
from app.core.split import MOST, Split
from tests.core.test_advance_table import Life
from tests.fakes.facts import A_SPLIT, labelled


def piece(number: int, *after: int, **changes: Any) -> dict[str, Any]:
    return {"title": f"Piece {number}", "covers": f"What piece {number} is.", "after": list(after), **changes}


def a_split(*pieces: dict[str, Any]) -> Split:
    return Split.model_validate({"reason": "It is many things.", "pieces": list(pieces)})


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ((piece(1),), "at least 2"),
        (tuple(piece(n) for n in range(1, MOST + 2)), f"at most {MOST}"),
        ((piece(1, 2), piece(2)), "piece 1 waits for 2"),
        ((piece(1), piece(2, 2)), "piece 2 waits for 2"),
        ((piece(1), piece(2, 0)), "piece 2 waits for 0"),
        ((piece(1), piece(2, title="  piece  1 ")), "the same title"),
        ((piece(1), piece(2, title="a\nb")), "pattern"),
        ((piece(1), piece(2, title=" ")), "pattern"),
        ((piece(1), piece(2, covers="\u202eab")), "nobody would see"),
        ((piece(1), piece(2, labels=["x"])), "Extra inputs"),
    ],
)
def test_what_is_no_split_is_refused_with_the_reason(pieces: tuple[dict[str, Any], ...], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        a_split(*pieces)


@given(st.lists(st.lists(st.integers(0, MOST + 1), max_size=3), min_size=2, max_size=MOST))
def test_a_split_that_is_taken_can_be_done_from_the_first_piece_to_the_last(waits: list[list[int]]) -> None:
    pieces = [piece(number, *after) for number, after in enumerate(waits, 1)]
    in_order = all(1 <= other < number for number, after in enumerate(waits, 1) for other in after)
    try:
        taken = a_split(*pieces)
    except ValidationError:
        assert not in_order
    else:
        assert in_order and [one.title for one in taken.pieces] == [one["title"] for one in pieces]


def proposed_split(life: Life, version: int) -> f.SplitProposed:
    return f.SplitProposed(at=life.now(), version=version, split=A_SPLIT, spent=Spent(calls=2))


def said(life: Life) -> list[SplitSaying]:
    return [one.saying for one in life.new if isinstance(one, Say) and isinstance(one.saying, SplitSaying)]


def test_a_run_ends_with_its_pieces_said_and_its_cost_kept() -> None:
    life = Life()
    life.tell(labelled())
    life.refuses(proposed_split(life, 1))
    life.decide(Purpose.LABEL, SourceKind.LABEL)
    life.refuses(proposed_split(life, 2))
    life.tell(proposed_split(life, 1))
    assert isinstance(life.state, Closed)
    assert (life.state.reason, life.state.spent.calls) == (ClosedReason.TOO_LARGE, 2)
    assert "It is two things." in life.state.words and "Nothing was opened" in life.state.remedy
    assert [one.split for one in said(life)] == [A_SPLIT]


def test_a_revision_that_is_too_much_leaves_the_older_version_on_offer() -> None:
    life = Life()
    life.proposed()
    life.refuses(proposed_split(life, 2))
    life.decide(Purpose.REVISE)
    life.tell(proposed_split(life, 2))
    assert isinstance(life.state, Proposed)
    assert (life.state.proposal.version, life.state.drafting, life.state.last_version) == (1, False, 2)
    assert [one.split for one in said(life)] == [A_SPLIT]
    assert "too much for one plan" in str(life.new)
