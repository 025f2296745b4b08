"""Days of money: what may be spent on models in a day of UTC, and what was. Pure; time is the caller's.

Before a call is sent, the most that it can cost is held; afterwards the price takes the place of what was held. What is
held and never settled counts for its day: its call may have been billed, and nobody is left who could say so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

DAYS_KEPT = 31
"""So many are kept up to the day that is written, and as many beyond it: a clock that was wrong begins days of its own,
and today's sum stays beside them, however far ahead they lie."""


@dataclass(frozen=True, slots=True)
class DayCaps:
    """The most that a day may cost in US dollars; None where nothing is said."""

    installation: Decimal | None = None
    """Everything together, whatever the account."""
    repository: Decimal | None = None
    """Each repository."""

    def __bool__(self) -> bool:
        return self.installation is not None or self.repository is not None


@dataclass(frozen=True, slots=True)
class Held:
    """The most that one call can cost, taken out of a day of its repository and of the whole."""

    id: str
    day: str
    usd: Decimal
    repository_id: int


@dataclass(frozen=True, slots=True)
class Paid:
    """What became of that: the call's price, 0 where nothing was billed."""

    held: Held
    usd: Decimal


@dataclass(frozen=True, slots=True)
class DaySpent:
    """A day has no room for one more call."""

    whole: bool
    """Whether it is the day of everything together, and not of one repository."""
    cap: Decimal
    until: datetime
    """When the next day begins."""


@dataclass(frozen=True, slots=True)
class Day:
    """What a day has cost so far."""

    usd: Decimal = Decimal(0)
    held: Mapping[str, Decimal] = field(default_factory=dict)

    @property
    def taken(self) -> Decimal:
        """What is spent, or may be."""
        return self.usd + sum(self.held.values(), Decimal(0))

    def has_room(self, usd: Decimal, cap: Decimal | None) -> bool:
        """Whether so much more stays within the cap."""
        return cap is None or self.taken + usd <= cap

    def holding(self, held: Held) -> "Day":
        """With this held as well."""
        return replace(self, held={**self.held, held.id: held.usd})

    def settled(self, paid: Paid) -> "Day":
        """With the price in the place of what was held; settling the same again changes nothing."""
        if paid.held.id not in self.held:
            return self
        left = {id: usd for id, usd in self.held.items() if id != paid.held.id}
        return Day(self.usd + paid.usd, left)

    def plus(self, usd: Decimal) -> "Day":
        """With what was spent and never held."""
        return replace(self, usd=self.usd + usd)


def day_of(at: datetime) -> str:
    """The day of UTC in which the moment lies."""
    return at.astimezone(UTC).date().isoformat()


def next_day(day: str) -> datetime:
    """When the day after it begins."""
    return datetime.combine(date.fromisoformat(day), time(), UTC) + timedelta(days=1)


def days_read(position: Mapping[str, Any]) -> dict[str, Day]:
    """The days as `days_written` gave them."""
    return {
        day: Day(Decimal(one["usd"]), {id: Decimal(usd) for id, usd in one["held"].items()})
        for day, one in position.items()
    }


def days_written(days: Mapping[str, Day], today: str) -> dict[str, Any]:
    """As JSON takes them; of many days those nearest to `today`, which is the one that is written."""
    past, ahead = sorted(one for one in days if one <= today), sorted(one for one in days if one > today)
    return {
        day: {"usd": str(days[day].usd), "held": {id: str(usd) for id, usd in days[day].held.items()}}
        for day in (*past[-DAYS_KEPT:], *ahead[:DAYS_KEPT])
    }
