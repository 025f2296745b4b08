"""A PostgreSQL server that stands still, or is behind a network that died: nobody waits for it without end.

The kernel of one that was stopped goes on acknowledging what is sent to it, so no keepalive tells of it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
from sqlalchemy import event, text

from app.ledger import migrate
from app.ledger.engine import Database
from app.ledger.errors import LedgerUnreachable
from app.ledger.patience import OF_THE_LINE, SILENT_SECONDS
from app.ledger.store import Ledger
from tests.fakes import services
from tests.fakes.deliveries import a_delivery, on_issue
from tests.fakes.facts import a_request, labelled

LABEL = on_issue(labelled(a_request()), a_request())


@pytest.fixture
def url(own_postgres: services.Started) -> Iterator[str]:
    with services.fresh_database(own_postgres) as url:
        migrate(url)
        yield url


@pytest.fixture
def hasty(url: str) -> Iterator[Ledger]:
    """The ledger, by a process that waits for no answer longer than a moment."""
    with closing(Ledger(Database(url, answer_seconds=0.5))) as ledger:
        ledger.ping()
        yield ledger


@contextmanager
def stopped_before(server: services.Started, ledger: Ledger, statement: str) -> Iterator[None]:
    """The server stands still from the next statement on that begins so, until the block ends."""
    with ExitStack() as stopped:

        def stop(_conn: Any, _cursor: Any, sql: str, *_: Any) -> None:
            if sql.startswith(statement):
                stopped.enter_context(services.paused(server))

        event.listen(ledger._database.engine, "before_cursor_execute", stop)
        yield
        event.remove(ledger._database.engine, "before_cursor_execute", stop)


def test_a_server_that_stands_still_is_given_up_by_who_reads_and_who_writes_and_is_asked_again_when_it_goes_on(
    own_postgres: services.Started, hasty: Ledger
) -> None:
    silent = pytest.raises(LedgerUnreachable, match="took more than")
    with stopped_before(own_postgres, hasty, "INSERT INTO deliveries"), silent:
        hasty.receive(a_delivery("g-1"), LABEL)
    # It was not begun again: that would be a second wait of the same length.
    assert hasty.tried_again == {}
    with stopped_before(own_postgres, hasty, "SELECT runs.id"), silent:
        hasty.any_open()
    assert hasty.deliveries() == ()
    assert hasty.receive(a_delivery("g-1"), LABEL).new and not hasty.receive(a_delivery("g-1"), LABEL).new


def test_what_commits_after_it_was_given_up_is_found_recorded_by_who_asks_again(
    own_postgres: services.Started, hasty: Ledger
) -> None:
    with ExitStack() as stopped:
        event.listen(
            hasty._database.engine, "commit", lambda _: stopped.enter_context(services.paused(own_postgres)), once=True
        )
        with pytest.raises(LedgerUnreachable, match="does not answer"):
            hasty.receive(a_delivery("g-1"), LABEL)
    assert not hasty.receive(a_delivery("g-1"), LABEL).new
    assert len(hasty.runs()) == len(hasty.deliveries()) == len(hasty.debts()) == 1


def test_line_and_server_both_look_for_signs_of_life_and_the_url_may_say_otherwise(url: str) -> None:
    with closing(Database(f"{url}?keepalives_idle=77")) as database, database.reading() as connection:
        told = connection.connection.dbapi_connection.info.get_parameters()  # type: ignore[union-attr]
        expected = {name: str(value) for name, value in OF_THE_LINE.items()} | {"keepalives_idle": "77"}
        assert {name: told.get(name) for name in expected} == expected
        found = {
            name: int(connection.scalar(text(f"SELECT setting FROM pg_settings WHERE name = 'tcp_keepalives_{name}'")))
            for name in ("idle", "interval", "count")
        }
    assert found["idle"] + found["interval"] * found["count"] == SILENT_SECONDS
