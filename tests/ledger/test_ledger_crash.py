"""A process that is killed between any two statements leaves nothing, and the work can be done again."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event, select

from app.core import facts as f
from app.core.belts import Belt
from app.core.effects import LookUpAuthority
from app.ledger import open_ledger
from app.ledger.outcomes import Claim, Recorded
from app.ledger.schema import metadata
from app.ledger.store import Ledger
from tests.fakes.deliveries import LEASE, Told, a_delivery, on_issue
from tests.fakes.facts import MIRA, START, found, labelled

MOST = 40
"""More statements than any transaction has."""


def everything(ledger: Ledger) -> dict[str, list[Any]]:
    """Every row of every table."""
    with ledger._database.engine.connect() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
            for table in metadata.sorted_tables
        }


def killed_before(url: str, statement: int, work: Callable[[Ledger], object]) -> bool:
    """Does the work in a process that is killed before this statement (a commit counts); False where it got through."""
    child = os.fork()
    if child == 0:
        try:
            ledger = open_ledger(url)
            left = statement

            def count(*_: Any) -> None:
                nonlocal left
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

            event.listen(ledger._database.engine, "before_cursor_execute", count)
            event.listen(ledger._database.engine, "commit", count)
            work(ledger)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def _labelled(told: Told) -> Callable[[Ledger], object]:
    return lambda ledger: ledger.receive(a_delivery("g-1"), on_issue(labelled(told.request), told.request))


def _closed(told: Told) -> Callable[[Ledger], object]:
    told.proposed()
    gone = f.LabelRemoved(at=told.tick(), person=MIRA)
    return lambda ledger: ledger.receive(a_delivery("g-1"), on_issue(gone, told.request))


def _claimed(told: Told) -> Callable[[Ledger], object]:
    [ring] = told.labelled().rings
    return lambda ledger: ledger.claim(ring.effect_id, Belt.PUBLISHER, told.now, LEASE)


def _settled(told: Told) -> Callable[[Ledger], object]:
    told.labelled()
    claim = told.claim(LookUpAuthority)
    assert isinstance(claim.effect, LookUpAuthority)
    fact = found(claim.effect, told.tick())
    return lambda ledger: ledger.settle(claim, [fact], "done", told.now)


def _abandoned(told: Told) -> Callable[[Ledger], object]:
    told.labelled()
    claim = told.claim(LookUpAuthority)
    return lambda ledger: ledger.abandon(claim, "no answer", told.now)


@pytest.mark.parametrize("prepared", [_labelled, _closed, _claimed, _settled, _abandoned])
def test_a_kill_between_any_two_statements_leaves_nothing(
    told: Told, ledger_url: str, prepared: Callable[[Told], Callable[[Ledger], object]]
) -> None:
    work = prepared(told)
    before = everything(told.ledger)
    told.ledger.close()
    for statement in range(1, MOST):
        if not killed_before(ledger_url, statement, work):
            break
        assert everything(told.ledger) == before, f"killed before statement {statement}"
        told.ledger.close()
    else:
        raise AssertionError("the work never got through")
    assert statement > 3
    assert everything(told.ledger) != before


def test_after_a_kill_the_same_delivery_is_taken_as_new(told: Told, ledger_url: str) -> None:
    work = _labelled(told)
    told.ledger.close()
    assert killed_before(ledger_url, 5, work)
    received = told.ledger.receive(a_delivery("g-1"), on_issue(labelled(told.request), told.request))
    assert (received.new, received.runs) == (True, (told.request.run,))


def test_an_effect_whose_holder_was_killed_is_taken_over_after_its_lease(told: Told, ledger_url: str) -> None:
    [ring] = told.labelled().rings
    now = told.now
    told.ledger.close()

    def die_holding(ledger: Ledger) -> None:
        assert isinstance(ledger.claim(ring.effect_id, Belt.PUBLISHER, now, LEASE), Claim)
        os.kill(os.getpid(), signal.SIGKILL)

    assert killed_before(ledger_url, MOST, die_holding)
    assert told.ledger.owed(Belt.PUBLISHER, now) == ()
    claim = told.ledger.claim(ring.effect_id, Belt.PUBLISHER, now + LEASE, LEASE)
    assert isinstance(claim, Claim) and isinstance(claim.effect, LookUpAuthority)
    assert (claim.fence, claim.attempts) == (2, 2)
    assert isinstance(told.ledger.settle(claim, [found(claim.effect, START)], "done", now + LEASE), Recorded)


def test_a_ledger_that_came_over_a_fork_makes_connections_of_its_own(told: Told) -> None:
    told.labelled()
    with told.ledger._database.engine.connect() as connection:
        inherited = connection.connection.dbapi_connection
    child = os.fork()
    if child == 0:
        try:
            with told.ledger._database.engine.connect() as connection:
                is_own = connection.connection.dbapi_connection is not inherited
            found_it = told.ledger.run(told.request.run) is not None
            os._exit(0 if found_it and is_own else 2)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WEXITSTATUS(status) == 0
    assert told.ledger.run(told.request.run) is not None
