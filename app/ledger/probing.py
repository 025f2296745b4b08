"""How the ledger's database stands, for who looks before anything runs: versions, roles, where its file lies."""

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection, make_url, select, text

from app.core.recording import RECORDS
from app.ledger.engine import Database
from app.ledger.errors import LedgerNewer, RunCorrupt
from app.ledger.folding import facts_of, folded
from app.ledger.roles import PREFIX
from app.ledger.schema import OPEN, REVISION, metadata, runs
from app.ledger.store import opened


@dataclass(frozen=True, slots=True)
class DatabaseStanding:
    """`server`: name and version. `journal`: SQLite's, empty for PostgreSQL. `roles`: those of our processes that are
    there; `unserved`: tables that one of them cannot read, since `countersign roles` was not run after a migration."""

    schema: str
    server: str
    journal: str = ""
    roles: tuple[str, ...] = ()
    unserved: tuple[str, ...] = ()
    corrupt: tuple[str, ...] = ()
    """Why each open run that cannot be read is left aside."""


def ledger_file(url: str) -> Path | None:
    """The file of an SQLite ledger; None for a server's."""
    place = make_url(url)
    return Path(place.database) if place.get_backend_name() == "sqlite" and place.database else None


def prove(url: str, now: datetime) -> None:
    """Something was recorded in it. Raises `LedgerError`. Belts' roles may not record that."""
    with closing(opened(url)) as ledger:
        ledger.prove(now)


def probe(url: str) -> DatabaseStanding:
    """How it stands. Raises `LedgerError` where there is no ledger of this version."""
    opened(url).close()
    with closing(Database(url)) as database, database.reading() as connection:
        if database.is_sqlite:
            version = connection.scalar(text("SELECT sqlite_version()"))
            journal = str(connection.scalar(text("PRAGMA journal_mode")))
            return DatabaseStanding(REVISION, f"SQLite {version}", journal, corrupt=_corrupt(connection))
        version = str(connection.scalar(text("SHOW server_version"))).split()[0]
        roles = _roles(connection)
        unserved, corrupt = _unserved(connection, roles), _corrupt(connection)
        return DatabaseStanding(REVISION, f"PostgreSQL {version}", "", roles, unserved, corrupt)


def _corrupt(connection: Connection) -> tuple[str, ...]:
    found: list[str] = []
    for run in connection.scalars(select(runs.c.id).where(OPEN).order_by(runs.c.id)).all():
        try:
            folded(run, facts_of(connection, run))
        except RunCorrupt as corrupt:
            found.append(str(corrupt))
        except LedgerNewer:
            continue
    return tuple(found)


def _roles(connection: Connection) -> tuple[str, ...]:
    ours = [f"{PREFIX}_{process}" for process in RECORDS]
    found = connection.execute(text("SELECT rolname FROM pg_roles WHERE rolname = ANY(:ours)"), {"ours": ours})
    return tuple(sorted(str(row[0]) for row in found))


def _unserved(connection: Connection, roles: tuple[str, ...]) -> tuple[str, ...]:
    asked = text("SELECT has_table_privilege(:role, :table, 'SELECT')")
    tables = [table.name for table in metadata.sorted_tables if table.name != "keys"]
    may = {
        table: all(connection.scalar(asked, {"role": role, "table": table}) for role in roles) for table in tables
    }
    return tuple(table for table, all_may in may.items() if not all_may)
