"""Pace: how much an installation may do on GitHub at once, how much write, and until when it must not call at all.

Pure; time is given.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.core.belts import EffectKind

EACH = timedelta(seconds=9)
"""So much time one piece of content uses up: 400 in an hour, where GitHub allows 500 and people write as well (165)."""

AT_ONCE = 60
"""Pieces that may come without a pause, and with them never more than 460 in an hour, nor 67 in a minute (165)."""

LONGEST_PAUSE = timedelta(hours=2)
"""A pause that ends later than this was set by a clock that was wrong: GitHub's own is an hour at most (163)."""

HANDS = 80
"""Effects of one installation that may be in hand together. Each sends one request at a time, and GitHub takes 100
(165): the rest is for what the sweeps of the publishers read and for tokens that are given back."""

NEXT_TURN = timedelta(seconds=10)
"""So long an effect waits that found all hands full."""

LONGEST_QUEUE = timedelta(minutes=2)
"""No request that creates content waits for its turn for longer: as many as hands, a second apart. A turn further off
was written by a clock that was wrong."""

SHORT = timedelta(minutes=1)
"""What is waited for where GitHub does not say how long. Met again soon afterwards, it is doubled each time (166)."""

SOON = timedelta(minutes=10)

LONGEST_DOUBLED = timedelta(minutes=30)

PIECES = {EffectKind.SAY: 2, EffectKind.REACT: 1, EffectKind.OPEN_DRAFT: 4}
"""What an effect creates as a rule. A plan in many parts creates more, for which the rest of GitHub's 500 is there."""


def turn_of(free_at: datetime, now: datetime) -> datetime:
    """When the next request that creates content may be sent, where the one before leaves off at `free_at`."""
    return free_at if now < free_at <= now + LONGEST_QUEUE else now


@dataclass(frozen=True, slots=True)
class Pace:
    """How far an installation is. `used_until`: what was written is used up then. `paused_until`: GitHub's word.
    `in_a_row`: limits that were met soon after the pause for the one before was over."""

    used_until: datetime | None = None
    paused_until: datetime | None = None
    in_a_row: int = 0

    def not_before(self, kind: EffectKind, now: datetime) -> datetime | None:
        """When such an effect may begin; None for at once. A time that no right clock can have set does not count."""
        if (paused := self.paused(now)) is not None:
            return paused
        used, room = self._used(now), (AT_ONCE - PIECES.get(kind, 0)) * EACH
        return used - room if kind in PIECES and used - now > room else None

    def paused(self, now: datetime) -> datetime | None:
        """Until when nothing may be sent by GitHub's word; None where it may."""
        paused = self.paused_until
        return paused if paused is not None and now < paused <= now + LONGEST_PAUSE else None

    def met(self, until: datetime, now: datetime) -> "Pace":
        """The pace once a limit was met that is to last until then; a pause that stands is not cut short."""
        stands, last = self.paused(now), self.paused_until
        again = last is not None and now - SOON < last <= now
        in_a_row = self.in_a_row + 1 if again else self.in_a_row if stands else 0
        wait = min(until - now, LONGEST_PAUSE)
        if wait <= SHORT:
            wait = min(wait * 2**in_a_row, LONGEST_DOUBLED)
        return Pace(self.used_until, max(stands or now, now + wait), in_a_row)

    def after(self, kind: EffectKind, now: datetime) -> "Pace":
        """The pace once such an effect has begun."""
        return Pace(self._used(now) + PIECES.get(kind, 0) * EACH, self.paused_until, self.in_a_row)

    def _used(self, now: datetime) -> datetime:
        if self.used_until is None or self.used_until > now + AT_ONCE * EACH:
            return now
        return max(self.used_until, now)
