"""What machines that watch are told: whether the process could do its work."""

from contextlib import closing
from datetime import UTC, datetime

from app.ledger import open_ledger
from app.ledger.errors import LedgerError


def ledger_trouble(url: str) -> str:
    """Why nothing could be recorded now, as a sentence; empty when the database has this version's schema and something
    was recorded in it."""
    try:
        with closing(open_ledger(url)) as ledger:
            ledger.prove(datetime.now(UTC))
    except LedgerError as trouble:
        return str(trouble)
    return ""
