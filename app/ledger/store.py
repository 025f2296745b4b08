"""The ledger as its callers hold it: all its parts on one database."""

from collections.abc import Mapping

from sqlalchemy import inspect, text

from app.ledger.audit import Audit
from app.ledger.claims import Claims
from app.ledger.engine import Database
from app.ledger.errors import LedgerBehind
from app.ledger.history import History
from app.ledger.keeping import Artifacts, Books, Plans
from app.ledger.lists import Lists
from app.ledger.missing import Missing, Rounds
from app.ledger.pruning import Pruning
from app.ledger.receiving import Receiving
from app.ledger.schema import REVISION
from app.ledger.views import Views


class Ledger(Receiving, Missing, Rounds, Claims, Views, Lists, History, Plans, Artifacts, Books, Audit, Pruning):
    """What was received, recorded, owed and kept. Safe to share between threads; made anew in a forked process."""

    @property
    def tried_again(self) -> Mapping[str, int]:
        """How often this process began a transaction again, by the reason."""
        return self._database.tried_again

    def close(self) -> None:
        """Gives the database's connections back."""
        self._database.close()


def opened(url: str) -> Ledger:
    """The ledger at `url`. Raises `LedgerBehind` where the schema is not the one that this version works with."""
    database = Database(url)
    try:
        found = revision_of(database)
        if found is None:
            raise LedgerBehind("The ledger has no tables yet. Run `countersign migrate`.")
        if found != REVISION:
            raise LedgerBehind(
                f"The ledger's schema is {found}, and this version works with {REVISION}. "
                "Run `countersign migrate` with the newest version, and start that one."
            )
    except BaseException:
        database.close()
        raise
    return Ledger(database)


def revision_of(database: Database) -> str | None:
    """The newest migration that the database has seen; None for one without a ledger."""
    with database.reading() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found
