"""A ledger on each database, and a run that it is told."""

from collections.abc import Iterator

import pytest

from app.ledger import migrate, open_ledger
from app.ledger.store import Ledger
from tests.fakes.deliveries import Told


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    """An empty ledger with today's schema."""
    migrate(ledger_url)
    ledger = open_ledger(ledger_url)
    yield ledger
    ledger.close()


@pytest.fixture
def told(ledger: Ledger) -> Told:
    """A run of which the ledger knows nothing yet."""
    return Told(ledger)
