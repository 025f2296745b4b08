"""What calls cost."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.model.prices import PRICES, Tokens, cost

COUNTS = st.integers(0, 2_000_000)


@pytest.mark.parametrize(
    ("model", "tokens", "usd"),
    [
        ("claude-opus-5-5", Tokens(fresh=1_000_000), "4"),
        ("claude-opus-5-5", Tokens(written=1_000_000), "5"),
        ("claude-opus-5-5", Tokens(cached=1_000_000), "0.20"),
        ("claude-opus-5-5", Tokens(output=1_000_000), "20"),
        ("claude-sonnet-5-5", Tokens(fresh=1_000, written=2_000, cached=30_000, output=400), "0.014"),
        ("claude-haiku-5-5", Tokens(fresh=100_000, output=1_000), "0.0105"),
        ("claude-haiku-5-5", Tokens(fresh=1, cached=100_000, output=1_000), "0.0075005"),
    ],
)
def test_a_call_costs_its_four_kinds_of_tokens(model, tokens, usd):
    assert cost(model, tokens) == Decimal(usd)


def test_a_price_that_is_not_known_is_none():
    assert cost("claude-of-tomorrow", Tokens(fresh=5)) is None


@given(st.sampled_from(sorted(PRICES)), COUNTS, COUNTS, COUNTS, COUNTS)
def test_more_tokens_never_cost_less_and_a_read_never_more_than_a_write(model, fresh, written, cached, output):
    price = cost(model, Tokens(fresh, written, cached, output))
    assert price is not None
    assert price >= 0
    assert cost(model, Tokens(fresh, written, cached, output + 1)) > price
    assert cost(model, Tokens(cached=fresh)) <= cost(model, Tokens(fresh=fresh)) <= cost(model, Tokens(written=fresh))
