"""The till: before a call to a model is sent, the most that it can cost is taken out of the day's money."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_UP, Decimal

from app.core.days import DayCaps, DaySpent, Held, Paid
from app.ledger.store import Ledger
from app.settings import DAY_USD, REPOSITORY_DAY_USD
from worker.evidence.trace import Trace
from worker.model.words import ModelMisconfigured, Settle
from worker.outcomes import DayOver, MustWait


@dataclass(frozen=True, slots=True)
class Till:
    """The purse of one effect. What was held is settled in the transaction that keeps the reply's span."""

    ledger: Ledger
    caps: DayCaps
    trace: Trace
    clock: Callable[[], datetime]

    def hold(self, usd: Decimal) -> Settle:
        """Raises `MustWait` until the next day where a day has no room for the call."""
        held = self.ledger.hold(self.trace.run, usd, self.caps, self.clock())
        if isinstance(held, DaySpent) and usd > held.cap:
            name, needed = _setting(held), usd.quantize(Decimal("0.01"), ROUND_UP)
            raise ModelMisconfigured(
                f"One call may cost ${needed}, which is more than a whole day's model budget of ${held.cap}. "
                f"Who operates this installation can raise {name}."
            )
        if isinstance(held, DaySpent):
            raise MustWait(_over(held, usd, self.clock()))
        return lambda price: self._settle(held, price)

    def _settle(self, held: Held, price: Decimal) -> None:
        if price:
            self.trace.pay(Paid(held, price))
        else:
            self.ledger.give_back(held)


def _setting(spent: DaySpent) -> str:
    return DAY_USD if spent.whole else REPOSITORY_DAY_USD


def _over(spent: DaySpent, usd: Decimal, now: datetime) -> DayOver:
    whose = "all repositories together" if spent.whole else "this repository"
    needed = usd.quantize(Decimal("0.01"), ROUND_UP)
    return DayOver(
        max((spent.until - now).total_seconds(), 0.0),
        f"Today's model budget of ${spent.cap} for {whose} has no room for the next call, which may cost ${needed}. "
        f"It goes on by itself at {spent.until:%Y-%m-%d %H:%M} UTC.",
        remedy=f"Who operates this installation can raise {_setting(spent)}. `/cancel` ends the run.",
        until=spent.until,
    )
