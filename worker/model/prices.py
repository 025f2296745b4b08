"""What a model call costs: list prices in US dollars per million tokens.

Source: the vendor's pricing page and the models' own pages, read in November 2026. A model whose price is not known
is not in the table; its calls are then counted as unpriced and never as free.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from app.core.budget import Quote

MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The four kinds of tokens that one reply is billed for. A prompt is `fresh + written + cached` tokens long."""

    fresh: int = 0
    written: int = 0
    cached: int = 0
    output: int = 0

    @property
    def prompt(self) -> int:
        return self.fresh + self.written + self.cached


@dataclass(frozen=True, slots=True)
class Rate:
    """US dollars per million tokens: fresh input, five-minute cache write, cache read, output."""

    fresh: Decimal
    written: Decimal
    cached: Decimal
    output: Decimal

    def of(self, tokens: Tokens) -> Decimal:
        """The exact price in US dollars."""
        return (
            self.fresh * tokens.fresh
            + self.written * tokens.written
            + self.cached * tokens.cached
            + self.output * tokens.output
        ) / MILLION


@dataclass(frozen=True, slots=True)
class Price:
    """A model's rate, and the rate for the whole call once its prompt is longer than `long_after` tokens."""

    usual: Rate
    long_after: int | None = None
    long: Rate | None = None

    def of(self, tokens: Tokens) -> Decimal:
        """The exact price of one call in US dollars."""
        if self.long is not None and self.long_after is not None and tokens.prompt > self.long_after:
            return self.long.of(tokens)
        return self.usual.of(tokens)


def _rate(fresh: str, written: str, cached: str, output: str) -> Rate:
    return Rate(Decimal(fresh), Decimal(written), Decimal(cached), Decimal(output))


_OPUS = Price(_rate("5", "6.25", "0.50", "25"))
_SONNET_4 = Price(_rate("3", "3.75", "0.30", "15"))
_HAIKU_4_5 = Price(_rate("1", "1.25", "0.10", "5"))
_FABLE_5 = Price(_rate("10", "12.50", "1", "50"))

PRICES: Mapping[str, Price] = {
    "claude-fable-5-2": Price(_rate("8", "10", "0.20", "40")),
    "claude-fable-5-1": Price(_rate("10", "12.50", "0.25", "50")),
    "claude-mythos-5-1": Price(_rate("10", "12.50", "0.25", "50")),
    "claude-fable-5": _FABLE_5,
    "claude-mythos-5": _FABLE_5,
    "claude-opus-5-5": Price(_rate("4", "5", "0.20", "20")),
    "claude-opus-5": _OPUS,
    "claude-opus-4-8": _OPUS,
    "claude-opus-4-7": _OPUS,
    "claude-opus-4-6": _OPUS,
    "claude-opus-4-5": _OPUS,
    "claude-opus-4-5-20251101": _OPUS,
    "claude-sonnet-5-5": Price(_rate("2", "2.50", "0.10", "10")),
    "claude-sonnet-5": Price(_rate("2", "2.50", "0.20", "10")),
    "claude-sonnet-4-6": _SONNET_4,
    "claude-sonnet-4-5": _SONNET_4,
    "claude-sonnet-4-5-20250929": _SONNET_4,
    "claude-haiku-4-5": _HAIKU_4_5,
    "claude-haiku-4-5-20251001": _HAIKU_4_5,
    "claude-haiku-5-5": Price(
        usual=_rate("0.10", "0.125", "0.01", "0.50"),
        long_after=100_000,
        long=_rate("0.50", "0.625", "0.05", "2.50"),
    ),
}


def cost(model: str, tokens: Tokens) -> Decimal | None:
    """The price of one call in US dollars, or None where the model's price is not known."""
    price = PRICES.get(model)
    return None if price is None else price.of(tokens)


def dearest(tokens: Tokens) -> Decimal:
    """The price of one call at the dearest rates there are."""
    return max(price.of(tokens) for price in PRICES.values())


def quote(model: str, prompt_tokens: int) -> Quote:
    """The most that a call with a prompt of at most so many tokens can cost: all of it written to the cache, nothing
    read from it. For a model whose price is not known, at the dearest price that is."""
    price = PRICES.get(model)
    rates = [_dearest(one, prompt_tokens) for one in (PRICES.values() if price is None else (price,))]
    return Quote(
        prompt_usd=max(max(rate.fresh, rate.written) for rate in rates) * prompt_tokens / MILLION,
        token_usd=max(rate.output for rate in rates) / MILLION,
        known=price is not None,
    )


def _dearest(price: Price, prompt_tokens: int) -> Rate:
    is_long = price.long is not None and price.long_after is not None and prompt_tokens > price.long_after
    return price.long if is_long and price.long is not None else price.usual
