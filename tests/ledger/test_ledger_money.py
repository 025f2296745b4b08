"""What models may cost in a day: held before it is spent, by whichever worker, on both databases."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal

import pytest

from app.core.days import DayCaps, DaySpent, Held, Paid
from app.ledger import open_ledger
from app.ledger.store import Ledger
from tests.fakes.deliveries import Told
from tests.fakes.facts import START, a_request
from tests.ledger.test_ledger_keeping import a_span

CALL = Decimal("0.30")
ONE_DOLLAR = DayCaps(repository=Decimal(1))


def a_run(ledger: Ledger, number: int, repository: int) -> str:
    request = a_request(run=f"r-{number:05}", number=number).model_copy(update={"repository_id": repository})
    Told(ledger, request).labelled()
    return request.run


def test_a_repository_that_has_spent_its_day_goes_on_the_next_and_another_one_at_once(ledger: Ledger) -> None:
    run, other = a_run(ledger, 1, 11), a_run(ledger, 2, 12)
    late = START.replace(hour=23, minute=59)
    assert all(isinstance(ledger.hold(run, CALL, ONE_DOLLAR, late), Held) for _ in range(3))
    spent = ledger.hold(run, CALL, ONE_DOLLAR, late)
    midnight = (START + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    assert spent == DaySpent(False, Decimal(1), midnight)
    assert isinstance(ledger.hold(other, CALL, ONE_DOLLAR, late), Held)
    assert isinstance(ledger.hold(run, CALL, ONE_DOLLAR, midnight), Held)


def test_the_whole_installation_has_a_day_of_its_own(ledger: Ledger) -> None:
    run, other = a_run(ledger, 1, 11), a_run(ledger, 2, 12)
    caps = DayCaps(installation=Decimal(1), repository=Decimal(10))
    held = [ledger.hold(one, CALL, caps, START) for one in (run, other, run, other)]
    assert [isinstance(one, Held) for one in held] == [True, True, True, False]
    assert isinstance(held[3], DaySpent) and held[3].whole
    # Where one of the two has no room, nothing is taken out of the other.
    assert ledger.day(START, 12).taken == CALL


def test_the_price_takes_the_place_of_what_was_held_with_the_span_that_tells_it(ledger: Ledger) -> None:
    run = a_run(ledger, 1, 11)
    held = ledger.hold(run, CALL, ONE_DOLLAR, START)
    unsent = ledger.hold(run, CALL, ONE_DOLLAR, START)
    assert isinstance(held, Held) and isinstance(unsent, Held)
    ledger.give_back(unsent)
    for _ in range(2):
        ledger.add_spans([a_span(run=run, usd=Decimal("0.1"))], [Paid(held, Decimal("0.1"))])
    for repository in (None, 11):
        assert ledger.day(START, repository).taken == Decimal("0.1")
    # Where nothing is held, prices are counted all the same: a bound that is set later knows what was spent.
    ledger.add_spans([a_span(run=run, usd=Decimal("0.7")), a_span(run="r-gone", usd=Decimal(1))])
    assert (ledger.day(START, 11).taken, ledger.day(START).taken) == (Decimal("0.8"), Decimal("1.8"))
    assert isinstance(ledger.hold(run, CALL, ONE_DOLLAR, START), DaySpent)


def test_a_call_that_died_with_its_worker_counts_that_day_and_no_other(ledger: Ledger, ledger_url: str) -> None:
    run = a_run(ledger, 1, 11)
    dying = open_ledger(ledger_url)
    assert isinstance(dying.hold(run, Decimal("0.9"), ONE_DOLLAR, START), Held)
    dying.close()
    assert isinstance(ledger.hold(run, CALL, ONE_DOLLAR, START), DaySpent)
    assert isinstance(ledger.hold(run, CALL, ONE_DOLLAR, START + timedelta(days=1)), Held)


def test_workers_side_by_side_never_hold_more_than_a_day_has(ledger: Ledger, ledger_url: str) -> None:
    mine = {a_run(ledger, number, 11 + number % 2): 11 + number % 2 for number in (1, 2)}
    caps = DayCaps(installation=Decimal(3), repository=Decimal(2))
    ledgers = [open_ledger(ledger_url) for _ in range(3)]

    def work(number: int) -> list[Held]:
        own, found = ledgers[number % 3], []
        for run in (*mine, *reversed(mine)):
            held = own.hold(run, CALL, caps, START)
            if isinstance(held, Held):
                found.append(held)
        if found and number % 2:
            own.add_spans([a_span(run="r-00001")], [Paid(found[0], Decimal("0.05"))])
        return found

    with ThreadPoolExecutor(6) as pool:
        every = [held for found in pool.map(work, range(6)) for held in found]
    for one in ledgers:
        one.close()
    assert ledger.day(START).taken <= 3
    assert ledger.day(START, 11).taken <= 2 and ledger.day(START, 12).taken <= 2
    assert sum(day.taken for day in (ledger.day(START, 11), ledger.day(START, 12))) == ledger.day(START).taken
    assert len(every) >= 10


def test_money_is_held_for_a_run_that_is_there(ledger: Ledger) -> None:
    with pytest.raises(KeyError):
        ledger.hold("r-nobody", CALL, ONE_DOLLAR, START)
