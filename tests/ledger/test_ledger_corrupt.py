"""A run whose rows are not those that were written is left aside; others go on, and the log says once what to do."""

import logging

import pytest
from sqlalchemy import text

from app.core.belts import Belt
from app.core.facts import RepositoryEnded
from app.core.news import News, OnRepository
from app.core.verdict import Refused
from app.doctor.finding import Scene
from app.doctor.here import look_at_ledger
from app.ledger.errors import LedgerCorrupt, RunCorrupt
from app.ledger.store import Ledger
from tests.fakes.deliveries import LEASE, Told, a_delivery, on_issue
from tests.fakes.facts import a_request, labelled

NOT_JSON = "UPDATE facts SET body = 'x' WHERE run_id = :run AND seq = 2"
NOT_A_FACT = "UPDATE facts SET body = '{\"kind\": \"labelled\"}' WHERE run_id = :run AND seq = 2"
DOES_NOT_FOLLOW = "DELETE FROM facts WHERE run_id = :run AND seq = 2"
HOWS = [NOT_JSON, NOT_A_FACT, DOES_NOT_FOLLOW, "DELETE FROM facts WHERE run_id = :run"]


def spoil(told: Told, how: str = DOES_NOT_FOLLOW) -> str:
    """Id of the run, whose rows are corrupt now."""
    with told.ledger._database.engine.begin() as connection:
        connection.execute(text(how), {"run": told.request.run})
    return told.request.run


@pytest.fixture
def sound(ledger: Ledger) -> Told:
    """Another run, of the same repository."""
    sound = Told(ledger, a_request(run="r-000002", number=2))
    sound.proposed()
    return sound


@pytest.mark.parametrize("how", HOWS)
def test_a_corrupt_run_alone_is_left_aside_and_the_log_says_so_once_with_what_to_do(
    told: Told, sound: Told, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    told.proposed()
    run, ledger = spoil(told, how), told.ledger
    with pytest.raises(RunCorrupt, match=run):
        ledger.run(run)
    for _ in range(2):
        assert [one.run for one in ledger.watched()] == [sound.request.run]
        assert list(ledger.histories([run, sound.request.run])) == [sound.request.run]
        ledger.template_scores()
        assert sound.request.run in {one.get("run") for one in ledger.records(())}
    [one] = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert run in one.getMessage() and "countersign restore" in one.getMessage()
    assert len(ledger.runs()) == len(ledger.open_runs()) == 2


def test_what_a_corrupt_run_owes_is_refused_and_costs_no_attempt(told: Told, sound: Told) -> None:
    [ring] = told.labelled().rings
    spoil(told, "UPDATE facts SET body = 'x' WHERE run_id = :run")
    refused = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)
    assert isinstance(refused, Refused) and "is not JSON" in str(refused)
    [debt] = [one for one in told.ledger.debts() if one.effect_id == ring.effect_id]
    assert (debt.attempts, debt.lease_until) == (0, None)


def test_what_a_delivery_says_of_several_runs_is_taken_by_those_that_can_be_read(told: Told, sound: Told) -> None:
    told.proposed()
    run, ledger = spoil(told), told.ledger
    gone = News(OnRepository(told.request.repository_id), RepositoryEnded(at=told.now, how="uninstalled"))
    assert ledger.receive(a_delivery("g-gone"), gone).runs == (sound.request.run,)
    # It concerns the corrupt one alone now: GitHub keeps it until somebody has restored that.
    with pytest.raises(LedgerCorrupt, match=run):
        ledger.receive(a_delivery("g-again"), gone)
    assert ledger.delivery("g-again") is None


def test_an_issue_whose_last_run_ended_and_is_corrupt_can_have_another_one(told: Told) -> None:
    told.proposed()
    gone = News(OnRepository(told.request.repository_id), RepositoryEnded(at=told.now, how="uninstalled"))
    told.ledger.receive(a_delivery("g-gone"), gone)
    spoil(told)
    request = a_request(run="r-000009")
    assert told.ledger.receive(a_delivery("g-new"), on_issue(labelled(request), request)).runs == ("r-000009",)


def test_doctor_names_a_corrupt_run_and_says_what_to_type(told: Told, sound: Told, ledger_url: str) -> None:
    told.proposed()
    run = spoil(told)
    found = list(look_at_ledger(Scene(env={"DATABASE_URL": ledger_url}, of="web")))
    [one] = [one for one in found if run in one.what]
    assert "countersign restore" in one.do
