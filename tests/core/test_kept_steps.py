"""What is kept of an execution: for one approval, once for each step, and with its cost in the run's sum."""

import random
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core import facts as f
from app.core.effects import Effect, Execute, Purpose
from app.core.going_on import MOST_AMENDMENTS
from app.core.run import Approved, Closed, ClosedReason, KeptWork, Proposed, State, grant_of
from tests.core.test_advance_table import Life
from tests.fakes.facts import MIRA, START, World, amendment, drafted, kept_repair, kept_step, lived, sha


@pytest.fixture
def life() -> Life:
    return Life()


def approved(life: Life) -> tuple[str, str]:
    """The plan's digest, and the key of its execution."""
    life.decide(Purpose.APPROVE)
    assert isinstance(life.state, Approved)
    key = next(effect.key for effect in life.new if isinstance(effect, Execute))
    return life.state.proposal.digest, key


def test_each_step_is_kept_once_and_its_cost_is_in_the_sum(life: Life) -> None:
    life.proposed()
    digest, key = approved(life)
    before = life.state.spent.usd if life.state else Decimal(0)
    for step in (1, 2):
        life.tell(kept_step(digest, key, step, life.now()))
        life.refuses(kept_step(digest, key, step, life.now()))
    assert isinstance(life.state, Approved)
    assert [one.id for one in life.state.work.steps] == [1, 2]
    assert life.state.work.spent.usd == life.state.spent.usd - before == Decimal("0.20")


def test_repairs_are_kept_in_their_order_and_no_number_is_had_twice(life: Life) -> None:
    life.proposed()
    digest, key = approved(life)
    life.tell(kept_step(digest, key, 1, life.now()))
    before = life.state.spent.usd if life.state else Decimal(0)
    life.refuses(kept_repair("f" * 64, key, 1, life.now()))
    for number in (1, 2):
        life.refuses(kept_repair(digest, key, number + 1, life.now()))
        life.tell(kept_repair(digest, key, number, life.now()))
        life.refuses(kept_repair(digest, key, number, life.now()))
    assert isinstance(life.state, Approved)
    assert [one.number for one in life.state.work.repairs] == [1, 2]
    assert life.state.spent.usd - before == Decimal("0.40")


def test_a_step_of_another_approval_or_plan_counts_for_nothing(life: Life) -> None:
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
    if isinstance(fact, f.StepKept | f.RepairKept):
        assert isinstance(before, Approved)
        assert isinstance(after, Approved)
        assert after.spent == before.spent.plus(fact.spent)
        assert after.work.spent == before.work.spent.plus(fact.spent)
        steps, repairs = after.work.steps, after.work.repairs
        assert len(steps) + len(repairs) == len(before.work.steps) + len(before.work.repairs) + 1
        assert len({one.id for one in steps}) == len(steps)
        assert [one.number for one in repairs] == [*range(1, len(repairs) + 1)]


@given(st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_no_money_is_lost_and_no_step_kept_twice_whatever_happens(seed: int) -> None:
    lived(random.Random(seed).choice, 60, witness=_sum_holds)


def amended(life: Life) -> str:
    """An approved plan of which one more step is kept is amended; the amended plan's digest."""
    digest, key = approved(life)
    assert isinstance(life.state, Approved)
    life.tell(kept_step(digest, key, len(life.state.work.steps) + 1, life.now()))
    version = life.state.last_version + 1 if life.state else 0
    life.tell(amendment(digest, key, version, life.now()))
    life.post(version)
    assert isinstance(life.state, Proposed)
    return life.state.proposal.digest


def test_an_amendment_waits_for_an_approval_of_its_own_and_goes_on_behind_what_is_kept(life: Life) -> None:
    life.proposed()
    digest = amended(life)
    assert isinstance(life.state, Proposed)
    assert (life.state.proposal.version, life.state.last_version, life.state.amendments) == (2, 2, 1)
    assert grant_of(life.state, life.now()) is None
    life.decide(Purpose.APPROVE, plan_version=1)
    assert isinstance(life.state, Proposed)
    life.decide(Purpose.APPROVE)
    assert isinstance(life.state, Approved)
    assert life.state.approval.plan_digest == digest
    assert [one.id for one in life.state.work.steps] == [1]
    assert life.state.work.spent.usd == Decimal("0.15")


def test_work_after_an_amendment_is_not_kept_beyond_its_approval_but_the_work_before_it_is(life: Life) -> None:
    life.proposed()
    digest = amended(life)
    _, key = approved(life)
    life.tell(kept_step(digest, key, 2, life.now()))
    life.void()
    approved(life)
    assert isinstance(life.state, Approved)
    assert [one.id for one in life.state.work.steps] == [1]


def test_an_amendment_of_another_approval_or_version_counts_for_nothing(life: Life) -> None:
    life.proposed()
    digest, key = approved(life)
    life.refuses(amendment(digest, "execute:other", 2, life.now()))
    life.refuses(amendment("f" * 64, key, 2, life.now()))
    life.refuses(amendment(digest, key, 3, life.now()))
    life.tell(amendment(digest, key, 2, life.now()))
    life.refuses(amendment(digest, key, 3, life.now()))


def test_a_third_amendment_ends_the_run_with_what_is_done_and_what_it_takes(life: Life) -> None:
    life.proposed()
    for _ in range(MOST_AMENDMENTS):
        amended(life)
    digest, key = approved(life)
    life.tell(amendment(digest, key, life.state.last_version + 1 if life.state else 0, life.now()))
    assert isinstance(life.state, Closed)
    assert life.state.reason is ClosedReason.FAILED
    assert "amended 2 times" in life.state.words and life.state.report_ref == sha("report so far")


@pytest.mark.parametrize("way", [Purpose.REJECT, Purpose.CANCEL, "time", "closed", "unlabelled", "unposted"])
def test_however_an_open_amendment_ends_what_is_done_stays_named(life: Life, way: str) -> None:
    life.proposed()
    amended(life)
    at = life.now()
    match way:
        case Purpose.REJECT | Purpose.CANCEL:
            life.decide(Purpose(way))
        case "time":
            life.tell(f.Expired(at=START + timedelta(days=30)))
        case "closed":
            life.tell(f.IssueEnded(at=at, how=f.IssueEnd.CLOSED, person=MIRA))
        case "unlabelled":
            life.tell(f.LabelRemoved(at=at, person=MIRA))
        case _:
            life.tell(f.EffectAbandoned(at=at, effect="say", key="plan-comment:2", reason="It is too long."))
    assert isinstance(life.state, Closed)
    assert life.state.proposal is not None and life.state.proposal.amends is not None
    assert life.state.proposal.amends.report_ref == sha("report so far")


def test_a_revision_of_an_amendment_is_a_plan_of_its_own_and_a_failed_one_leaves_it_on_offer(life: Life) -> None:
    life.proposed()
    amended(life)
    life.decide(Purpose.REVISE)
    life.tell(f.PlanNotPossible(at=life.now(), version=3, reason="No."))
    assert isinstance(life.state, Proposed) and life.state.proposal.amends is not None
    life.decide(Purpose.REVISE)
    life.tell(drafted(4, life.now()))
    assert isinstance(life.state, Proposed) and life.state.proposal.amends is None
    life.post(4)
    approved(life)
    assert isinstance(life.state, Approved) and life.state.work == KeptWork()


def test_what_is_tried_again_of_an_amended_plan_goes_on_behind_what_was_kept_before_it(life: Life) -> None:
    life.proposed()
    digest = amended(life)
    _, key = approved(life)
    life.tell(kept_step(digest, key, 2, life.now()))
    report = sha("a report")
    life.tell(f.ExecutionFailed(at=life.now(), plan_digest=digest, reason="It broke.", report_ref=report))
    life.decide(Purpose.RETRY)
    assert isinstance(life.state, Approved)
    assert [one.id for one in life.state.work.steps] == [1]


@pytest.mark.parametrize("argument", ["steps 1", "steps 1,2"])
def test_no_step_is_dropped_of_an_amendment(life: Life, argument: str) -> None:
    life.proposed()
    amended(life)
    before = life.state
    life.decide(Purpose.APPROVE, argument=argument)
    assert life.state == before
    assert "approved whole, or not at all" in str(life.new)


def _amended_as_allowed(world: World, before: State | None, owed: tuple[Effect, ...]) -> None:
    """Nothing of an amendment is carried out unapproved, and there are never more than the limit."""
    after = world.state
    assert after is not None and after.amendments <= MOST_AMENDMENTS
    if isinstance(world.facts[-1], f.AmendmentProposed):
        assert isinstance(before, Approved)
        assert not any(isinstance(effect, Execute) for effect in owed)
        assert grant_of(after, world.clock) is None
        if isinstance(after, Proposed):
            assert after.proposal.amends is not None
            assert after.proposal.amends.work.steps == before.work.steps
            assert after.proposal.base_commit == before.proposal.base_commit
            assert after.given == ()
    if isinstance(after, Approved) and isinstance(before, Proposed):
        assert after.work == after.proposal.work()


@given(st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_whatever_happens_amendments_are_approved_one_by_one_and_few(seed: int) -> None:
    lived(random.Random(seed).choice, 80, witness=_amended_as_allowed)
