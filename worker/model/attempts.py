"""The attempts of one question to a model: how often it is sent, how long is waited, what each failure may have cost,
and what the API's errors mean."""

import random
import time
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from app.core.budget import Quote, Spent
from worker.model.meaning import refused
from worker.model.words import (
    ModelError,
    ModelRejected,
    ModelUnavailable,
    Purse,
    Reply,
    Settle,
    Stopped,
)

if TYPE_CHECKING:
    import anthropic

_LONGEST_STEP_SECONDS = 30.0
_RETRYABLE = frozenset({408, 409, 425, 429})
_NEVER_SENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})
"""What the SDK's own client says where no connection was had."""


@dataclass(frozen=True)
class Access:
    """How the API is reached.

    `base_url` None means the vendor's own. No attempt begins later than `patience_seconds` after the first, and none
    after `attempts`; waits double from `first_wait_seconds` up to 30 s, with jitter, or are what the API asks for.
    """

    api_key: str = field(repr=False)
    base_url: str | None = None
    timeout_seconds: float = 600.0
    attempts: int = 6
    patience_seconds: float = 120.0
    first_wait_seconds: float = 1.0


class Attempts:
    """The requests of one `ask`: how many, since when, and what each failure may have cost."""

    def __init__(self, access: Access, quote: Quote, bounds: tuple[int, Decimal]) -> None:
        """`bounds`: the tokens of the reply, and what all attempts may cost together."""
        self._access = access
        self._quote = quote
        self._most, self._usd = quote.most(bounds[0]), bounds[1]
        self._began = time.monotonic()
        self._settle: Settle = lambda _: None
        self.sent = 0
        self.spent = Spent()

    def begin(self, purse: Purse) -> None:
        """Raises what the purse does; then nothing is sent."""
        self._settle = purse.hold(self._most)
        self.sent += 1

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def unbilled(self) -> None:
        """The API answered that it did not do it."""
        self._settle(Decimal(0))

    def billed(self, usd: Decimal | None) -> None:
        """At this price; where it is not known, at the most that it can be."""
        self._settle(self._most if usd is None else usd)

    def lost(self) -> None:
        """The request had been sent and nobody saw its answer: it counts as billed, at the most that it can cost."""
        usd = self._most if self._quote.known else Decimal(0)
        self.spent = self.spent.plus(Spent(calls=1, usd=usd, unpriced_calls=0 if self._quote.known else 1))
        self._settle(self._most)

    def lost_reply(self, model: str, because: str) -> Reply:
        """What was sent and may have cost something, as a reply of which nothing came."""
        return Reply("", (), Stopped.CUT, because, self.spent, model, "", self.seconds, self.sent)

    def wait_or_raise(self, error: Exception, model: str) -> float:
        """How long to wait when another attempt is allowed; raises the translated error when it is not."""
        import anthropic

        if not isinstance(error, anthropic.APIError):
            raise error
        if _was_sent_in_vain(error):
            self.lost()
        else:
            self.unbilled()
        asked = _asked_wait(error)
        wait = asked if asked is not None else self._backoff()
        late = self.seconds + wait > self._access.patience_seconds
        dear = self.spent.usd > 0 and self.spent.usd + self._most > self._usd
        if not _may_pass(error) or self.sent >= self._access.attempts or late or dear:
            raise _translated(error, model, self) from error
        return wait

    def _backoff(self) -> float:
        step = min(self._access.first_wait_seconds * 2.0 ** (self.sent - 1), _LONGEST_STEP_SECONDS)
        return float(step * random.uniform(0.5, 1.0))  # noqa: S311 (jitter, not a secret)


def strictness_refused(error: Exception) -> bool:
    """The API compiles strict schemas into one grammar and turns down the request when that grows too large."""
    import anthropic

    if not isinstance(error, anthropic.BadRequestError):
        return False
    said = str(error.api_message or "").lower()
    return any(word in said for word in ("strict", "grammar", "schema"))


def _was_sent_in_vain(error: "anthropic.APIError") -> bool:
    """True where the request may have reached the API, and its answer did not come back whole."""
    import anthropic

    return not isinstance(error, anthropic.APIStatusError) and type(error.__cause__).__name__ not in _NEVER_SENT


def _may_pass(error: "anthropic.APIError") -> bool:
    import anthropic

    if not isinstance(error, anthropic.APIStatusError):
        return isinstance(error, anthropic.APIConnectionError)
    if error.response.headers.get("x-should-retry") == "false":
        return False
    return error.status_code in _RETRYABLE or error.status_code >= 500


def _asked_wait(error: "anthropic.APIError") -> float | None:
    """Seconds that the API asked us to wait. A date instead of a number is not honoured."""
    import anthropic

    if not isinstance(error, anthropic.APIStatusError):
        return None
    try:
        return max(0.0, float(error.response.headers["retry-after"]))
    except (KeyError, ValueError):
        return None


def _translated(error: "anthropic.APIError", model: str, attempt: Attempts) -> ModelError:
    import anthropic

    tries = f"{attempt.sent} attempt{'' if attempt.sent == 1 else 's'}"
    if isinstance(error, anthropic.APITimeoutError):
        return ModelUnavailable(f"{model} did not answer in time ({tries}).", attempt.sent, attempt.spent)
    if isinstance(error, anthropic.APIStatusError):
        said = error.api_message or "no message"
        status = error.status_code
        if (meant := refused(status, model, said)) is not None:
            kind, reason = meant
            return kind(reason, attempt.sent, attempt.spent)
        if not _may_pass(error) and status < 500:
            return ModelRejected(f"The model API rejected the request ({status}): {said}", attempt.sent, attempt.spent)
        what = {429: "is rate limited", 529: "is overloaded"}.get(status, f"failed with status {status}")
        return ModelUnavailable(
            f"{model} {what} after {tries}: {said}", attempt.sent, attempt.spent, _asked_wait(error)
        )
    if isinstance(error, anthropic.APIConnectionError):
        return ModelUnavailable(f"The model API is out of reach after {tries}.", attempt.sent, attempt.spent)
    return ModelRejected(f"The model API answered unreadably: {error.message}", attempt.sent, attempt.spent)
