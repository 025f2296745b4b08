"""A database that is locked, full, read-only, restarted or in conflict: nothing half stored, and true words."""

import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, event, select, text

from app.core.news import Ignored
from app.ledger import migrate, open_ledger
from app.ledger.engine import TRIES, Database
from app.ledger.errors import LedgerCorrupt, LedgerUnreachable
from app.ledger.schema import deliveries
from app.ledger.store import Ledger
from tests.fakes.deliveries import a_delivery, on_issue
from tests.fakes.facts import START, a_request, labelled

LABEL = on_issue(labelled(a_request()), a_request())


@pytest.fixture
def postgres(postgres_url: str) -> Iterator[Ledger]:
    migrate(postgres_url)
    with closing(open_ledger(postgres_url)) as ledger:
        yield ledger


@pytest.fixture
def admin(postgres_url: str) -> Iterator[Callable[[str], Any]]:
    """Somebody else's connection to the same server."""
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        yield lambda sql: connection.execute(sql.encode()).rowcount


ENDS_ALL = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE pid <> pg_backend_pid() AND datname = current_database()"
)


def once_before(ledger: Ledger, statement: str, what: Callable[[], object]) -> list[int]:
    """Does it once, right before the next statement that begins so; a list that counts how often one was seen."""
    seen: list[int] = []

    def before(_conn: Any, _cursor: Any, sql: str, *_: Any) -> None:
        if sql.startswith(statement):
            seen.append(1)
            if len(seen) == 1:
                what()

    event.listen(ledger._database.engine, "before_cursor_execute", before)
    return seen


def test_a_connection_that_is_lost_in_mid_transaction_is_made_anew_and_the_delivery_taken_once(
    postgres: Ledger, admin: Callable[[str], Any]
) -> None:
    seen = once_before(postgres, "INSERT INTO runs", lambda: admin(ENDS_ALL))
    assert postgres.receive(a_delivery("g-1"), LABEL).new
    assert (len(seen), dict(postgres.tried_again)) == (2, {"a lost connection": 1})
    assert len(postgres.deliveries()) == len(postgres.runs()) == 1
    # Those that lay in the pool are found out before they are used.
    admin(ENDS_ALL)
    assert postgres.receive(a_delivery("g-2"), Ignored("")).new


def test_a_connection_that_is_lost_in_the_commit_is_not_tried_again_and_who_asks_again_learns_what_came_of_it(
    postgres: Ledger, admin: Callable[[str], Any]
) -> None:
    event.listen(postgres._database.engine, "commit", lambda _: admin(ENDS_ALL), once=True)
    with pytest.raises(LedgerUnreachable):
        postgres.receive(a_delivery("g-1"), LABEL)
    assert postgres.tried_again == {}
    assert postgres.receive(a_delivery("g-1"), LABEL).new
    assert not postgres.receive(a_delivery("g-1"), LABEL).new
    assert len(postgres.runs()) == 1


def test_a_server_that_stays_away_is_tried_a_few_times_and_then_named(
    postgres: Ledger, admin: Callable[[str], Any]
) -> None:
    tries = []

    def always(_conn: Any, _cursor: Any, sql: str, *_: Any) -> None:
        if sql.startswith("INSERT INTO deliveries"):
            tries.append(admin(ENDS_ALL))

    event.listen(postgres._database.engine, "before_cursor_execute", always)
    with pytest.raises(LedgerUnreachable, match="does not answer"):
        postgres.receive(a_delivery("g-1"), LABEL)
    assert len(tries) == TRIES
    event.remove(postgres._database.engine, "before_cursor_execute", always)
    assert postgres.deliveries() == ()


@pytest.mark.parametrize(
    ("state", "reason"),
    [("40001", "a serialisation conflict"), ("40P01", "a deadlock"), ("55P03", "a lock that was not had")],
)
def test_what_the_server_asks_for_again_is_done_again_from_its_beginning(
    postgres: Ledger, state: str, reason: str
) -> None:
    def conflict(connection: Connection) -> list[str]:
        connection.execute(text("INSERT INTO keys VALUES ('a', 'b')"))
        if postgres.tried_again[reason] < 2:
            connection.execute(text(f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{state}'; END $$"))
        return list(connection.scalars(text("SELECT name FROM keys")))

    assert postgres._database.writing(conflict) == ["a"]
    assert dict(postgres.tried_again) == {reason: 2}


def test_a_server_that_only_follows_takes_nothing_and_is_not_asked_over_the_same_connections_again(
    postgres: Ledger, admin: Callable[[str], Any]
) -> None:
    name = admin("SELECT 1") and postgres._database.engine.url.database
    postgres.ping()
    admin(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    with postgres._database.engine.connect() as connection:
        connection.execute(text("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"))
        connection.commit()
    with pytest.raises(LedgerUnreachable, match="read-only"):
        postgres.receive(a_delivery("g-1"), LABEL)
    # A new connection would be to a server that can be written to, and there is none.
    with pytest.raises(LedgerUnreachable, match="read-only"):
        postgres.prove(START)
    admin(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
    postgres.prove(START)
    assert postgres.receive(a_delivery("g-1"), LABEL).new


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    migrate(url)
    return url


def damaged(url: str, *pragmas: str) -> Ledger:
    """The ledger over connections on which this was said first."""
    ledger = Ledger(Database(url, lock_seconds=0.05))

    def say(connection: Any, _record: Any) -> None:
        for pragma in pragmas:
            connection.execute(pragma)

    event.listen(ledger._database.engine, "connect", say)
    return ledger


@pytest.mark.parametrize(
    ("pragma", "words"), [("PRAGMA query_only = ON", "readonly"), ("PRAGMA max_page_count = 1", "full")]
)
def test_a_file_that_is_full_or_read_only_takes_all_of_a_delivery_or_nothing(
    sqlite_url: str, pragma: str, words: str
) -> None:
    large = a_delivery("g-1", random.Random(1).randbytes(1_000_000))
    with closing(damaged(sqlite_url, pragma)) as ledger:
        with pytest.raises(LedgerUnreachable, match=words):
            ledger.receive(large, LABEL)
        assert ledger.deliveries() == ledger.runs() == ledger.debts() == ()
        if words == "readonly":
            with pytest.raises(LedgerUnreachable, match=words):
                ledger.prove(START)
    with closing(open_ledger(sqlite_url)) as ledger:
        assert ledger.receive(large, LABEL).new and len(ledger.runs()) == 1


def test_a_lock_that_is_held_for_a_moment_is_waited_for_and_one_that_is_held_for_long_is_named(
    sqlite_url: str, tmp_path: Path
) -> None:
    with closing(damaged(sqlite_url)) as ledger, closing(sqlite3.connect(tmp_path / "ledger.db")) as rival:
        rival.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnreachable, match="locked"):
            ledger.receive(a_delivery("g-1"), LABEL)
        assert dict(ledger.tried_again) == {"a locked database": TRIES - 1}
        assert ledger.deliveries() == ()
    patient = Ledger(Database(sqlite_url, lock_seconds=10))
    rival = sqlite3.connect(tmp_path / "ledger.db", check_same_thread=False)
    rival.execute("BEGIN IMMEDIATE")
    with closing(patient), closing(rival):
        let_go = threading.Timer(0.2, rival.rollback)
        let_go.start()
        assert patient.receive(a_delivery("g-1"), LABEL).new
        let_go.join()


def test_a_damaged_file_is_said_to_be_one(sqlite_url: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as held:
        held.execute("PRAGMA journal_mode = DELETE")
    with (tmp_path / "ledger.db").open("r+b") as file:
        file.seek(0)
        file.write(b"not a database, whatever it was")
    with pytest.raises(LedgerCorrupt, match="damaged"):
        open_ledger(sqlite_url)


def test_what_a_transaction_that_failed_had_written_is_not_there(ledger: Ledger) -> None:
    def fail(connection: Connection) -> None:
        connection.execute(
            deliveries.insert().values(
                guid="g", event="e", action="a", received_at=START, outcome="", size=0, body=b"x"
            )
        )
        raise ValueError("in the middle")

    with pytest.raises(ValueError, match="in the middle"):
        ledger._database.writing(fail)
    with ledger._database.reading() as connection:
        assert connection.scalar(select(deliveries.c.guid)) is None
