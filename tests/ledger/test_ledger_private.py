"""A ledger in a file is nobody else's to read."""

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

from app.core.news import Delivery, Ignored
from app.ledger import migrate, open_ledger


def test_a_ledger_file_and_what_sqlite_puts_beside_it_are_for_its_account_alone(tmp_path: Path) -> None:
    os.umask(0o022)
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    migrate(url)
    ledger = open_ledger(url)
    ledger.receive(Delivery("guid", "issues", "opened", datetime.now(UTC), b"{}"), Ignored("nothing"))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    ledger.close()
    assert modes.keys() >= {"ledger.db", "ledger.db-wal"}
    assert set(modes.values()) == {0o600}
