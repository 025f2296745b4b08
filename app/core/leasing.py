"""How long anything is held or put off at the most. A time beyond that was written by a clock that was wrong, and does
not count: what it holds would else be stuck until the clock is there once more.
"""

from datetime import datetime, timedelta

LONGEST_LEASE = timedelta(hours=1)
"""No holder asks for longer. Whoever works on asks again."""

LONGEST_WAIT = timedelta(hours=25)
"""No effect and no round is put off for longer: the next day's money comes within a day."""


def stands(until: datetime | None, now: datetime, longest: timedelta) -> bool:
    """Whether it is not over yet, by a clock that was right."""
    return until is not None and now < until <= now + longest
