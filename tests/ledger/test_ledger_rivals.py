"""Several processes at once: one run, one holder, one settled result. Each rival has connections of its own."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest
from sqlalchemy import Connection, select

from app.core import facts as f
from app.core.belts import Belt
from app.core.effects import LookUpAuthority
from app.core.news import News, OnInstallation
from app.core.verb import Verb
from app.core.verdict import Refused
from app.ledger import migrate, open_ledger
from app.ledger.folding import locked, taken
from app.ledger.outcomes import Claim, Received, Recorded
from app.ledger.schema import runs
from app.ledger.store import Ledger
from tests.fakes.deliveries import LEASE, Told, a_delivery, on_issue
from tests.fakes.facts import MIRA, OTTO, START, a_request, found, labelled, sha

RIVALS = 6
AtOnce = Callable[[Callable[[int, Ledger], Any]], list[Any]]


@pytest.fixture
def at_once(ledger: Ledger, ledger_url: str) -> Iterator[AtOnce]:
    """Lets every rival do the same at the same moment."""
    with ExitStack() as stack, ThreadPoolExecutor(RIVALS) as pool:
        ledgers = [stack.enter_context(closing(open_ledger(ledger_url))) for _ in range(RIVALS)]

        def run(work: Callable[[int, Ledger], Any]) -> list[Any]:
            start = Barrier(RIVALS)

            def one(number: int) -> Any:
                start.wait(10)
                return work(number, ledgers[number])

            return list(pool.map(one, range(RIVALS)))

        yield run


def test_one_label_in_many_deliveries_at_once_opens_one_run(ledger: Ledger, at_once: AtOnce) -> None:
    for turn in range(4):

        def label(number: int, mine: Ledger, turn: int = turn) -> Received:
            request = a_request(run=f"r-{turn}{number:05}", number=turn + 1)
            return mine.receive(a_delivery(f"g-{turn}-{number}"), on_issue(labelled(request), request))

        received = at_once(label)
        assert all(one.new for one in received)
        assert len({one.runs for one in received}) == 1
        assert sum(one.outcome.startswith("opened") for one in received) == 1
    assert len(ledger.runs()) == 4


def test_one_delivery_many_times_at_once_is_new_once(ledger: Ledger, at_once: AtOnce) -> None:
    request = a_request()
    received = at_once(lambda _, mine: mine.receive(a_delivery("g-1"), on_issue(labelled(request), request)))
    assert sorted(one.new for one in received) == [False] * (RIVALS - 1) + [True]
    view = ledger.run(request.run)
    assert view is not None and len(view.facts) == 1


def test_many_claims_of_one_effect_at_once_have_one_winner(told: Told, at_once: AtOnce) -> None:
    [ring] = told.labelled().rings
    for turn in range(1, 4):
        now = told.now + turn * LEASE

        def claim(_: int, mine: Ledger, now: datetime = now) -> Claim | Refused:
            return mine.claim(ring.effect_id, Belt.PUBLISHER, now, LEASE)

        claims = at_once(claim)
        [winner] = [claim for claim in claims if isinstance(claim, Claim)]
        assert (winner.fence, winner.attempts) == (turn, turn)


def test_one_claim_settled_many_times_at_once_is_settled_once(told: Told, at_once: AtOnce) -> None:
    told.labelled()
    claim = told.claim(LookUpAuthority)
    assert isinstance(claim.effect, LookUpAuthority)
    fact = found(claim.effect, told.tick())
    settled = at_once(lambda _, mine: mine.settle(claim, [fact], "done", told.now))
    assert sum(isinstance(one, Recorded) for one in settled) == 1
    view = told.ledger.run(told.request.run)
    assert view is not None and len(view.facts) == 2


def test_facts_that_come_at_once_stand_one_after_another(told: Told, at_once: AtOnce) -> None:
    told.proposed()
    before = told.ledger.run(told.request.run)

    def write(number: int, mine: Ledger) -> Received:
        who = (MIRA, OTTO)[number % 2]
        fact = f.CommandGiven(
            at=START, verb=Verb.APPROVE, comment_id=number, comment_digest=sha("/approve"), person=who
        )
        return mine.receive(a_delivery(f"g-{number}"), on_issue(fact, told.request))

    received = at_once(write)
    assert all(len(one.rings) == 2 for one in received)
    after = told.ledger.run(told.request.run)
    assert before is not None and after is not None
    assert [told.seq for told in after.facts] == list(range(1, len(before.facts) + RIVALS + 1))


def test_the_end_of_an_installation_and_news_of_its_runs_do_not_lock_up(ledger: Ledger, at_once: AtOnce) -> None:
    requests = [a_request(run=f"r-{number:06}", number=number) for number in range(1, 9)]
    for request in requests:
        Told(ledger, request).labelled()

    def write(number: int, mine: Ledger) -> Received:
        if number % 2:
            gone = f.RepositoryEnded(at=START, how="The installation was removed.")
            return mine.receive(a_delivery(f"g-{number}"), News(OnInstallation(requests[0].installation_id), gone))
        fact = f.LabelledAgain(at=START, person=MIRA)
        return mine.receive(a_delivery(f"g-{number}"), on_issue(fact, requests[-number]))

    assert all(one.new for one in at_once(write))
    assert not any(run.open for run in ledger.runs())


def test_the_key_of_the_markers_is_one_for_all(at_once: AtOnce) -> None:
    assert len(set(at_once(lambda _, mine: mine.marker_key()))) == 1


def test_a_label_that_waited_while_the_run_ended_opens_another(told: Told, ledger_url: str) -> None:
    told.labelled()
    holds, waits = Event(), Event()
    ending = f.LabelRemoved(at=told.tick(), person=MIRA)

    def end_slowly(connection: Connection) -> None:
        living = locked(connection, told.request.run)
        assert living is not None
        holds.set()
        # The rival is on its way to the lock; a moment more lets it arrive.
        waits.wait(5)
        time.sleep(0.2)
        assert taken(told.ledger._database, connection, living, ending) is None

    def label() -> Received:
        with closing(open_ledger(ledger_url)) as beside:
            holds.wait(5)
            waits.set()
            second = told.request.model_copy(update={"run": "r-000002"})
            return beside.receive(a_delivery("g-2"), on_issue(labelled(second), second))

    with ThreadPoolExecutor(1) as pool:
        labelling = pool.submit(label)
        told.ledger._database.writing(end_slowly)
        assert labelling.result(10).outcome == "opened run r-000002"


def test_whoever_writes_to_sqlite_holds_the_write_lock_from_the_beginning(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    migrate(url)
    with closing(open_ledger(url)) as ledger:

        def look_before_writing(connection: Connection) -> None:
            connection.execute(select(runs.c.id))
            with closing(sqlite3.connect(tmp_path / "ledger.db", timeout=0)) as rival:
                with pytest.raises(sqlite3.OperationalError, match="locked"):
                    rival.execute("BEGIN IMMEDIATE")
                rival.execute("SELECT id FROM runs")

        ledger._database.writing(look_before_writing)
