"""A meter and its shares."""

from decimal import Decimal

import pytest

from app.core.budget import LEAST_REPLY, Cap, Meter, Quote, Spent
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


PRICED = Quote(prompt_usd=Decimal("0.50"), token_usd=Decimal("0.0001"))
"""A call whose reply costs a dollar more for each 10,000 tokens."""


@pytest.mark.parametrize(
    ("spent", "tokens"),
    [("0", 16_000), ("1.9", 16_000), ("2.0", 15_000), ("3.1", LEAST_REPLY), ("3.1001", 0), ("3.9", 0), ("4", 0)],
)
def test_a_reply_is_only_as_long_as_what_is_left_pays_for_whatever_comes(spent: str, tokens: int):
    allowed = Meter(Cap(usd=Decimal(4), calls=9, minutes=9), Spent(usd=Decimal(spent))).reply_tokens(PRICED, 16_000)
    assert allowed == tokens if tokens else isinstance(allowed, Refused)
    assert Decimal(spent) + PRICED.most(tokens) <= 4 or not tokens


def test_what_one_more_call_may_cost_is_said():
    asked = Meter(Cap(usd=Decimal(4), calls=9, minutes=9), Spent(usd=Decimal("3.2"))).reply_tokens(PRICED, 16_000)
    assert str(asked) == "Of the budget of $4, $0.8000 is left, and one more call may cost $0.90."


def test_a_model_of_unknown_price_is_bounded_by_the_number_of_its_calls():
    unknown = Quote(Decimal(99), Decimal(1), known=False)
    assert meter(1).reply_tokens(unknown, 500) == 500
    assert isinstance(
        Meter(Cap(usd=Decimal(4), calls=1, minutes=9), Spent(calls=1)).reply_tokens(unknown, 500), Refused
    )


def test_what_earlier_attempts_cost_counts_against_the_cap_and_once_where_it_is_answered_again():
    before = Spent(calls=3, usd=Decimal("1.5"))
    one = Meter(Cap(usd=Decimal(4), calls=5, minutes=10), before=before)
    assert (one.spent, one.total, one.left) == (Spent(), before, Decimal("2.5"))
    one.recall(Spent(calls=1, usd=Decimal("0.5")))
    assert (one.spent.calls, one.total, one.left) == (1, before, Decimal("2.5"))
    one.charge(Spent(calls=2, usd=Decimal("0.1")))
    assert one.total.calls == 5 and "5 model calls" in str(one.may_call())


def test_shares_are_those_of_the_attempt_before_but_buy_nothing_beyond_the_cap():
    cap, before = Cap(usd=Decimal(4), calls=20, minutes=10), Spent(calls=18, usd=Decimal("3.9"))
    first, again = Meter(cap).shares(2, 5), (whole := Meter(cap, before=before)).shares(2, 5)
    assert not isinstance(first, Refused) and not isinstance(again, Refused)
    assert [one.cap for one in again] == [one.cap for one in first]
    assert not isinstance(again[0].may_call(), Refused)
    again[0].charge(Spent(calls=1))
    assert isinstance(again[0].may_call(), Refused)
    again[1].recall(Spent(calls=4, usd=Decimal("0.4")))
    for share in again:
        whole.join(share)
    assert whole.total == Spent(calls=19, usd=Decimal("3.9")) and whole.spent.calls == 5
