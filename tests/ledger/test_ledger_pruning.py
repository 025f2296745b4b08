"""What goes by its age: full outputs and bodies that nothing needs any more. Facts stay; no reference hangs loose."""

import json
from datetime import UTC, datetime, timedelta

from sqlalchemy import update

from app.core import facts as f
from app.core.budget import Spent
from app.core.news import Ignored
from app.ledger.copying import Copied, checked
from app.ledger.schema import artifacts
from app.ledger.store import Ledger
from tests.fakes.deliveries import Told, a_delivery
from tests.fakes.facts import START, a_request, sha

LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)


def age(ledger: Ledger, *shas: str) -> None:
    """These were kept long ago; without names all were."""
    old = update(artifacts).values(kept_since=LONG_AGO)
    ledger._database.writing(lambda c: c.execute(old.where(artifacts.c.sha256.in_(shas)) if shas else old))


def carried_out(ledger: Ledger, run: str, number: int) -> dict[str, str]:
    """A run whose report names an output, which it kept; their references."""
    told = Told(ledger, a_request(run=run, number=number))
    claim = told.approved()
    output = ledger.put_artifact(f"what {run} printed".encode(), "text/plain")
    report = ledger.put_artifact(json.dumps({"runs": [{"output_ref": output}]}).encode(), "application/json")
    patch = ledger.put_artifact(f"what {run} changed".encode(), "text/plain")
    done = f.StepsDone(
        at=told.tick(), plan_digest=sha("plan 1"), patch_ref=patch, report_ref=report, spent=Spent()
    )
    told.settle(claim, done)
    return {"output": output, "report": report, "patch": patch}


def over(ledger: Ledger, run: str, at: datetime) -> None:
    ledger.record(run, f.RepositoryEnded(at=at, how="The repository was deleted."))


def test_the_outputs_of_runs_that_are_over_go_and_of_those_that_go_on_all_stay(ledger: Ledger) -> None:
    ended, open_ = carried_out(ledger, "r-000001", 1), carried_out(ledger, "r-000002", 2)
    nobodys = ledger.put_artifact(b"of nobody", "text/plain")
    over(ledger, "r-000001", START + timedelta(hours=2))
    cut = START + timedelta(days=90)
    assert ledger.prunable(cut).artifacts == ()
    age(ledger)
    found = ledger.prunable(cut)
    assert set(found.artifacts) == {*ended.values(), nobodys}
    assert found.artifact_bytes > 0
    view = ledger.run("r-000001")
    assert ledger.prune(cut) == found
    assert [ledger.artifact(sha) for sha in (*ended.values(), nobodys)] == [None] * 4
    assert all(ledger.is_dropped(sha) for sha in ended.values()) and not ledger.is_dropped("0" * 64)
    assert all(ledger.artifact(sha) for sha in open_.values())
    assert ledger.run("r-000001") == view
    with ledger._database.reading() as connection:
        copied = checked(connection)
    assert isinstance(copied, Copied) and (copied.runs, copied.artifacts) == (2, 3)
    assert ledger.prunable(cut).artifacts == ()


def test_a_run_that_was_told_something_since_keeps_what_it_leads_to(ledger: Ledger) -> None:
    kept = carried_out(ledger, "r-000001", 1)
    end = START + timedelta(days=100)
    over(ledger, "r-000001", end)
    age(ledger)
    assert ledger.prunable(end).artifacts == ()
    assert set(ledger.prunable(end + timedelta(seconds=1)).artifacts) == set(kept.values())


def test_what_is_kept_once_more_is_young_again_and_comes_back_where_it_had_gone(ledger: Ledger) -> None:
    sha_ = ledger.put_artifact(b"the same output", "text/plain")
    age(ledger)
    assert ledger.put_artifact(b"the same output", "text/plain") == sha_
    assert ledger.prune(datetime.now(UTC) - timedelta(days=1)).artifacts == ()
    assert ledger.prune(datetime.now(UTC) + timedelta(days=1)).artifacts == (sha_,)
    assert ledger.artifact(sha_) is None
    ledger.put_artifact(b"the same output", "text/plain")
    assert ledger.artifact(sha_) == b"the same output" and not ledger.is_dropped(sha_)


def test_the_bodies_of_old_deliveries_go_and_their_guids_are_still_known(ledger: Ledger) -> None:
    for number, at in enumerate((START, START + timedelta(days=5))):
        ledger.receive(a_delivery(f"g-{number}", b"a body", at), Ignored("nothing"))
    cut = START + timedelta(days=1)
    assert ledger.prunable(cut).deliveries == ("g-0",)
    assert ledger.delivery_body("g-0") == b"a body"
    ledger.prune(cut)
    assert (ledger.delivery_body("g-0"), ledger.delivery_body("g-1")) == (None, b"a body")
    view = ledger.delivery("g-0")
    assert view is not None and (view.size, view.outcome) == (6, "ignored: nothing")
    assert not ledger.receive(a_delivery("g-0", b"a body"), Ignored("nothing")).new
    assert ledger.prunable(cut).deliveries == ()


def test_nothing_is_dropped_by_asking_what_would_go(ledger: Ledger) -> None:
    kept = carried_out(ledger, "r-000001", 1)
    over(ledger, "r-000001", START + timedelta(hours=2))
    age(ledger)
    for _ in range(2):
        assert set(ledger.prunable(START + timedelta(days=90)).artifacts) == set(kept.values())
