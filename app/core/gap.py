"""Gaps: times of which GitHub tells nothing any more. A label that was set in one is found by reading. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

EDGE = timedelta(hours=1)
"""How far beyond its ends a gap is searched: deliveries come late (github-facts 24), clocks differ, and while a long
log is read its end goes on. A label that was heard of there has its run."""


@dataclass(frozen=True, slots=True)
class Gap:
    """What happened from `since` until `until` may have been told to nobody, and nobody will tell it."""

    since: datetime
    until: datetime

    def joined(self, other: "Gap | None") -> "Gap":
        """Both, and what lies between."""
        return self if other is None else Gap(min(self.since, other.since), max(self.until, other.until))

    def holds(self, at: datetime) -> bool:
        """Whether what happened then is searched for."""
        return self.from_when <= at <= self.until + EDGE

    @property
    def from_when(self) -> datetime:
        """What was not changed since then holds nothing that is searched for."""
        return self.since - EDGE


def gap_before(known_until: datetime | None, oldest: datetime) -> Gap | None:
    """What lies between the last look at the delivery log and its end, which is at `oldest`; None where they meet, and
    where nobody looked before."""
    return Gap(known_until, oldest) if known_until is not None and known_until < oldest else None


def gap_of_lost(failed_at: Sequence[datetime], kept_for: timedelta) -> Gap | None:
    """When that happened whose deliveries are given up for good: `failed_at` are the last attempts at them, and each
    may have been made so late that GitHub had forgotten the first, which it keeps for `kept_for`."""
    return Gap(min(failed_at) - 2 * kept_for, max(failed_at)) if failed_at else None
