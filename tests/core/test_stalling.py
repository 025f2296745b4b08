"""Work that makes no progress: which way it is stalled, that it is said once, and when it is the end."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from app.comments.status import render
from app.core import facts as f
from app.core.belts import Belt
from app.core.effects import DraftPlan, Purpose, SourceKind
from app.core.run import Approved, Closed, ClosedReason, StallCode
from app.core.stalling import MOST_SILENCE, PATIENCE, SILENCE, Debt, stall_of, waits_for
from tests.core.test_advance_table import Life
from tests.fakes.facts import kept_step, labelled

MINUTE = timedelta(minutes=1)


@pytest.fixture
def life() -> Life:
    """A plan is being made."""
    made = Life()
    made.tell(labelled())
    made.decide(Purpose.LABEL, SourceKind.LABEL)
    return made


def debt(life: Life, **changes: object) -> Debt:
    assert life.state is not None
    made = Debt(waits_for(life.state), Belt.PLANNER, life.at, None, None, "The model does not answer.")
    return replace(made, **changes)  # type: ignore[arg-type]


def ways(at: datetime) -> dict[str, tuple[dict[str, object], timedelta, StallCode | None, bool]]:
    """What the ledger says, how long after the last sign, and what comes of it."""
    waits, held = {"available_at": at + timedelta(days=1)}, {"lease_until": at + timedelta(days=1)}
    return {
        "waits shortly": (waits, PATIENCE, None, False),
        "waits long": (waits, PATIENCE + MINUTE, StallCode.WAITS, False),
        "is to be taken up": ({}, PATIENCE, None, False),
        "is not taken up": ({}, PATIENCE + MINUTE, StallCode.NOT_TAKEN_UP, False),
        "is due again after a wait": ({"available_at": at + PATIENCE}, PATIENCE + MINUTE, None, False),
        "was held by one that died": ({"lease_until": at}, PATIENCE + MINUTE, StallCode.NOT_TAKEN_UP, False),
        "is in hand": (held, SILENCE, None, False),
        "is in hand without a sign": (held, SILENCE + MINUTE, StallCode.NO_PROGRESS, False),
        "is in hand without a sign for hours": (held, MOST_SILENCE + MINUTE, StallCode.NO_PROGRESS, True),
    }


@pytest.mark.parametrize("way", ways(datetime.min))
def test_each_way_of_making_no_progress_is_told_apart(life: Life, way: str) -> None:
    changes, after, code, over = ways(life.at)[way]
    assert life.state is not None
    stalled = stall_of(life.state, [debt(life, **changes)], life.at, life.at + after)
    assert (stalled and stalled.code, bool(stalled and stalled.over)) == (code, over)


def test_work_that_nobody_owes_is_the_end(life: Life) -> None:
    assert life.state is not None
    other = debt(life, key="status:planning")
    assert stall_of(life.state, [other], life.at, life.at + PATIENCE) is None
    stalled = stall_of(life.state, [other], life.at, life.at + PATIENCE + MINUTE)
    assert stalled is not None
    life.tell(stalled)
    assert isinstance(life.state, Closed) and life.state.reason is ClosedReason.FAILED
    assert [effect.key for effect in life.new] == ["status:closed:failed"]


@pytest.fixture
def offer() -> Life:
    """A plan waits for a maintainer."""
    made = Life()
    made.proposed()
    return made


def test_who_waits_for_people_is_not_stalled(offer: Life) -> None:
    life = offer
    assert life.state is not None
    assert stall_of(life.state, [], life.at, life.at + timedelta(days=3)) is None


def a_stall(life: Life, code: StallCode = StallCode.WAITS, over: bool = False) -> f.Stalled:
    assert life.state is not None
    reason, remedy = "The model does not answer.", "It is tried again by itself."
    return f.Stalled(at=life.now(), key=waits_for(life.state), code=code, reason=reason, remedy=remedy, over=over)


def test_it_is_said_once_for_each_way_and_no_longer_once_something_else_is_waited_for(life: Life) -> None:
    life.tell(a_stall(life))
    assert len(life.new) == 1 and life.state is not None
    words = "It does not go on now (waits): The model does not answer. It is tried again by itself."
    assert words in render(life.state)
    life.refuses(a_stall(life))
    life.tell(a_stall(life, StallCode.NOT_TAKEN_UP))
    assert "(not taken up)" in render(life.state)
    stale = a_stall(life).model_copy(update={"key": "plan:9"})
    life.refuses(stale)
    life.tell(f.InputNeeded(at=life.now(), version=1, question="Which?", spent=life.state.spent))
    assert "does not go on" not in render(life.state)


def test_a_step_that_is_done_ends_the_stall_and_that_is_said(offer: Life) -> None:
    life = offer
    life.decide(Purpose.APPROVE)
    assert isinstance(life.state, Approved)
    life.tell(a_stall(life, StallCode.NO_PROGRESS))
    key = waits_for(life.state)
    life.tell(kept_step(life.state.proposal.digest, key, 1, life.now()))
    assert len(life.new) == 1 and "does not go on" not in render(life.state)
    life.tell(a_stall(life, StallCode.NO_PROGRESS))
    assert len(life.new) == 1


def test_a_revision_that_is_given_up_leaves_the_offer(offer: Life) -> None:
    life = offer
    life.decide(Purpose.REVISE)
    assert life.owes(DraftPlan) and life.state is not None
    life.tell(a_stall(life, StallCode.NO_PROGRESS, over=True))
    assert life.state.name == "proposed" and waits_for(life.state) == ""
