"""A meter and its shares."""

from decimal import Decimal

import pytest

from app.core.budget import Cap, Meter, Spent
from app.core.verdict import Refused


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def meter(calls: int) -> Meter:
    return Meter(Cap(usd=Decimal(4), calls=calls, minutes=10))


def test_shares_are_equal_and_half_of_what_is_left_in_all():
    shares = meter(20).shares(3, 12)
    assert not isinstance(shares, Refused)
    assert [(one.cap.calls, one.cap.usd) for one in shares] == [(3, Decimal("0.6666"))] * 3


@pytest.mark.parametrize(("spent", "calls", "usd"), [(Spent(calls=8), 3, "1"), (Spent(usd=Decimal(3)), 5, "0.25")])
def test_what_was_spent_is_shared_with_nobody(spent: Spent, calls: int, usd: str):
    shares = Meter(Cap(usd=Decimal(4), calls=20, minutes=10), spent).shares(2, 5)
    assert not isinstance(shares, Refused)
    assert [(one.cap.calls, one.cap.usd) for one in shares] == [(calls, Decimal(usd))] * 2


def test_no_share_has_more_calls_than_one_piece_of_work_may_make():
    shares = meter(calls=200).shares(2, 12)
    assert not isinstance(shares, Refused) and [one.cap.calls for one in shares] == [12, 12]


@pytest.mark.parametrize("spent", [Spent(calls=15), Spent(usd=Decimal(4)), Spent(calls=20)])
def test_too_little_is_not_shared(spent: Spent):
    assert isinstance(Meter(Cap(usd=Decimal(4), calls=20, minutes=10), spent).shares(3, 12), Refused)


def test_a_share_ends_by_itself_and_the_time_is_one_for_all():
    clock = Clock()
    whole = Meter(Cap(usd=Decimal(4), calls=20, minutes=10), clock=clock)
    clock.seconds = 540
    shares = whole.shares(2, 12)
    assert not isinstance(shares, Refused)
    one, other = shares
    one.charge(Spent(calls=5))
    assert isinstance(one.may_call(), Refused) and not isinstance(other.may_call(), Refused)
    clock.seconds = 600
    assert "time budget of 10 minutes" in str(other.may_call())
