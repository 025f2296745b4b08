"""The estimate: the middle half of what the nearest past runs cost, and honest where there are none."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.estimate import ENOUGH, PastRun, Place, estimate
from app.core.plan import Basis

HERE = Place(repository_id=7, files=900)
USUAL = Decimal("2.00")


def runs(*cents: int, repository_id: int = 1, files: int | None = None) -> list[PastRun]:
    return [PastRun(repository_id, Decimal(one) / 100, files) for one in cents]


def test_runs_in_the_same_repository_go_before_all_others() -> None:
    history = runs(10, 20, 30, 40, 50, repository_id=7) + runs(*range(500, 600), files=900)
    made = estimate(history, HERE, USUAL)
    assert (made.low, made.high, made.basis, made.runs, made.files) == ("0.20", "0.40", Basis.REPOSITORY, 5, 900)


def test_then_runs_in_repositories_of_a_similar_size() -> None:
    near = runs(10, 20, files=225) + runs(30, 40, 50, files=3_600)
    far = runs(900, 900, 900, files=224) + runs(900, 900, files=3_601) + runs(900, repository_id=7)
    made = estimate(near + far, HERE, USUAL)
    assert (made.low, made.high, made.basis, made.runs) == ("0.20", "0.40", Basis.SIMILAR, 5)


def test_then_all_runs_of_the_template() -> None:
    made = estimate(runs(10, 20, 30, 40, 50), HERE, USUAL)
    assert (made.basis, made.runs, made.high) == (Basis.TEMPLATE, 5, "0.40")


def test_fewer_runs_than_enough_say_nothing() -> None:
    made = estimate(runs(10, 20, 30, 40, repository_id=7), HERE, USUAL)
    assert (made.low, made.high, made.basis, made.runs) == ("0.00", "2.00", Basis.BUDGET, 0)


@pytest.mark.parametrize(("usd", "low", "high"), [("0.0001", "0.00", "0.01"), ("12.3456", "12.34", "12.35")])
def test_a_range_is_rounded_outwards_to_cents(usd: str, low: str, high: str) -> None:
    made = estimate([PastRun(7, Decimal(usd))] * ENOUGH, HERE, USUAL)
    assert (made.low, made.high) == (low, high)


MONEY = st.decimals(0, 10**9, places=6, allow_nan=False)


@given(st.lists(st.builds(PastRun, st.integers(6, 8), MONEY, st.none() | st.integers(0, 10**6)), max_size=30))
def test_any_history_gives_a_range_within_what_was_paid(history: list[PastRun]) -> None:
    made = estimate(history, HERE, USUAL)
    low, high = Decimal(made.low), Decimal(made.high)
    assert 0 <= low <= high
    if made.basis is not Basis.BUDGET:
        assert made.runs >= ENOUGH
        assert high <= max(run.usd for run in history) + Decimal("0.01")
    else:
        assert len(history) < ENOUGH
