"""GitHub's limits as every process knows them: what one of them met, the ledger tells all (github-facts 163, 165)."""

from collections.abc import Callable
from datetime import datetime, timedelta

from app.ledger.store import Ledger


class SharedLimit:
    """The limit of one installation, or of the App itself (`OF_THE_APP`); `clock` gives an aware time."""

    def __init__(self, ledger: Ledger, installation_id: int, clock: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._installation_id = installation_id
        self._clock = clock

    def left(self) -> tuple[float, str] | None:
        """For how many seconds nothing may be sent, and why; None where something may."""
        now = self._clock()
        paused = self._ledger.paused(self._installation_id, now)
        return None if paused is None else ((paused[0] - now).total_seconds(), paused[1])

    def met(self, seconds: float, reason: str) -> None:
        """Nobody asks anything there for so long."""
        now = self._clock()
        self._ledger.pause(self._installation_id, now + timedelta(seconds=seconds), reason, now)

    def turn(self, gap_seconds: float) -> float:
        """After how many seconds content may be created: nobody else does there for `gap_seconds` afterwards."""
        now = self._clock()
        return (self._ledger.turn(self._installation_id, now, timedelta(seconds=gap_seconds)) - now).total_seconds()
