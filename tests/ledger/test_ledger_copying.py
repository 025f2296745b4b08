"""A back-up is the ledger as it stood, checked, and never over a file; its way back is into an empty one alone."""

import sqlite3
import stat
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text

from app.core.missed import ROUND
from app.core.verdict import Refused
from app.ledger import migrate, open_ledger
from app.ledger.copying import Copied, back_up, restore
from app.ledger.errors import LedgerBehind, LedgerCorrupt
from app.ledger.schema import metadata, rounds
from app.ledger.store import Ledger
from tests.fakes.deliveries import LEASE, Told
from tests.fakes.facts import START, a_request
from tests.fakes.older_ledgers import earlier_revisions, older_ledger
from tests.ledger.test_ledger_keeping import NASTY, a_plan, a_span

NOW = START + timedelta(days=1)


def everything(ledger: Ledger) -> dict[str, list[Any]]:
    """Every row of every table but the rounds, which a restored ledger begins anew."""
    with ledger._database.engine.connect() as connection:
        tables = [table for table in metadata.sorted_tables if table is not rounds]
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
            for table in tables
        }


@pytest.fixture
def full(told: Told) -> Ledger:
    """A ledger with something in every part of it."""
    told.approved()
    ledger = told.ledger
    ledger.put_plan(told.request.run, a_plan())
    ledger.put_artifact(b"\x00\xff" * 5_000, "application/octet-stream")
    ledger.put_artifact(b"", NASTY)
    ledger.add_spans([a_span(run=told.request.run)])
    ledger.marker_key()
    ledger.take_turn(ROUND, START, LEASE)
    return ledger


@pytest.fixture
def copy(full: Ledger, ledger_url: str, tmp_path: Path) -> Path:
    """A back-up of it."""
    file = tmp_path / "kept" / "ledger.backup"
    file.parent.mkdir()
    copied = back_up(ledger_url, file)
    assert isinstance(copied, Copied) and (copied.runs, copied.artifacts) == (1, 2)
    return file


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Another database, with nothing in it."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'another.db'}"
    from tests.fakes.services import fresh_database

    server = request.getfixturevalue("postgres_server")
    fresh = fresh_database(server)
    url = fresh.__enter__()
    request.addfinalizer(lambda: fresh.__exit__(None, None, None))
    return url


def test_what_is_restored_is_what_was_backed_up_in_either_database(full: Ledger, copy: Path, empty_url: str) -> None:
    before = copy.read_bytes()
    copied = restore(copy, empty_url, NOW)
    assert isinstance(copied, Copied) and copied.newest is not None
    with closing(open_ledger(empty_url)) as restored:
        assert everything(restored) == everything(full)
        assert restored.run("r-000001") == full.run("r-000001")
        # It goes on: ids that the ledger makes are new ones, and what was delivered since is asked for.
        other = Told(restored, a_request(run="r-000002", number=9))
        other.approved()
        restored.add_spans([a_span(run="r-000002")])
        restored.put_plan("r-000002", a_plan(run="r-000002"))
        turn = restored.take_turn(ROUND, NOW, LEASE)
        assert turn is not None and turn.position["lost_before"] == NOW.isoformat()
        assert turn.position["floor"] == copied.newest.isoformat()
    assert copy.read_bytes() == before
    assert [path.name for path in copy.parent.iterdir()] == [copy.name]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_nothing_is_written_over(full: Ledger, ledger_url: str, copy: Path) -> None:
    before, held = everything(full), copy.read_bytes()
    assert isinstance(back_up(ledger_url, copy), Refused)
    assert copy.read_bytes() == held
    assert isinstance(restore(copy, ledger_url, NOW), Refused)
    assert everything(full) == before


def test_a_ledger_that_is_being_written_to_is_backed_up_as_it_stood_at_one_moment(
    full: Ledger, ledger_url: str, tmp_path: Path
) -> None:
    """A writer is in the middle of a transaction: of it there is nothing, and nobody waits for the other."""
    file = tmp_path / "b"

    def write(connection: Any) -> None:
        connection.execute(text("UPDATE runs SET state = 'closed'"))
        assert isinstance(back_up(ledger_url, file), Copied)

    full._database.writing(write)
    with closing(sqlite3.connect(file)) as held:
        assert held.execute("SELECT state FROM runs").fetchall() == [("approved",)]


HARM = {
    "a state that the facts do not lead to": "UPDATE runs SET state = 'published'",
    "facts that do not follow": "DELETE FROM facts WHERE seq = 2",
    "another plan": "UPDATE plans SET body = X'7b7d'",
    "another output": "UPDATE artifacts SET body = X'28b52ffd'",
}


@pytest.mark.parametrize("how", HARM)
def test_what_is_not_as_it_was_written_is_neither_backed_up_nor_restored(
    full: Ledger, copy: Path, ledger_url: str, tmp_path: Path, how: str
) -> None:
    with closing(sqlite3.connect(copy)) as held:
        held.execute(HARM[how])
        held.commit()
    with pytest.raises(LedgerCorrupt):
        restore(copy, f"sqlite:///{tmp_path / 'c.db'}", NOW)
    if full._database.is_sqlite:
        with full._database.engine.begin() as connection:
            connection.execute(text(HARM[how]))
        with pytest.raises(LedgerCorrupt):
            back_up(ledger_url, tmp_path / "d")
        assert not (tmp_path / "d").exists() and list(tmp_path.glob(".back-up-*")) == []


def test_a_file_that_is_no_back_up_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'c.db'}"
    (tmp_path / "text").write_text("not a ledger")
    (tmp_path / "nothing").touch()
    for name in ("text", "nothing", "nowhere"):
        assert isinstance(restore(tmp_path / name, url, NOW), Refused)
    assert not (tmp_path / "c.db").exists()


def test_a_back_up_of_an_earlier_version_is_brought_to_this_one_and_stays_as_it_is(
    full: Ledger, tmp_path: Path
) -> None:
    older, url = tmp_path / "older", f"sqlite:///{tmp_path / 'c.db'}"
    older_ledger(f"sqlite:///{older}", earlier_revisions()[0], full._database)
    before = older.read_bytes()
    assert isinstance(restore(older, url, NOW), Copied)
    with closing(open_ledger(url)) as restored:
        assert restored.run("r-000001") == full.run("r-000001")
    assert older.read_bytes() == before


def test_a_ledger_of_another_version_is_migrated_first(full: Ledger, ledger_url: str, tmp_path: Path) -> None:
    with full._database.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0002'"))
    with pytest.raises(LedgerBehind, match="migrate"):
        back_up(ledger_url, tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_an_empty_ledger_that_is_there_can_be_filled_once(copy: Path, empty_url: str) -> None:
    migrate(empty_url)
    assert isinstance(restore(copy, empty_url, NOW), Copied)
    assert isinstance(restore(copy, empty_url, NOW), Refused)
