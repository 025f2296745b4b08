"""Two versions on one ledger: the older one leaves alone what only the newer one knows, and goes on with the rest."""

import pytest
from sqlalchemy import text

from app.core.belts import Belt
from app.core.effects import LookUpAuthority
from app.core.verdict import Refused
from app.ledger.errors import LedgerNewer
from app.ledger.outcomes import Claim
from app.ledger.store import Ledger
from tests.fakes.deliveries import LEASE, Told
from tests.fakes.facts import a_request


@pytest.mark.parametrize(
    ("table", "body"),
    [
        ("facts", '{"kind":"of_a_later_version"}'),
        ("effects", '{"kind":"of_a_later_version","key":"k"}'),
    ],
)
def test_what_a_newer_version_wrote_is_left_to_it_and_costs_no_attempt(ledger: Ledger, table: str, body: str) -> None:
    newer, known = Told(ledger), Told(ledger, a_request(run="r-000002", number=2))
    [ring] = newer.labelled().rings
    known.labelled()
    there = {"run": newer.request.run, "body": body}
    with ledger._database.engine.begin() as connection:
        was = connection.execute(text(f"SELECT body FROM {table} WHERE run_id = :run"), there).scalar_one()
        connection.execute(text(f"UPDATE {table} SET body = :body WHERE run_id = :run"), there)
    refused = ledger.claim(ring.effect_id, Belt.PUBLISHER, newer.now, LEASE)
    assert isinstance(refused, Refused) and "A newer version" in str(refused)
    with pytest.raises(LedgerNewer):
        ledger.run(newer.request.run)
    debt = next(one for one in ledger.debts() if one.effect_id == ring.effect_id)
    assert (debt.attempts, debt.lease_until) == (0, None)
    assert isinstance(known.claim(LookUpAuthority), Claim)
    with ledger._database.engine.begin() as connection:
        connection.execute(text(f"UPDATE {table} SET body = :was WHERE run_id = :run"), there | {"was": was})
    assert isinstance(ledger.claim(ring.effect_id, Belt.PUBLISHER, newer.now, LEASE), Claim)
