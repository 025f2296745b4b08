"""Effects: one holder at a time, settled once, nobody starved."""

from datetime import timedelta

import pytest

from app.core import facts as f
from app.core.belts import Belt
from app.core.effects import DraftPlan, LookUpAuthority
from app.core.leasing import LONGEST_WAIT
from app.core.run import Wanted
from app.core.verdict import Allowed, Refused
from app.ledger.outcomes import Claim, EffectView, Recorded
from app.ledger.store import Ledger
from tests.fakes.deliveries import LEASE, Told
from tests.fakes.facts import MIRA, START, TEXTS, a_request, drafted, found


def _effect(told: Told, effect_id: int) -> EffectView:
    view = told.ledger.run(told.request.run)
    assert view is not None
    return next(effect for effect in view.effects if effect.id == effect_id)


def test_a_claim_holds_the_effect_and_the_state_of_its_run(told: Told) -> None:
    [ring] = told.labelled().rings
    claim = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    assert isinstance(claim, Claim)
    assert isinstance(claim.effect, LookUpAuthority)
    assert isinstance(claim.state, Wanted)
    assert (claim.run, claim.fence, claim.attempts) == (told.request.run, 1, 1)
    assert claim.lease_until == told.now + LEASE
    assert told.ledger.owed(Belt.PUBLISHER, told.now) == ()
    assert told.ledger.owed(Belt.PUBLISHER, told.now + LEASE) == (ring.effect_id,)


def test_of_two_claims_one_wins(told: Told) -> None:
    [ring] = told.labelled().rings
    assert isinstance(told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE), Claim)
    again = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    assert isinstance(again, Refused)
    assert "Somebody holds this effect until" in str(again)


def test_another_belts_effect_cannot_be_claimed(told: Told) -> None:
    [ring] = told.labelled().rings
    for belt in (Belt.PLANNER, Belt.EXECUTOR):
        assert isinstance(told.ledger.claim(ring.effect_id, belt, told.now, LEASE), Refused)
        assert told.ledger.owed(belt, told.now) == ()


def test_an_effect_that_is_not_there_cannot_be_claimed(ledger: Ledger) -> None:
    assert isinstance(ledger.claim(4_300_000_007, Belt.PLANNER, START, LEASE), Refused)


def test_who_lost_the_lease_can_do_nothing_any_more(told: Told) -> None:
    [ring] = told.labelled().rings
    old = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    assert isinstance(old, Claim) and isinstance(old.effect, LookUpAuthority)
    later = told.now + LEASE
    new = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, later, LEASE)
    assert isinstance(new, Claim)
    assert (new.fence, new.attempts) == (2, 2)
    fact = found(old.effect, later)
    assert isinstance(told.ledger.renew(old, later, LEASE), Refused)
    assert isinstance(told.ledger.settle(old, [fact], "done", later), Refused)
    assert isinstance(told.ledger.postpone(old, later, "tired", later), Refused)
    assert isinstance(told.ledger.retry(old, later, "tired", later), Refused)
    assert isinstance(told.ledger.abandon(old, "tired", later), Refused)
    view = told.ledger.run(told.request.run)
    assert view is not None and len(view.facts) == 1
    assert isinstance(told.ledger.settle(new, [fact], "done", later), Recorded)


def test_a_late_holder_whom_nobody_surpassed_may_still_settle(told: Told) -> None:
    [ring] = told.labelled().rings
    claim = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    assert isinstance(claim, Claim) and isinstance(claim.effect, LookUpAuthority)
    much_later = told.now + 10 * LEASE
    assert isinstance(told.ledger.settle(claim, [found(claim.effect, much_later)], "done", much_later), Recorded)


def test_a_renewed_lease_keeps_others_out(told: Told) -> None:
    [ring] = told.labelled().rings
    claim = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    assert isinstance(claim, Claim)
    later = told.now + LEASE - timedelta(seconds=1)
    renewed = told.ledger.renew(claim, later, LEASE)
    assert isinstance(renewed, Claim)
    assert renewed.lease_until == later + LEASE
    assert isinstance(told.ledger.claim(ring.effect_id, Belt.PUBLISHER, later + timedelta(seconds=2), LEASE), Refused)


@pytest.mark.parametrize("ahead", [timedelta(days=2), timedelta(days=400)])
def test_a_clock_that_was_ahead_and_came_back_leaves_nothing_stuck(told: Told, ahead: timedelta) -> None:
    """Neither what a holder has that died meanwhile, nor what was put off."""
    [ring] = told.labelled().rings
    held = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now + ahead, LEASE)
    assert isinstance(held, Claim) and told.ledger.owed(Belt.PUBLISHER, told.now) == (ring.effect_id,)
    again = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    assert isinstance(again, Claim) and again.fence == held.fence + 1
    assert told.ledger.retry(again, told.now + ahead + LEASE, "why", told.now + ahead) is None
    assert told.ledger.owed(Belt.PUBLISHER, told.now) == (ring.effect_id,)
    assert isinstance(told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE), Claim)


@pytest.mark.parametrize("jump", [timedelta(days=-2), timedelta(hours=-2), timedelta(seconds=-20), timedelta(days=2)])
def test_a_clock_that_jumps_between_claim_and_settling_loses_nothing_and_lets_nobody_in(
    told: Told, jump: timedelta
) -> None:
    [ring] = told.labelled().rings
    claim = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    assert isinstance(claim, Claim) and isinstance(claim.effect, LookUpAuthority)
    then = told.now + jump
    assert isinstance(told.ledger.renew(claim, then, LEASE), Claim)
    assert isinstance(told.ledger.claim(ring.effect_id, Belt.PUBLISHER, then, LEASE), Refused)
    settled = told.ledger.settle(claim, [found(claim.effect, then)], "done", then)
    assert isinstance(settled, Recorded) and {one.belt for one in settled.rings} == {Belt.PUBLISHER, Belt.PLANNER}
    # What follows is due by either clock, once.
    assert set(told.ledger.owed(Belt.PLANNER, then)) == set(told.ledger.owed(Belt.PLANNER, told.now)) != set()
    assert isinstance(told.ledger.settle(claim, [found(claim.effect, then)], "done", told.now), Refused)


def test_nothing_is_put_off_for_more_than_a_day_and_an_hour(told: Told) -> None:
    [ring] = told.labelled().rings
    claim = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    assert isinstance(claim, Claim)
    assert told.ledger.postpone(claim, told.now + timedelta(days=300), "why", told.now) is None
    assert told.ledger.owed(Belt.PUBLISHER, told.now) == ()
    assert told.ledger.owed(Belt.PUBLISHER, told.now + LONGEST_WAIT) == (ring.effect_id,)


def test_what_is_in_hand_is_wanted_until_the_run_goes_on_without_it(told: Told) -> None:
    [ring] = told.labelled().rings
    claim = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    assert isinstance(claim, Claim)
    assert isinstance(told.ledger.wanted(claim), Allowed)
    told.ledger.record(claim.run, f.IssueEnded(at=told.now, how="closed", person=MIRA))
    assert isinstance(told.ledger.wanted(claim), Refused)


def test_what_somebody_else_took_over_is_not_wanted_of_the_one_before(told: Told) -> None:
    [ring] = told.labelled().rings
    old = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    new = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now + LEASE, LEASE)
    assert isinstance(old, Claim) and isinstance(new, Claim)
    assert isinstance(told.ledger.wanted(old), Refused) and isinstance(told.ledger.wanted(new), Allowed)


def test_settling_records_the_facts_and_rings_for_what_follows(told: Told) -> None:
    told.labelled()
    claim = told.claim(LookUpAuthority)
    assert isinstance(claim.effect, LookUpAuthority)
    settled = told.ledger.settle(claim, [found(claim.effect, told.tick())], "found", told.now)
    assert isinstance(settled, Recorded)
    assert sorted(ring.belt for ring in settled.rings) == [Belt.PLANNER, Belt.PUBLISHER]
    effect = _effect(told, claim.effect_id)
    assert (effect.settled_at, effect.outcome, effect.lease_until) == (told.now, "found", None)
    assert isinstance(told.ledger.settle(claim, [], "twice", told.now), Refused)
    assert isinstance(told.ledger.claim(claim.effect_id, Belt.PUBLISHER, told.now, LEASE), Refused)


def test_a_fact_that_the_run_has_no_use_for_any_more_is_noted_and_not_recorded(told: Told) -> None:
    told.allowed()
    claim = told.claim(DraftPlan)
    told.deliver(f.IssueChanged(at=told.tick(), issue_digest=TEXTS[1], person=MIRA))
    before = told.ledger.run(told.request.run)
    assert isinstance(told.ledger.settle(claim, [drafted(1, told.tick())], "planned", told.now), Recorded)
    after = told.ledger.run(told.request.run)
    assert before is not None and after is not None
    assert after.facts == before.facts
    outcome = _effect(told, claim.effect_id).outcome
    assert outcome == "planned; plan_drafted was not recorded: A run that is closed has no use for plan_drafted."


def test_what_a_run_needs_no_longer_is_settled_when_it_is_claimed(told: Told) -> None:
    [ring] = told.labelled().rings
    told.deliver(f.LabelRemoved(at=told.tick(), person=MIRA))
    refused = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    assert refused == Refused("the label was decided already")
    effect = _effect(told, ring.effect_id)
    assert (effect.settled_at, effect.outcome) == (told.now, "not done: the label was decided already")


def test_what_is_postponed_waits_and_says_why(told: Told) -> None:
    [ring] = told.labelled().rings
    claim = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    assert isinstance(claim, Claim)
    until = told.now + timedelta(minutes=30)
    assert told.ledger.postpone(claim, until, "the limit is used up", told.now) is None
    assert isinstance(told.ledger.settle(claim, [], "too late", told.now), Refused)
    [debt] = told.ledger.debts()
    assert (debt.available_at, debt.lease_until, debt.attempts) == (until, None, 1)
    assert debt.why.endswith("the limit is used up")
    early = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, until - timedelta(microseconds=1), LEASE)
    assert isinstance(early, Refused) and "not due" in str(early)
    assert told.ledger.owed(Belt.PUBLISHER, until - timedelta(microseconds=1)) == ()
    assert told.ledger.owed(Belt.PUBLISHER, until) == (ring.effect_id,)
    again = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, until, LEASE)
    assert isinstance(again, Claim)
    assert (again.attempts, again.postponements) == (2, 1)


def test_a_failed_attempt_counts_and_waiting_does_not(told: Told) -> None:
    [ring] = told.labelled().rings
    claim = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    assert isinstance(claim, Claim)
    assert told.ledger.retry(claim, told.now, "no answer", told.now) is None
    again = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    assert isinstance(again, Claim)
    assert (again.attempts, again.postponements) == (2, 0)


def test_an_abandoned_effect_is_settled_and_the_run_learns_why(told: Told) -> None:
    [ring] = told.labelled().rings
    claim = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    assert isinstance(claim, Claim)
    assert isinstance(told.ledger.abandon(claim, "GitHub refused five times", told.now), Recorded)
    view = told.ledger.run(told.request.run)
    assert view is not None
    assert view.state.name == "closed"
    assert view.facts[-1].fact == f.EffectAbandoned(
        at=told.now, effect="look_up_authority", key="authority:label", reason="GitHub refused five times", tried=1
    )
    assert _effect(told, ring.effect_id).outcome == "abandoned: GitHub refused five times"
    assert [debt.key for debt in told.ledger.debts()] == ["status:closed:failed"]


def test_a_hundred_debts_of_one_repository_do_not_stand_before_one_of_another(ledger: Ledger) -> None:
    for number in range(1, 31):
        Told(ledger, a_request(run=f"r-a{number:05}", number=number, repository_id=1)).labelled()
    busy = Told(ledger, a_request(run="r-a00001", number=1, repository_id=1))
    for _ in range(3):
        id = busy.fresh()
        busy.deliver(f.CommandUnclear(at=START, written="x", meant=str(id), comment_id=id, person=MIRA))
    Told(ledger, a_request(run="r-b00001", repository_id=2)).labelled()
    owed = {debt.effect_id: debt.run for debt in ledger.debts()}
    turns = [owed[id] for id in ledger.owed(Belt.PUBLISHER, START)]
    assert turns[:2] == ["r-a00001", "r-b00001"]
    assert turns[-3:] == ["r-a00001"] * 3
    assert len(turns) == 34
    assert ledger.owed(Belt.PUBLISHER, START, limit=2) == ledger.owed(Belt.PUBLISHER, START)[:2]


def test_twenty_repositories_of_one_installation_do_not_stand_before_one_of_another(ledger: Ledger) -> None:
    for number in range(1, 22):
        request = a_request(run=f"r-{number:06}", number=number, repository_id=number)
        Told(ledger, request.model_copy(update={"installation_id": 8 if number == 21 else 7})).labelled()
    owed = {debt.effect_id: debt.run for debt in ledger.debts()}
    turns = [owed[id] for id in ledger.owed(Belt.PUBLISHER, START)]
    assert turns[:3] == ["r-000001", "r-000021", "r-000002"] and len(turns) == 21
