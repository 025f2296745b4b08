"""The ledger: the only SQL, and what was received, recorded, owed and kept.

It may import `app.core` and settings, SQLAlchemy and Alembic; nothing else opens a database.
It refuses a transition that `advance()` refuses, a stale fence, and a schema that is not its own.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.ledger.store import Ledger


def open_ledger(url: str) -> "Ledger":
    """The ledger at `url` (`sqlite:///path` or `postgresql://…`), ready for use.

    Raises `LedgerBehind` where the schema is not this version's, `LedgerUnreachable` where there is no database.
    """
    from app.ledger.store import opened

    return opened(url)


def migrate(url: str) -> None:
    """Brings the schema to this version; does nothing where it is there. Several processes may call it at once."""
    from app.ledger.migrating import brought_up_to_date

    brought_up_to_date(url)
