"""No token outlives what it was cut for: settled effects, lost leases, dead workers, the mint's own end."""

import logging
import time
from datetime import timedelta

import pytest

from app.core.belts import Belt, EffectKind
from infra.twin.twin import AppWish, Twin
from tests.fakes.household import app_key
from tests.rooms.mint.conftest import CONNECTIONS
from worker.mint.caller import MintDenied
from worker.mint.mint import Mint, Site
from worker.mint.purse import AGAIN
from worker.mint.wire import Denied, Done, Release, Token, Watch
from worker.outcomes import Wait, outcome_of


def test_tidying_ends_the_tokens_of_settled_effects_and_of_lost_leases_and_no_other(desk):
    settled, lost, held = (desk.claim(desk.label(), EffectKind.DRAFT_PLAN) for _ in range(3))
    for claim in (settled, lost, held):
        desk.cut(claim)
    kept = desk.cut(desk.claim(desk.label(), EffectKind.DRAFT_PLAN, seconds=300))
    desk.mint.tidy()
    assert len(desk.living()) == 4
    desk.ledger.settle(settled, [], "done", desk.now())
    desk.mint.tidy()
    assert len(desk.living()) == 3
    desk.ahead = timedelta(seconds=61)
    desk.mint.tidy()
    assert [one.id for one in desk.ledger.live_mints(desk.now())] == [kept.mint_id]
    assert len(desk.living()) == 1


def test_a_token_for_watching_ends_by_itself_only_after_ten_minutes(desk):
    run = desk.label()
    desk.propose(run)
    asked = Watch(installation_id=desk.installation_id, repository_ids=(desk.repository_id,))
    desk.mint.watch(desk.caller(Belt.PUBLISHER), asked)
    desk.mint.tidy()
    assert len(desk.living()) == 1
    purse = desk.mint._purse
    assert desk.mint._outlived(next(iter(purse._living.values())).place, 601.0)
    assert not desk.mint._outlived(next(iter(purse._living.values())).place, 599.0)


def test_a_token_of_another_belt_is_not_given_back_and_that_is_recorded(desk):
    token = desk.cut(desk.claim(desk.label(), EffectKind.DRAFT_PLAN))
    answer = desk.mint.release(desk.caller(Belt.EXECUTOR), Release(mint_id=token.mint_id))
    assert isinstance(answer, Denied) and "another belt's" in answer.reason
    assert len(desk.living()) == 1
    assert [(one.belt, one.refused) for one in desk.ledger.mints() if one.refused] == [(Belt.EXECUTOR, answer.reason)]
    assert desk.mint.release(desk.caller(Belt.PLANNER), Release(mint_id="made up")) == Done()


def test_a_revocation_that_fails_is_tried_again_and_becomes_an_alarm(desk, caplog):
    token = desk.cut(desk.claim(desk.label(), EffectKind.DRAFT_PLAN))
    desk.control.fault("DELETE /installation/token", status=503, times=3)
    assert desk.mint.release(desk.caller(Belt.PLANNER), Release(mint_id=token.mint_id)) == Done()
    assert len(desk.living()) == 1 and len(desk.ledger.live_mints(desk.now())) == 1
    # The effect is still claimed: it is the giving back that is owed now.
    desk.mint.tidy()
    levels = [record.levelno for record in caplog.records if "is not revoked" in record.getMessage()]
    assert levels == [logging.WARNING, logging.WARNING]
    desk.mint.tidy()
    assert caplog.records[-1].levelno == logging.ERROR and token.mint_id in caplog.text
    desk.mint.tidy()
    assert desk.living() == [] and desk.ledger.live_mints(desk.now()) == ()
    assert token.value not in caplog.text


def test_the_mint_s_end_ends_every_token_and_tries_for_as_long_as_it_may(desk):
    for _ in range(3):
        desk.cut(desk.claim(desk.label(), EffectKind.DRAFT_PLAN))
    desk.control.fault("DELETE /installation/token", status=500, times=2)
    desk.mint.end_all()
    assert desk.living() == [] and desk.ledger.live_mints(desk.now()) == ()


def test_a_mint_that_is_ending_hands_out_nothing_and_leaves_nothing(desk):
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    desk.mint.end_all()
    caller, _ = desk.line(Belt.PLANNER)
    try:
        caller.cut(claim.run, claim.effect_id, claim.fence)
    except Exception as error:
        assert "could not answer" in str(error)
    assert len(desk.tokens()) == 1 and desk.living() == []
    assert desk.ledger.live_mints(desk.now()) == ()


def test_no_token_is_cut_where_the_ledger_cannot_name_it(desk):
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    desk.write_over("CREATE TRIGGER full BEFORE INSERT ON mints BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    caller, _ = desk.line(Belt.PLANNER)
    with pytest.raises(MintDenied, match="could not answer"):
        caller.cut(claim.run, claim.effect_id, claim.fence)
    assert desk.tokens() == []


def test_a_token_that_cannot_be_recorded_is_ended_at_once(desk):
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    desk.write_over("CREATE TRIGGER full BEFORE UPDATE OF body ON mints BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    caller, _ = desk.line(Belt.PLANNER)
    try:
        caller.cut(claim.run, claim.effect_id, claim.fence)
    except Exception as error:
        assert "could not answer" in str(error) and "disk full" not in str(error)
    assert len(desk.tokens()) == 1 and desk.living() == []


def test_the_tokens_of_a_dead_worker_end_with_its_line(desk):
    caller, sock = desk.line(Belt.PLANNER)
    other, _ = desk.line(Belt.PLANNER)
    for line in (caller, other):
        claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
        line.cut(claim.run, claim.effect_id, claim.fence)
    assert len(desk.living()) == 2
    sock.close()
    deadline = time.monotonic() + 5
    while len(desk.living()) > 1 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(desk.living()) == 1


def test_a_mint_that_begins_names_the_tokens_that_a_killed_one_left_alive(desk, caplog):
    token = desk.cut(desk.claim(desk.label(), EffectKind.DRAFT_PLAN))
    Mint(desk.ledger, desk.identity, Site(desk.twin.url, CONNECTIONS), desk.now).look_back()
    assert caplog.records[-1].levelno == logging.ERROR
    assert f"token ({token.mint_id}, draft_plan of" in caplog.text and "earlier mint" in caplog.text


def test_no_token_is_cut_beside_one_of_the_same_effect_that_github_does_not_revoke(desk):
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN, seconds=2_000)
    first = desk.cut(claim)
    desk.control.fault("DELETE /installation/token", status=503, times=2)
    denied = desk.ask(claim)
    assert isinstance(denied, Denied) and "does not revoke" in denied.reason
    # It comes again: that is no attempt that failed.
    assert isinstance(outcome_of(MintDenied(denied)), Wait) and denied.retry_after == AGAIN.total_seconds()
    assert len(desk.tokens()) == len(desk.living()) == 1
    desk.mint.tidy()
    second = desk.cut(claim)
    assert first.value != second.value and len(desk.living()) == 1


def test_who_waits_for_a_token_to_be_revoked_waits_no_longer_than_it_lives(desk):
    desk.control.set_tokens(seconds=9)
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    desk.cut(claim)
    desk.control.fault("DELETE /installation/token", status=503, times=2)
    denied = desk.ask(claim)
    assert isinstance(denied, Denied) and denied.retry_after is not None and denied.retry_after <= 9
    desk.control.set_clock(9)
    desk.ahead = timedelta(seconds=9)
    assert isinstance(desk.ask(claim), Token)


def test_what_was_asked_again_is_given_back_before_a_write_token_is_cut(desk):
    run = desk.label()
    desk.propose(run)
    desk.approve(run)
    claim = desk.claim(run, EffectKind.EXECUTE)
    desk.control.fault("DELETE /installation/token", status=503, times=2)
    denied = desk.ask(claim)
    assert isinstance(denied, Denied) and denied.retry_after is not None
    assert [one.purpose for one in desk.ledger.live_mints(desk.now())] == ["ask_again"]
    desk.mint.tidy()
    assert isinstance(desk.ask(claim), Token) and len(desk.living()) == 1


def test_no_token_for_watching_is_cut_beside_one_that_is_not_revoked(desk):
    desk.propose(desk.label())
    asked = Watch(installation_id=desk.installation_id, repository_ids=(desk.repository_id,))
    caller = desk.caller(Belt.PUBLISHER)
    assert isinstance(desk.mint.watch(caller, asked), Token)
    desk.control.fault("DELETE /installation/token", status=503)
    assert isinstance(desk.mint.watch(caller, asked), Denied) and len(desk.living()) == 1
    assert isinstance(desk.mint.watch(caller, asked), Token) and len(desk.living()) == 1


def test_a_token_that_aged_out_is_replaced_by_one_new_one(desk):
    desk.control.set_tokens(seconds=60)
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    first = desk.cut(claim)
    desk.control.set_clock(61)
    second = desk.cut(claim)
    assert first.value != second.value
    assert [one.id for one in desk.ledger.mints() if one.revoked_at] == [first.mint_id]


def test_the_mint_s_connection_survives_that_github_is_started_again(desk, tmp_path):
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    desk.cut(claim)
    world, port = desk.twin.forge.world, int(desk.twin.url.rsplit(":", 1)[1])
    desk.twin.stop()
    denied = desk.ask(claim)
    assert isinstance(denied, Denied) and denied.retry_after == 20.0
    desk.twin = Twin.start(tmp_path / "again", AppWish(public_key=app_key()[1]), port)
    # It is the same GitHub as before: it remembers everything.
    desk.twin.forge.world.__dict__.update(world.__dict__)
    answers = [desk.ask(claim) for _ in range(2)]
    assert isinstance(answers[-1], Token), answers


CUT = r"POST /app/installations/\d+/access_tokens"


def test_a_token_whose_answer_is_lost_is_named_by_what_it_is_for(desk, caplog):
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    desk.control.fault(CUT, mode="drop-after")
    answer = desk.ask(claim)
    assert isinstance(answer, Denied) and answer.retry_after is not None
    (alive,) = desk.living()
    assert desk.ledger.live_mints(desk.now()) == ()
    (lost,) = desk.ledger.unfinished_mints(desk.now())
    assert (lost.run, lost.purpose, lost.token_sha256) == (claim.run, "draft_plan", "")
    assert lost.permissions == alive["permissions"]
    assert desk.ledger.unfinished_mints(desk.now() + timedelta(hours=1)) == ()
    desk.mint.look_back()
    said = [record.getMessage() for record in caplog.records]
    assert any(lost.id in line and "its answer was lost" in line for line in said)


def test_a_token_that_was_not_cut_leaves_nothing_but_the_refusal(desk):
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    desk.control.fault(CUT, status=403)
    assert isinstance(desk.ask(claim), Denied)
    assert desk.ledger.unfinished_mints(desk.now()) == ()
    assert len(desk.ledger.mints()) == 1


def test_a_token_that_was_cut_is_no_longer_one_that_was_begun(desk):
    token = desk.cut(desk.claim(desk.label(), EffectKind.DRAFT_PLAN))
    assert desk.ledger.unfinished_mints(desk.now()) == ()
    assert [one.id for one in desk.ledger.mints()] == [token.mint_id]
