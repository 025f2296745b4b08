"""Clocks that differ by more than a lease: on PostgreSQL there is one for all; whatever they show, the fence holds."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from sqlalchemy import make_url

from app.core.belts import Belt
from app.core.effects import LookUpAuthority
from app.core.verdict import Allowed, Refused
from app.ledger import open_ledger
from app.ledger.outcomes import Claim, Recorded
from app.ledger.store import Ledger
from tests.fakes.deliveries import LEASE, Told
from tests.fakes.facts import found

AHEAD = timedelta(minutes=6)
"""More than a lease, and less than the longest that is believed."""


@pytest.fixture
def rival(ledger: Ledger, ledger_url: str) -> Iterator[Ledger]:
    """The same ledger, as another machine has it."""
    with closing(open_ledger(ledger_url)) as rival:
        yield rival


def test_a_claim_that_a_clock_ahead_takes_from_its_living_holder_leaves_the_holder_nothing(
    told: Told, rival: Ledger
) -> None:
    told.labelled()
    mine, early = told.ledger, told.now + AHEAD
    held = told.claim(LookUpAuthority)
    assert isinstance(held.effect, LookUpAuthority)
    stolen = rival.claim(held.effect_id, Belt.PUBLISHER, early, LEASE)
    assert isinstance(stolen, Claim) and stolen.fence > held.fence
    # Who held it is told so the next time it asks, which is once a second, and nothing that it did counts.
    facts = [found(held.effect, told.now)]
    assert isinstance(mine.wanted(held), Refused)
    assert isinstance(mine.renew(held, told.now, LEASE), Refused)
    assert isinstance(mine.settle(held, facts, "done", told.now), Refused)
    assert isinstance(rival.wanted(stolen), Allowed)
    assert isinstance(rival.settle(stolen, facts, "done", early), Recorded)
    view = mine.run(told.request.run)
    assert view is not None and [one.fact.kind for one in view.facts] == ["labelled", "authority_found"]


def test_a_lease_that_a_clock_ahead_wrote_holds_until_it_is_over_by_the_clocks_of_the_others(
    told: Told, rival: Ledger
) -> None:
    [ring] = told.labelled().rings
    held = rival.claim(ring.effect_id, ring.belt, told.now + AHEAD, LEASE)
    assert isinstance(held, Claim)
    for minutes, free in ((1, False), (10, False), (12, True)):
        claimed = told.ledger.claim(ring.effect_id, ring.belt, told.now + timedelta(minutes=minutes), LEASE)
        assert isinstance(claimed, Claim) == free


def test_on_postgresql_the_time_is_the_servers_and_on_a_file_this_machines(ledger: Ledger, ledger_url: str) -> None:
    shown = timedelta()
    if ledger_url.startswith("postgresql"):
        shown = -AHEAD
        with psycopg.connect(ledger_url.replace("+psycopg", ""), autocommit=True) as admin:
            admin.execute("CREATE SCHEMA behind")
            admin.execute(
                "CREATE FUNCTION behind.clock_timestamp() RETURNS timestamptz LANGUAGE sql "
                "AS $$ SELECT pg_catalog.clock_timestamp() - interval '6 minutes' $$"
            )
            name = make_url(ledger_url).database
            admin.execute(f'ALTER DATABASE "{name}" SET search_path = behind, pg_catalog, public'.encode())
    with closing(open_ledger(ledger_url)) as other:
        assert abs(other.clock() - datetime.now(UTC) - shown) < AHEAD / 2
