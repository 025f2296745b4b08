"""Copies of a whole ledger: a back-up is a fresh SQLite ledger, whatever database it is of, restored into either.

Nothing of a copy is believed: every run is folded, every plan and artifact is held against its digest.
"""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Connection, delete, func, insert, select

from app.core.missed import ROUND
from app.core.verdict import Refused
from app.ledger.engine import Database
from app.ledger.errors import LedgerBehind, LedgerCorrupt
from app.ledger.fitting import UPGRADE
from app.ledger.folding import facts_of, folded
from app.ledger.keeping import unpacked
from app.ledger.migrating import brought_up_to_date
from app.ledger.schema import REVISION, artifacts, deliveries, effects, metadata, plans, rounds, runs, spans
from app.ledger.store import revision_of

ROWS_AT_ONCE = 200
"""Artifacts are large: so many rows are in memory together."""


_NOT_OVER = Refused("The database holds a ledger already, and nothing is written over it.")


@dataclass(frozen=True, slots=True)
class Copied:
    """What stands in the copy, counted; all of it was read again there."""

    runs: int
    facts: int
    artifacts: int
    newest: datetime | None
    """When the last delivery in it came."""


def back_up(url: str, file: Path) -> Copied | Refused:
    """The ledger as it stood at one moment is in `file`, for this account alone; others may go on writing meanwhile.

    Refused where the file is there. Raises `LedgerCorrupt` where the ledger is not as it was written; then no file is.
    """
    try:
        file.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        return Refused(f"There is a file {file} already, and nothing is written over it.")
    try:
        with TemporaryDirectory(dir=file.parent, prefix=".back-up-") as folder:
            part = Path(folder, "ledger.db")
            copied = _copied_to(part, url)
            part.replace(file)
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    return copied


def _copied_to(part: Path, url: str) -> Copied:
    with _opened(url) as ledger:
        if (found := revision_of(ledger)) != REVISION:
            newer = found is not None and found > REVISION
            todo = "Use the newer version that migrated it." if newer else "Run `countersign migrate` first."
            raise LedgerBehind(f"The ledger's schema is not this version's. {todo}")
        brought_up_to_date(_sqlite(part))
        with _opened(_sqlite(part)) as copy:
            with _one_moment(ledger) as source:
                copy.writing(lambda target: _copy_all(source, target))
            with copy.reading() as connection:
                copied = checked(connection)
    # One file, without a log beside it.
    with closing(sqlite3.connect(part)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    return copied


def restore(file: Path, url: str, now: datetime) -> Copied | Refused:
    """The empty database at `url` holds what the back-up holds, all or nothing. The file is left as it is.

    Refused where the database holds a ledger that is not empty. The next look at GitHub's delivery log asks for
    everything that was delivered since the back-up: the ledger that took it is gone.
    """
    if not file.is_file():
        return Refused(f"There is no file {file}.")
    with TemporaryDirectory(prefix="countersign-restore-") as folder:
        own = Path(folder, "ledger.db")
        shutil.copyfile(file, own)
        if not _is_a_ledger(own):
            return Refused(f"{file} is not a back-up of a ledger.")
        brought_up_to_date(_sqlite(own))
        with _opened(_sqlite(own)) as source, _opened(url) as target:
            if revision_of(target) not in (None, REVISION):
                return _NOT_OVER
            with source.reading() as read:
                copied = checked(read)
                brought_up_to_date(url)
                refused = target.writing(lambda connection: _put_in(read, connection, now))
    return refused or copied


def checked(connection: Connection) -> Copied:
    """The ledger, all of which was read. Raises `LedgerCorrupt` for the first thing that is not as it was written."""
    ids = connection.scalars(select(runs.c.id).order_by(runs.c.id)).all()
    facts = 0
    for run in ids:
        recorded = facts_of(connection, run)
        state = folded(run, recorded)
        facts += len(recorded)
        if state.name != connection.scalar(select(runs.c.state).where(runs.c.id == run)):
            raise LedgerCorrupt(f"Run {run} is {state.name} by its facts, and the ledger says otherwise.")
    for digest, body in connection.execute(select(plans.c.digest, plans.c.body)):
        if hashlib.sha256(body).hexdigest() != digest:
            raise LedgerCorrupt(f"The plan {digest} was changed in the ledger.")
    kept = 0
    bodies = select(artifacts.c.sha256, artifacts.c.body).execution_options(yield_per=ROWS_AT_ONCE)
    for sha, body in connection.execute(bodies):
        kept += unpacked(sha, body) is not None
    return Copied(len(ids), facts, kept, connection.scalar(select(func.max(deliveries.c.received_at))))


def _put_in(source: Connection, target: Connection, now: datetime) -> Refused | None:
    something = (select(func.count()).select_from(table) for table in metadata.sorted_tables if table is not rounds)
    done = select(func.count()).select_from(rounds).where(rounds.c.name != UPGRADE)
    if any(target.scalar(count) for count in (*something, done)):
        return _NOT_OVER
    _copy_all(source, target)
    newest = target.scalar(select(func.max(deliveries.c.received_at)))
    position = {"lost_before": now.isoformat()} | ({"floor": newest.isoformat()} if newest else {})
    target.execute(delete(rounds).where(rounds.c.name == ROUND))
    begun = {"name": ROUND, "due_at": now, "position": json.dumps(position), "failures": 0, "trouble": ""}
    target.execute(insert(rounds).values(**begun))
    return None


def _copy_all(source: Connection, target: Connection) -> None:
    """Every row of every table, those first that others refer to."""
    target.execute(delete(rounds).where(rounds.c.name == UPGRADE))
    for table in metadata.sorted_tables:
        every = select(table).order_by(*table.primary_key).execution_options(yield_per=ROWS_AT_ONCE)
        for rows in source.execute(every).mappings().partitions(ROWS_AT_ONCE):
            target.execute(insert(table), [dict(row) for row in rows])
    if target.dialect.name != "sqlite":
        for own in (effects.c.id, plans.c.nr, spans.c.id):
            following = select(func.coalesce(func.max(own), 0) + 1).scalar_subquery()
            target.execute(select(func.setval(func.pg_get_serial_sequence(own.table.name, own.name), following, False)))


def _is_a_ledger(file: Path) -> bool:
    try:
        with closing(sqlite3.connect(file)) as connection:
            found = connection.execute("PRAGMA integrity_check").fetchone()
            connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.DatabaseError:
        return False
    return bool(found == ("ok",))


@contextmanager
def _opened(url: str) -> Iterator[Database]:
    database = Database(url, answer_seconds=None)
    try:
        yield database
    finally:
        database.close()


@contextmanager
def _one_moment(database: Database) -> Iterator[Connection]:
    """A connection that sees the ledger as it stood when it was first asked, whatever others write."""
    level = {} if database.is_sqlite else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with database.reading() as connection:
        yield connection.execution_options(**level)


def _sqlite(file: Path) -> str:
    return f"sqlite:///{file.absolute()}"
