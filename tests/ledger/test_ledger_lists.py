"""Lists of runs: by who is waited for, by state and repository, walked by index to their ends; and what changed."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import event

from app.core.belts import Belt
from app.core.effects import LookUpAuthority
from app.core.facts import IssueEnd, IssueEnded
from app.core.news import Delivery, News, OnIssue, Seen
from app.core.span import Span, SpanKind
from app.ledger import migrate
from app.ledger.engine import Database
from app.ledger.outcomes import Part, Sought
from app.ledger.store import Ledger
from tests.fakes.facts import MIRA, START, a_request, drafted, found, labelled

HERE, THERE = 71, 72


def a_run(ledger: Ledger, number: int, state: str = "wanted", repository: int = HERE) -> str:
    """A run of issue `number`, opened that many minutes after the first, brought to this state."""
    at = START + timedelta(minutes=number)
    request = a_request(f"r-{number:06}", number, repository)
    seen = Seen(repository, {HERE: "Acme/Widgets", THERE: "acme/gears"}[repository], 9)
    news = News(OnIssue(repository, number), labelled(request, at), seen)
    ledger.receive(Delivery(f"g-{number}", "issues", "labeled", at, b"{}"), news)
    view = ledger.run(request.run)
    assert view is not None
    look = view.effects[0].effect
    assert isinstance(look, LookUpAuthority)
    if state == "closed":
        ledger.record(request.run, IssueEnded(at=at, how=IssueEnd.CLOSED, person=MIRA))
    if state == "proposed":
        ledger.record(request.run, found(look, at))
        ledger.record(request.run, drafted(1, at))
    return request.run


def ids(ledger: Ledger, before: str | None = None, limit: int = 50, **sought: object) -> list[str]:
    return [one.id for one in ledger.runs(limit, before, Sought(**sought))]  # type: ignore[arg-type]


def test_runs_fall_into_those_that_wait_those_at_work_and_those_that_ended(ledger: Ledger) -> None:
    waits, works, over = a_run(ledger, 1, "proposed"), a_run(ledger, 2), a_run(ledger, 3, "closed")
    assert ids(ledger) == [over, works, waits]
    assert [ids(ledger, part=part) for part in Part] == [[waits], [works], [over]]
    assert ids(ledger, state="proposed") == [waits]


def test_a_repository_is_found_by_todays_name_in_any_letters_and_shows_its_own_runs(ledger: Ledger) -> None:
    here, there = a_run(ledger, 1), a_run(ledger, 2, repository=THERE)
    assert ledger.repository_named("ACME/widgets") == HERE and ledger.repository_named("acme/widget") is None
    assert (ids(ledger, repository=HERE), ids(ledger, repository=THERE)) == ([here], [there])
    assert ids(ledger, within=frozenset({THERE})) == [there] and ids(ledger, within=frozenset()) == []
    assert ids(ledger, repository=HERE, within=frozenset({THERE})) == []
    assert ledger.repository_names() == ("Acme/Widgets", "acme/gears")
    assert ledger.repository_names(frozenset({THERE})) == ("acme/gears",)


def test_a_list_goes_on_behind_the_last_run_that_was_seen(ledger: Ledger) -> None:
    every = [a_run(ledger, number) for number in range(1, 6)][::-1]
    walked: list[str] = []
    while some := ids(ledger, walked[-1] if walked else None, 2, part=Part.RUNNING):
        walked += some
    assert walked == every
    assert ids(ledger, "r-nobody") == []


def test_the_mark_of_a_run_changes_with_facts_spans_and_claims_and_says_when_it_is_over(ledger: Ledger) -> None:
    run = a_run(ledger, 1)
    marks = [ledger.marks([run])[run]]

    def changed() -> bool:
        marks.append(ledger.marks([run])[run])
        return marks[-1] != marks[-2]

    assert not changed()
    span = {"run": run, "belt": "planner", "kind": SpanKind.TOOL, "name": "search", "outcome": "ok"}
    ledger.add_spans([Span.model_validate(span | {"began_at": START, "seconds": 1})])
    assert changed()
    view = ledger.run(run)
    assert view is not None
    ledger.claim(view.effects[0].id, Belt.PUBLISHER, START, timedelta(minutes=5))
    assert changed()
    ledger.record(run, IssueEnded(at=START, how=IssueEnd.CLOSED, person=MIRA))
    assert changed() and [goes_on for _, goes_on in marks] == [True] * (len(marks) - 1) + [False]
    assert ledger.marks(["r-nobody"]) == {}


def test_the_mark_of_all_lists_changes_when_a_run_is_opened_told_something_or_over(ledger: Ledger) -> None:
    marks = [ledger.newest_change()]
    first = a_run(ledger, 1)
    marks.append(ledger.newest_change())
    a_run(ledger, 2)
    marks.append(ledger.newest_change())
    ledger.record(first, IssueEnded(at=START + timedelta(hours=1), how=IssueEnd.CLOSED, person=MIRA))
    marks.append(ledger.newest_change())
    assert len(set(marks)) == len(marks)


LISTS = {
    "all": (Sought(), "runs_by_age"),
    "those that wait": (Sought(part=Part.WAITING), "runs_open_by_age"),
    "those at work": (Sought(part=Part.RUNNING), "runs_open_by_age"),
    "those that ended": (Sought(part=Part.ENDED), "runs_by_state"),
    "of a state": (Sought(state="published"), "runs_by_state"),
    "of a repository": (Sought(repository=HERE), "runs_by_repository"),
    "of those that somebody may see": (Sought(within=frozenset({HERE, THERE})), "runs_by_age"),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("before", [None, "r-000003"])
def test_every_list_walks_its_index_and_puts_nothing_in_order(tmp_path: Path, name: str, before: str | None) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    migrate(url)
    database = Database(url)
    sought, index = LISTS[name]
    asked: list[tuple[str, object]] = []
    with closing(database):
        ledger = Ledger(database)
        a_run(ledger, 3)
        event.listen(database.engine, "before_cursor_execute", lambda *told: asked.append((told[2], told[3])))
        ledger.runs(20, before, sought)
        statement, values = asked[-1]
        with database.engine.connect() as connection:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()  # type: ignore[arg-type]
    told = " | ".join(str(row[3]) for row in plan)
    assert f"INDEX {index}" in told and "TEMP B-TREE" not in told, told
    assert before is None or "opened_at" in told, told


PLENTY = """
INSERT INTO runs (id, installation_id, repository_id, repository, issue_number, issue_title, opened_at, updated_at,
                  state, open, deadline)
SELECT 'r-x' || lpad(n::text, 6, '0'), 9, 71 + mod(n, 40), 'acme/widgets', n, 'A title', begun, begun, its,
       its <> 'closed', CASE WHEN its = 'proposed' THEN begun END
FROM (SELECT n, timestamptz '2026-01-01' + n * interval '1 minute' AS begun,
             CASE mod(n, 100) WHEN 1 THEN 'proposed' WHEN 2 THEN 'approved' WHEN 3 THEN 'needs_input'
                              WHEN 4 THEN 'published' ELSE 'closed' END AS its
      FROM generate_series(10, 20000) AS n) AS made
"""


def test_postgresql_walks_an_index_for_every_list_however_many_runs_there_are(postgres_url: str) -> None:
    """Twenty thousand runs of forty repositories, four in a hundred of them open: of nearly all runs it walks the index
    of all, of few their own."""
    migrate(postgres_url)
    database = Database(postgres_url)
    asked: list[tuple[str, object]] = []

    def plan(statement: str, values: object) -> str:
        with database.engine.connect() as connection:
            return "\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}", values).scalars())  # type: ignore[arg-type]

    with closing(database):
        ledger = Ledger(database)
        a_run(ledger, 3)
        with database.engine.begin() as connection:
            connection.exec_driver_sql(PLENTY)
            connection.exec_driver_sql("ANALYZE runs")
        event.listen(database.engine, "before_cursor_execute", lambda *told: asked.append((told[2], told[3])))
        for name, (sought, index) in LISTS.items():
            walked = "runs_by_age" if name == "those that ended" else index
            for before in (None, "r-x010000"):
                ledger.runs(20, before, sought)
                told = plan(*asked[-1])
                assert f"Index Scan Backward using {walked} on runs" in told and "Sort" not in told, (name, told)
        ledger.newest_change()
        for told in [plan(*one) for one in asked[-2:]]:
            assert "Seq Scan" not in told and "Sort" not in told, told
