"""Ledgers as earlier versions left them: an older schema, filled with what it could hold of a ledger of today."""

from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, insert, select

import app.ledger
from app.ledger.engine import Database
from app.ledger.schema import metadata


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(app.ledger.__file__).parent / "migrations"))
    return config


def earlier_revisions() -> list[str]:
    """Every schema that there was before today's, the first one first."""
    found = [one.revision for one in ScriptDirectory.from_config(_config()).walk_revisions()]
    return found[:0:-1]


def older_ledger(url: str, revision: str, today: Database) -> None:
    """The empty database holds the schema of `revision`, with everything from `today` that it has a place for."""
    older = Database(url)

    def make(connection: Connection) -> None:
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        there = MetaData()
        there.reflect(connection)
        with today.reading() as source:
            for table in metadata.sorted_tables:
                if table.name not in there.tables:
                    continue
                names = [column.name for column in table.columns if column.name in there.tables[table.name].columns]
                rows = source.execute(select(*(table.c[name] for name in names))).mappings()
                kept: list[dict[str, Any]] = [dict(row) for row in rows]
                if kept:
                    connection.execute(insert(table), kept)

    try:
        older.writing(make)
    finally:
        older.close()
