"""Migrations, run from code: the schema of an empty or an older ledger is brought to this version's."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, make_url, text

from app.ledger.engine import Database
from app.ledger.errors import LedgerBehind
from app.ledger.fitting import keep_oldest, revision_in, unfit
from app.ledger.schema import REVISION

LOCK_SECONDS = 60.0
"""How long a rival's migration is waited for: nobody answers a webhook meanwhile."""

# Any number will do, as long as it stays the same: who migrates holds it, everybody else waits.
_LOCK = 4_027_118_553


def brought_up_to_date(url: str) -> None:
    """Applies what is missing, all in one transaction; a rival waits and then finds nothing to do.

    A version that still fits a newer one's schema finds nothing either; raises `LedgerBehind` where it does not fit.
    """
    database = Database(url, LOCK_SECONDS, answer_seconds=None)

    def work(connection: Connection) -> None:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        config.attributes["connection"] = connection
        found = revision_in(connection)
        if found is not None and found > REVISION:
            if refused := unfit(connection, found):
                raise LedgerBehind(refused)
            return
        command.upgrade(config, "head")
        scripts = ScriptDirectory.from_config(config).walk_revisions()
        keep_oldest(database, connection, (str(one.module.oldest) for one in scripts))

    try:
        database.writing(work)
        _keep_private(url)
    finally:
        database.close()


def _keep_private(url: str) -> None:
    """A ledger in a file is for its account alone; SQLite gives the files beside it the same mode."""
    place = make_url(url)
    if place.get_backend_name() == "sqlite" and place.database and Path(place.database).is_file():
        Path(place.database).chmod(0o600)
