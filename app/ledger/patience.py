"""How long PostgreSQL is waited for: one place for every bound, whatever is the matter with server or network.

A server that is gone refuses at once. Of one that is stopped, or stuck on its disk, the kernel goes on acknowledging
what we send, so only our own clock finds it out: `Patient`. One behind a network that died answers nothing at all:
keepalives and the user time-out find that out where no statement of ours waits, and have the server give up what we
held.
"""

from collections.abc import Callable, Mapping
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from app.ledger.engine import NO_ANSWER

CONNECT_SECONDS = 5
"""How long one address may take until it has let us in."""

SILENT_SECONDS = 25
"""After so long without a sign of life the other machine is gone: 10 s, then three questions 5 s apart."""

OF_THE_LINE: Mapping[str, int] = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": SILENT_SECONDS * 1000,
}
"""What libpq is told (PostgreSQL's documentation, 34.1.2). Linux' own keepalives would begin after two hours, and what
was sent would be sent again for a quarter of an hour. Each can be said otherwise in `DATABASE_URL`."""

OF_THE_SERVER = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
"""The same from its side: what a machine of ours that vanished held locked is free again after `SILENT_SECONDS`."""



class NoAnswer(psycopg.OperationalError):
    """The server did not answer in time. Whether it still does what it was asked to is not known."""

    sqlstate = NO_ANSWER


class Patient(psycopg.Connection[Any]):
    """A connection that is closed where one statement is not answered within `answer_seconds`."""

    answer_seconds: float | None = None

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """As its parent's. Raises `NoAnswer` where the time was over, and the connection is closed then."""
        seconds = self.answer_seconds if timeout is None else timeout
        try:
            return super().wait(gen, interval, seconds)
        except psycopg.OperationalError as error:
            # Whatever else goes wrong has ended the statement, or has closed the connection.
            if self.pgconn.transaction_status != TransactionStatus.ACTIVE:
                raise
            self.pgconn.finish()
            raise NoAnswer(f"it took more than {seconds} s for an answer") from error


def patient(answer_seconds: float | None) -> Callable[..., Patient]:
    """What SQLAlchemy is to connect with (its event `do_connect`)."""

    def connect(_dialect: Any, _record: Any, args: Any, named: Any) -> Patient:
        connection = Patient.connect(*args, **named)
        connection.answer_seconds = answer_seconds
        return connection

    return connect
