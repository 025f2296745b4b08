"""Pace: how much an installation may write on GitHub, and until when it must not call at all. Pure; time is given."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.core.belts import EffectKind

EACH = timedelta(seconds=9)
"""So much time one piece of content uses up: 400 in an hour, where GitHub allows 500 and people write as well (165)."""

AT_ONCE = 60
"""Pieces that may come without a pause, and with them never more than 460 in an hour, nor 67 in a minute (165)."""

LONGEST_PAUSE = timedelta(hours=2)
"""A pause that ends later than this was set by a clock that was wrong: GitHub's own is an hour at most (163)."""

PIECES = {EffectKind.SAY: 2, EffectKind.REACT: 1, EffectKind.OPEN_DRAFT: 4}
"""What an effect creates as a rule. A plan in many parts creates more, for which the rest of GitHub's 500 is there."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How far an installation is. `used_until`: what was written is used up then. `paused_until`: GitHub's word."""

    used_until: datetime | None = None
    paused_until: datetime | None = None

    def not_before(self, kind: EffectKind, now: datetime) -> datetime | None:
        """When such an effect may begin; None for at once. A time that no right clock can have set does not count."""
        paused = self.paused_until
        if paused is not None and now < paused <= now + LONGEST_PAUSE:
            return paused
        used, room = self._used(now), (AT_ONCE - PIECES.get(kind, 0)) * EACH
        return used - room if kind in PIECES and used - now > room else None

    def after(self, kind: EffectKind, now: datetime) -> "Pace":
        """The pace once such an effect has begun."""
        return Pace(self._used(now) + PIECES.get(kind, 0) * EACH, self.paused_until)

    def _used(self, now: datetime) -> datetime:
        if self.used_until is None or self.used_until > now + AT_ONCE * EACH:
            return now
        return max(self.used_until, now)
