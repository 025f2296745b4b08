"""What a piece of work may spend on models and time, and what it has spent so far."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_UP, Decimal

from pydantic import BaseModel, ConfigDict, Field

from app.core.verdict import Allowed, Refused, Verdict


class Spent(BaseModel):
    """What was spent. `usd` counts the calls whose model has a known price; `unpriced_calls` the rest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: Decimal = Decimal(0)
    unpriced_calls: int = 0
    model_seconds: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        return Spent(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            usd=self.usd + other.usd,
            unpriced_calls=self.unpriced_calls + other.unpriced_calls,
            model_seconds=self.model_seconds + other.model_seconds,
        )

    def beyond(self, counted: "Spent") -> "Spent":
        """What was spent beside what is counted already; never less than nothing."""
        return Spent(
            calls=max(self.calls - counted.calls, 0),
            input_tokens=max(self.input_tokens - counted.input_tokens, 0),
            output_tokens=max(self.output_tokens - counted.output_tokens, 0),
            cached_tokens=max(self.cached_tokens - counted.cached_tokens, 0),
            usd=max(self.usd - counted.usd, Decimal(0)),
            unpriced_calls=max(self.unpriced_calls - counted.unpriced_calls, 0),
            model_seconds=max(self.model_seconds - counted.model_seconds, 0.0),
        )


class Cap(BaseModel):
    """The most that one piece of work may spend. Every limit is hard; no calls at all is one as well."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    usd: Decimal = Field(ge=0)
    calls: int = Field(ge=0)
    minutes: int = Field(gt=0)


def within_run(phase: Cap, run: Cap, before: Spent) -> Cap:
    """The phase's cap, as far as its run has so much left: `before` is what the rest of the run has cost."""
    usd = min(phase.usd, max(run.usd - before.usd, Decimal(0)))
    return Cap(usd=usd, calls=min(phase.calls, max(run.calls - before.calls, 0)), minutes=phase.minutes)


LEAST_REPLY = 4_000
"""Tokens below which a reply is rather cut than useful: for less than these none is asked for."""


@dataclass(frozen=True, slots=True)
class Quote:
    """The most that one call can cost: its prompt, and each token of its reply. `known` is false where the model's
    price is not: then it is the dearest model's."""

    prompt_usd: Decimal = Decimal(0)
    token_usd: Decimal = Decimal(0)
    known: bool = True

    def most(self, tokens: int) -> Decimal:
        """With a reply of so many tokens."""
        return self.prompt_usd + self.token_usd * tokens

    def tokens(self, usd: Decimal, most: int) -> int:
        """How many tokens of a reply so much money pays for, at most `most`; 0 where it is too little to ask at all."""
        if self.most(most) <= usd:
            return most
        room = int((usd - self.prompt_usd) / self.token_usd) if usd > self.prompt_usd and self.token_usd else 0
        return room if room >= min(LEAST_REPLY, most) else 0


class Meter:
    """Counts spending against a cap. The one place where money is about to be spent asks `reply_tokens` first.

    A call that was billed is charged even when its answer could not be used. One meter is for one thread: work that
    runs side by side has `shares` of it.

    `before` is what earlier attempts at the same work cost. It counts against the cap; what is answered again from
    what they were told moves over into `spent` and so counts once, and `spent` is then what it was in that attempt.
    """

    def __init__(
        self,
        cap: Cap,
        already: Spent | None = None,
        clock: Callable[[], float] = time.monotonic,
        before: Spent | None = None,
    ) -> None:
        self.cap = cap
        self.spent = already or Spent()
        self.before = before or Spent()
        self.recalled = Spent()
        self._clock = clock
        self._began = clock()

    @property
    def total(self) -> Spent:
        """All that was spent, by whichever attempt."""
        return self.spent.plus(self.before)

    @property
    def left(self) -> Decimal:
        """US dollars that may still be spent."""
        return self.cap.usd - self.total.usd

    def may_call(self) -> Verdict:
        """Allowed while every limit has room for one more call."""
        minutes, total = (self._clock() - self._began) / 60, self.total
        if total.calls >= self.cap.calls:
            return Refused(f"The budget of {self.cap.calls} model calls is used up.")
        if total.usd >= self.cap.usd:
            return Refused(f"The budget of ${self.cap.usd} is used up.")
        if minutes >= self.cap.minutes:
            return Refused(f"The time budget of {self.cap.minutes} minutes is used up.")
        return Allowed()

    def reply_tokens(self, quote: Quote, most: int) -> int | Refused:
        """How long the reply to one more call may be, at most `most` tokens: so long that the cap holds whatever comes.

        Refused where a limit is reached, or what is left would not pay for a call that is of use. A model whose price
        is not known is bounded by the number of its calls.
        """
        verdict = self.may_call()
        if isinstance(verdict, Refused) or not quote.known:
            return verdict if isinstance(verdict, Refused) else most
        left = self.left
        tokens = quote.tokens(left, most)
        if tokens == 0:
            needed = quote.most(min(LEAST_REPLY, most)).quantize(Decimal("0.01"), ROUND_UP)
            return Refused(
                f"Of the budget of ${self.cap.usd}, ${left.quantize(Decimal('0.0001'), ROUND_DOWN)} is left, "
                f"and one more call may cost ${needed}."
            )
        return tokens

    def charge(self, spent: Spent) -> None:
        """Adds one call's spending."""
        self.spent = self.spent.plus(spent)

    def recall(self, spent: Spent) -> None:
        """An earlier attempt paid for this answer."""
        self.spent, self.recalled = self.spent.plus(spent), self.recalled.plus(spent)
        self.before = self.before.beyond(spent)

    def join(self, share: "Meter") -> None:
        """Adds what a share has spent, and what was answered again there."""
        self.spent, self.recalled = self.spent.plus(share.spent), self.recalled.plus(share.recalled)
        self.before = self.before.beyond(share.recalled)

    def shares(self, count: int, most_calls: int) -> "tuple[Meter, ...] | Refused":
        """Meters for `count` pieces of work side by side: none can spend what is another's, so none waits for any.

        Together they have half of what is left, so that something is left to go on with, and each `most_calls` at the
        most; the time is one for all. `join` this meter with each of them, once all have ended. They are as large as in
        an attempt before this one, but nothing is bought in them that would go beyond the cap.
        """
        calls = min((self.cap.calls - self.spent.calls) // 2 // count, most_calls)
        usd = ((self.cap.usd - self.spent.usd) / 2 / count).quantize(Decimal("0.0001"), ROUND_DOWN)
        if calls < 1 or usd <= 0:
            return Refused("Too little of the budget is left to share it.")
        before = Spent(
            calls=max(calls - (self.cap.calls - self.total.calls) // count, 0),
            usd=max(usd - self.left / count, Decimal(0)),
        )
        cap = Cap(usd=usd, calls=calls, minutes=self.cap.minutes)
        shares = tuple(Meter(cap, clock=self._clock, before=before) for _ in range(count))
        for share in shares:
            share._began = self._began
        return shares
