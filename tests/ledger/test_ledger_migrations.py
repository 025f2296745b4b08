"""The schema: made from nothing, by one of several, and never used when it is another version's."""

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

import app.ledger
from app.ledger import migrate, open_ledger
from app.ledger.copying import Copied, back_up
from app.ledger.engine import Database
from app.ledger.errors import LedgerBehind, LedgerUnreachable
from app.ledger.outcomes import Claim
from app.ledger.schema import OPEN, REVISION, metadata
from app.ledger.store import Ledger
from tests.fakes.deliveries import LEASE, Told
from tests.fakes.older_ledgers import earlier_revisions, older_ledger


def test_a_ledger_without_tables_says_what_to_type(ledger_url: str) -> None:
    with pytest.raises(LedgerBehind, match="countersign migrate"):
        open_ledger(ledger_url)


def test_a_ledger_of_another_version_is_not_opened(ledger: Ledger, ledger_url: str) -> None:
    with ledger._database.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(LedgerBehind, match=f"9999, and this version works with {REVISION}"):
        open_ledger(ledger_url)


def test_migrating_again_changes_nothing(told: Told, ledger_url: str) -> None:
    told.proposed()
    before = told.ledger.run(told.request.run)
    migrate(ledger_url)
    assert told.ledger.run(told.request.run) == before


@pytest.mark.parametrize("revision", earlier_revisions())
def test_a_full_ledger_of_each_earlier_schema_is_brought_to_this_one_and_loses_nothing(
    told: Told, ledger_url: str, tmp_path: Path, revision: str
) -> None:
    told.approved()
    told.ledger.put_artifact(b"kept", "text/plain")
    view, counts = told.ledger.run(told.request.run), told.ledger.counts()
    # What stands there is taken away, and comes back as that version would have left it.
    held = _taken_away(told.ledger, ledger_url, tmp_path / "held")
    older_ledger(ledger_url, revision, held)
    held.close()
    with pytest.raises(LedgerBehind):
        open_ledger(ledger_url)
    for _ in range(2):
        migrate(ledger_url)
    with closing(open_ledger(ledger_url)) as ledger:
        assert ledger.run(told.request.run) == view
        assert ledger.counts() == counts
        assert ledger.artifact(hashlib.sha256(b"kept").hexdigest()) == b"kept"
        # And it goes on: what is owed can be claimed and settled.
        told.ledger = ledger
        claim = ledger.claim(ledger.debts()[-1].effect_id, ledger.debts()[-1].belt, told.now + 2 * LEASE, LEASE)
        assert isinstance(claim, Claim)


def _taken_away(ledger: Ledger, url: str, file: Path) -> Database:
    """The ledger's content, in a file; its own database is empty, without tables."""
    assert isinstance(back_up(url, file), Copied)
    with ledger._database.engine.begin() as connection:
        metadata.drop_all(connection)
        connection.execute(text("DROP TABLE alembic_version"))
    ledger.close()
    return Database(f"sqlite:///{file}")


def test_several_may_migrate_at_once(ledger_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(migrate, [ledger_url] * 4)) == [None] * 4
    open_ledger(ledger_url).close()


def test_the_migrated_schema_is_the_one_that_the_code_uses(ledger: Ledger) -> None:
    with ledger._database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_the_newest_migration_is_the_one_that_is_asked_for() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(app.ledger.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_current_head() == REVISION


def test_sqlite_is_set_up_to_lose_nothing(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    with database.reading() as connection:
        told = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    database.close()
    assert told == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 2500}


@pytest.mark.parametrize(
    "url", ["sqlite:////nowhere/at/all/ledger.db", "postgresql://nobody@127.0.0.1:1/nothing?connect_timeout=1"]
)
def test_a_database_that_is_not_there_is_named_as_such(url: str) -> None:
    with pytest.raises(LedgerUnreachable):
        open_ledger(url)
    with pytest.raises(LedgerUnreachable):
        migrate(url)


def test_an_open_ledger_answers_a_ping_and_a_lost_one_does_not(ledger: Ledger, tmp_path: Path) -> None:
    ledger.ping()
    lost = Ledger(Database("postgresql://nobody@127.0.0.1:1/nothing"))
    with pytest.raises(LedgerUnreachable):
        lost.ping()


def test_opening_the_room_and_a_ledger_loads_no_migrations(ledger_url: str) -> None:
    migrate(ledger_url)
    look = (
        "import sys, app.ledger; early = {'sqlalchemy', 'alembic', 'pydantic'} & set(sys.modules); "
        "app.ledger.open_ledger(sys.argv[1]); print(early, 'alembic' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", look, ledger_url], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set() False"


def test_an_issue_s_open_run_is_found_by_its_index_however_many_runs_there_were(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    migrate(url)
    database = Database(url)
    with closing(database), database.reading() as connection:
        look = f"EXPLAIN QUERY PLAN SELECT id FROM runs WHERE {OPEN} AND repository_id = 5 AND issue_number = 7"
        told = " ".join(str(row) for row in connection.execute(text(look)))
    assert "one_open_run (repository_id=? AND issue_number=?)" in told
