"""GitHub's limits: what one worker met holds for all of the installation's work, and for nobody else's."""

from datetime import timedelta

from app.core.belts import Belt
from app.core.effects import LookUpAuthority, Say
from app.core.pacing import AT_ONCE, EACH
from app.core.verdict import Refused
from app.ledger.outcomes import Claim
from app.ledger.store import Ledger
from tests.fakes.deliveries import LEASE, Told
from tests.fakes.facts import a_request

UNTIL = timedelta(minutes=40)


def of(ledger: Ledger, number: int, installation: int) -> Told:
    request = a_request(run=f"r-{number:05}", number=number)
    told = Told(ledger, request.model_copy(update={"installation_id": installation}))
    told.labelled()
    return told


def test_a_limit_that_one_worker_met_holds_for_every_effect_of_its_installation_and_for_no_other(
    ledger: Ledger,
) -> None:
    first, second, other = of(ledger, 1, 7), of(ledger, 2, 7), of(ledger, 3, 8)
    now = first.now
    met = first.claim(LookUpAuthority)
    assert ledger.park(met, now + UNTIL, "GitHub's limit was met.", now) is None
    debt = next(one for one in ledger.debts() if one.run == second.request.run)
    refused = ledger.claim(debt.effect_id, Belt.PUBLISHER, now, LEASE)
    assert isinstance(refused, Refused) and "GitHub's limit was met." in str(refused)
    debt = next(one for one in ledger.debts() if one.run == second.request.run)
    assert (debt.available_at, debt.attempts, debt.lease_until) == (now + UNTIL, 0, None)
    assert debt.why.endswith("GitHub's limit was met.")
    # What came later waits as well, what waits is rung for no more, and another account's work goes on.
    third = of(ledger, 4, 7)
    late = next(one for one in ledger.debts() if one.run == third.request.run)
    assert isinstance(ledger.claim(late.effect_id, Belt.PUBLISHER, now, LEASE), Refused)
    assert isinstance(other.claim(LookUpAuthority), Claim)
    assert all(one.available_at == now + UNTIL for one in ledger.debts() if one.run != other.request.run)
    # Of two limits the longer one holds.
    assert isinstance(ledger.park(met, now + UNTIL / 2, "another limit", now), Refused)
    assert isinstance(ledger.claim(late.effect_id, Belt.PUBLISHER, now + UNTIL / 2, LEASE), Refused)
    assert isinstance(ledger.claim(late.effect_id, Belt.PUBLISHER, now + UNTIL, LEASE), Claim)


def test_more_words_than_github_takes_wait_for_their_turn_whoever_has_them_to_say(ledger: Ledger) -> None:
    """github-facts 165: one count for all workers, and it costs no attempt."""
    runs = [of(ledger, number, 7) for number in range(1, AT_ONCE // 4 + 2)]
    now = runs[0].now
    for told in runs:
        told.allowed()
    say = [one.effect_id for one in ledger.debts() if one.kind == "say"][: AT_ONCE // 2 + 1]
    claimed = [ledger.claim(one, Belt.PUBLISHER, now, LEASE) for one in say]
    assert [isinstance(one, Claim) for one in claimed] == [True] * (AT_ONCE // 2) + [False]
    assert all(isinstance(one.effect, Say) for one in claimed if isinstance(one, Claim))
    waits = next(one for one in ledger.debts() if one.effect_id == say[-1])
    assert (waits.available_at, waits.attempts) == (now + 2 * EACH, 0)
    assert isinstance(ledger.claim(say[-1], Belt.PUBLISHER, now + 2 * EACH, LEASE), Claim)
