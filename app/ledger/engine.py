"""The database behind the ledger: SQLite in WAL mode with full synchronisation, or PostgreSQL through psycopg 3."""

import logging
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Table, create_engine, event, exc
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url

from app.ledger.clock import Clock
from app.ledger.errors import LedgerCorrupt, LedgerForbids, LedgerNewer, LedgerUnreachable, RunLeftAside

TRIES = 3
"""How often a transaction is begun in all where the database asks for it again."""

LOCK_SECONDS = 2.5
"""How long one try waits for a lock. All tries together stay below the 10 s that GitHub waits (github-facts 18)."""

ANSWER_SECONDS = 15.0
"""How long PostgreSQL may take for one statement. With a new connection that is a third of a lease
(`COUNTERSIGN_LEASE_SECONDS`): a server that was away for so long costs no worker its claim."""

POOL = 5
POOL_OVERFLOW = 10

RECYCLE_SECONDS = 300
"""No connection is used for longer, so that the server's clock is read anew: it may have been set."""

# Serialisation failure, deadlock, lock not available: PostgreSQL asks for the transaction again.
_AGAIN = {"40001": "a serialisation conflict", "40P01": "a deadlock", "55P03": "a lock that was not had"}
_READ_ONLY = "25006"
_FORBIDDEN = "42501"

NO_ANSWER = "08S01"
"""What ODBC calls a communication link failure; no server of PostgreSQL's says it, but our own patience does."""

RESTORE = "Stop every process, and restore a back-up where it is whole into an empty database: countersign restore FILE"

_LOG = logging.getLogger(__name__)

_Result = TypeVar("_Result")


class Database:
    """Connections to one database; a transaction commits whole or leaves nothing."""

    def __init__(
        self, url: str, lock_seconds: float = LOCK_SECONDS, answer_seconds: float | None = ANSWER_SECONDS
    ) -> None:
        """`answer_seconds` is None for what takes long by its nature, such as a migration: it waits without end."""
        self.engine = _engine_for(_plain(url), lock_seconds, answer_seconds)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self.clock = Clock()
        if not self.is_sqlite:
            event.listen(self.engine, "connect", self.clock.read)
        self.tried_again: Counter[str] = Counter()
        self.left_aside: set[tuple[str, type[RunLeftAside]]] = set()
        # BEGIN IMMEDIATE takes the one write lock at once: a reader that turns writer can fail without waiting.
        self._writer = self.engine.execution_options(countersign_begin="BEGIN IMMEDIATE")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state of the ledger and changes nothing."""
        with self._errors_named(), self.engine.connect() as connection:
            yield connection

    def writing(self, work: Callable[[Connection], _Result]) -> _Result:
        """Does `work` in one transaction, again from its beginning where the database asks for that, or where its
        connection was lost before the end. Each try beyond the first is counted in `tried_again`, by its reason.

        Raises `LedgerUnreachable` after `TRIES` times; then nothing was recorded. Where the connection is lost in the
        moment of the commit it is not tried again, and may have been recorded: whoever asks again finds it so. A server
        that does not answer in time is not asked again either: a second wait would be as long.
        """
        with self._errors_named():
            for left in reversed(range(TRIES)):
                done = False
                try:
                    with self._writer.begin() as connection:
                        result = work(connection)
                        done = True
                    return result
                except exc.DBAPIError as error:
                    again = _why_again(error, lost_is_safe=not done)
                    if left == 0 or not again:
                        raise
                    self.tried_again[again] += 1
                    _LOG.info("a transaction is begun again for %s (%d tries are left): %s", again, left, error.orig)
                    time.sleep(random.uniform(0.005, 0.05))  # noqa: S311 (spreads rivals; guards nothing)
        raise AssertionError("unreachable")

    def insert(self, table: Table) -> "postgresql.Insert | sqlite.Insert":
        """An INSERT that can say what to do about a conflict."""
        return sqlite.insert(table) if self.is_sqlite else postgresql.insert(table)

    def close(self) -> None:
        """Gives every connection back."""
        self.engine.dispose()

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        try:
            yield
        except (exc.OperationalError, exc.InterfaceError, exc.TimeoutError, exc.InternalError) as error:
            cause = getattr(error, "orig", None) or error
            if getattr(cause, "sqlstate", None) == _READ_ONLY:
                # The server is one that follows another now: the next connections go to the one that can be written to.
                self.engine.dispose()
            raise LedgerUnreachable(f"The database does not answer: {str(cause).strip()}") from error
        except exc.DatabaseError as error:
            if getattr(error.orig, "sqlstate", None) == _FORBIDDEN:
                raise LedgerForbids(f"This process' role may not do that in the database: {error.orig}") from error
            if type(error) is not exc.DatabaseError:
                raise
            raise LedgerCorrupt(f"The database's file is damaged: {error.orig}") from error


class OnDatabase:
    """What the parts of the ledger share."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def leaving_aside(self) -> Iterator[None]:
        """The block ends where it meets a run that cannot be read here. The log says so once for each such run."""
        try:
            yield
        except RunLeftAside as aside:
            self.say_left_aside(aside)

    def say_left_aside(self, aside: RunLeftAside) -> None:
        """The log has it, once in the life of this process, with what is to be done."""
        if (aside.run, type(aside)) in self._database.left_aside:
            return
        self._database.left_aside.add((aside.run, type(aside)))
        if isinstance(aside, LedgerNewer):
            _LOG.warning("run %s is left to a newer version", aside.run)
            return
        words = "run %s is left aside, and every other one goes on: %s %s"
        _LOG.error(words, aside.run, aside, RESTORE)


def _plain(url: str) -> URL:
    parsed = make_url(url)
    if parsed.drivername in ("postgres", "postgresql"):
        return parsed.set(drivername="postgresql+psycopg")
    return parsed


def _engine_for(url: URL, lock_seconds: float, answer_seconds: float | None) -> Engine:
    sizes: dict[str, Any] = {"pool_size": POOL, "max_overflow": POOL_OVERFLOW, "pool_timeout": 5}
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, connect_args={"timeout": lock_seconds, "check_same_thread": False}, **sizes)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        # It costs 20 MB, and nothing on SQLite.
        from app.ledger.patience import OF_THE_LINE, OF_THE_SERVER, patient

        asked = {
            **{name: value for name, value in OF_THE_LINE.items() if name not in url.query},
            "options": f"-c lock_timeout={int(lock_seconds * 1000)} -c timezone=UTC {OF_THE_SERVER}",
            # Of several hosts in the URL, the one that can be written to: after a failover it is another one.
            "target_session_attrs": "read-write",
        }
        engine = create_engine(url, connect_args=asked, pool_pre_ping=True, pool_recycle=RECYCLE_SECONDS, **sizes)
        event.listen(engine, "do_connect", patient(answer_seconds))
    event.listen(engine, "connect", _remember_process)
    event.listen(engine, "checkout", _refuse_inherited)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # The driver must not begin transactions by itself: `_begin_sqlite` does.
    connection.isolation_level = None
    for left in reversed(range(50)):
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            break
        except Exception:
            # Turning WAL on does not wait for a rival that does the same.
            if left == 0:
                raise
            time.sleep(0.02)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("countersign_begin", "BEGIN"))


def _remember_process(_connection: Any, record: Any) -> None:
    record.info["process"] = os.getpid()


def _refuse_inherited(_connection: Any, record: Any, fairy: Any) -> None:
    """A connection that came over a fork is still its parent's: another one is made."""
    if record.info["process"] != os.getpid():
        record.dbapi_connection = fairy.dbapi_connection = None
        raise exc.DisconnectionError("this connection belongs to the parent process")


def _why_again(error: exc.DBAPIError, *, lost_is_safe: bool) -> str:
    """Why the same transaction is worth another try, in a few words; empty where it is not."""
    if error.connection_invalidated:
        answers = getattr(error.orig, "sqlstate", None) != NO_ANSWER
        return "a lost connection" if lost_is_safe and answers else ""
    if (known := _AGAIN.get(getattr(error.orig, "sqlstate", None) or "")) is not None:
        return known
    locked = isinstance(error, exc.OperationalError) and "database is locked" in str(error.orig)
    return "a locked database" if locked else ""
