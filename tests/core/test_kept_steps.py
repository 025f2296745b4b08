"""What is kept of an execution: for one approval, once for each step, and with its cost in the run's sum."""

import random
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from app.core import facts as f
from app.core.effects import Effect, Execute, Purpose
from app.core.run import Approved, KeptWork, Proposed, State
from tests.core.test_advance_table import Life
from tests.fakes.facts import World, kept_step, lived


def approved(life: Life) -> tuple[str, str]:
    """The plan's digest, and the key of its execution."""
    life.decide(Purpose.APPROVE)
    assert isinstance(life.state, Approved)
    key = next(effect.key for effect in life.new if isinstance(effect, Execute))
    return life.state.proposal.digest, key


def test_each_step_is_kept_once_and_its_cost_is_in_the_sum() -> None:
    life = Life()
    life.proposed()
    digest, key = approved(life)
    before = life.state.spent.usd if life.state else Decimal(0)
    for step in (1, 2):
        life.tell(kept_step(digest, key, step, life.now()))
        life.refuses(kept_step(digest, key, step, life.now()))
    assert isinstance(life.state, Approved)
    assert [one.id for one in life.state.work.steps] == [1, 2]
    assert life.state.work.spent.usd == life.state.spent.usd - before == Decimal("0.20")


def test_a_step_of_another_approval_or_plan_counts_for_nothing() -> None:
    life = Life()
    life.proposed()
    digest, key = approved(life)
    life.refuses(kept_step("f" * 64, key, 1, life.now()))
    life.tell(kept_step(digest, key, 1, life.now()))
    life.void()
    assert isinstance(life.state, Proposed)
    life.refuses(kept_step(digest, key, 2, life.now()))
    assert approved(life) != (digest, key)
    assert isinstance(life.state, Approved)
    assert life.state.work == KeptWork()
    life.refuses(kept_step(digest, key, 2, life.now()))


def _sum_holds(world: World, before: State | None, _owed: tuple[Effect, ...]) -> None:
    """What an execution is said to have cost is never more than what the run cost since its approval."""
    after, fact = world.state, world.facts[-1]
    if isinstance(fact, f.StepKept):
        assert isinstance(before, Approved)
        assert isinstance(after, Approved)
        assert after.spent == before.spent.plus(fact.spent)
        assert after.work.spent == before.work.spent.plus(fact.spent)
        assert len({one.id for one in after.work.steps}) == len(after.work.steps) == len(before.work.steps) + 1


@given(st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_no_money_is_lost_and_no_step_kept_twice_whatever_happens(seed: int) -> None:
    lived(random.Random(seed).choice, 60, witness=_sum_holds)
