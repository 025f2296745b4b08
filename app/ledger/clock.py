"""What time it is for everybody who shares a ledger.

Leases, waits and deadlines are compared by whoever looks, and two machines' clocks may differ by more than a lease. On
PostgreSQL all go by the server's clock: it is read with each new connection, and from there on by what this machine
counts since it started, which nobody sets and which goes on while it sleeps. A file is for one machine, and so is its
clock.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Any


class Clock:
    """The server's clock where it was ever read, else this machine's."""

    def __init__(self) -> None:
        self._read: tuple[datetime, float] | None = None

    def now(self) -> datetime:
        """An aware time."""
        read = self._read
        if read is None:
            return datetime.now(UTC)
        return read[0] + timedelta(seconds=_counted() - read[1])

    def read(self, connection: Any, _record: Any) -> None:
        """Takes the time of the server at the other end of this new connection (SQLAlchemy's event `connect`)."""
        [at] = connection.execute("SELECT clock_timestamp()").fetchone()
        self._read = at.astimezone(UTC), _counted()
        connection.rollback()


def _counted() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
