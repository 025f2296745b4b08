"""The ledger as its callers hold it: all its parts on one database."""

import logging
from collections.abc import Mapping
from datetime import datetime

from app.ledger.audit import Audit
from app.ledger.claims import Claims
from app.ledger.engine import Database
from app.ledger.errors import LedgerBehind
from app.ledger.fitting import revision_in, unfit
from app.ledger.gauges import Gauges
from app.ledger.history import History
from app.ledger.keeping import Artifacts, Books, Plans
from app.ledger.limits import Limits
from app.ledger.lists import Lists
from app.ledger.missing import Missing, Rounds
from app.ledger.money import Money
from app.ledger.pruning import Pruning
from app.ledger.receiving import Receiving
from app.ledger.schema import REVISION
from app.ledger.unheard import Unheard
from app.ledger.views import Views

_said: set[tuple[str, str]] = set()
_LOG = logging.getLogger(__name__)


class Ledger(
    Receiving,
    Missing,
    Rounds,
    Unheard,
    Claims,
    Limits,
    Views,
    Lists,
    Gauges,
    History,
    Plans,
    Artifacts,
    Books,
    Money,
    Audit,
    Pruning,
):
    """What was received, recorded, owed and kept. Safe to share between threads; made anew in a forked process."""

    @property
    def tried_again(self) -> Mapping[str, int]:
        """How often this process began a transaction again, by the reason."""
        return self._database.tried_again

    def clock(self) -> datetime:
        """The time by which everybody who shares this ledger goes (`app.ledger.clock`)."""
        return self._database.clock.now()

    def close(self) -> None:
        """Gives the database's connections back."""
        self._database.close()


def opened(url: str) -> Ledger:
    """The ledger at `url`. Raises `LedgerBehind` where the schema is none that this version can work with: its own, or
    a newer one of which its migrations say that this version still fits."""
    database = Database(url)
    try:
        found = revision_of(database)
        if found is None:
            raise LedgerBehind("The ledger has no tables yet. Run `countersign migrate`.")
        if found != REVISION:
            with database.reading() as connection:
                refused = unfit(connection, found)
            if refused:
                raise LedgerBehind(refused)
            _say_once(url, found)
    except BaseException:
        database.close()
        raise
    return Ledger(database)


def revision_of(database: Database) -> str | None:
    """The newest migration that the database has seen; None for one without a ledger."""
    with database.reading() as connection:
        return revision_in(connection)


def _say_once(url: str, found: str) -> None:
    """Whoever is asked whether it is ready opens the ledger every few seconds."""
    if (url, found) not in _said:
        _said.add((url, found))
        _LOG.warning("a newer version brought the ledger to schema %s; this one still fits and goes on", found)
