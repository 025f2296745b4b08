"""What is kept comes back as it was, on both databases: ids, texts, times, plans, artifacts, spans, mints."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from app.core import facts as f
from app.core.belts import Belt
from app.core.digest import canonical, digest
from app.core.news import Ignored
from app.core.plan import ChangeFile, Check, Evidence, ModelPins, Plan, PlanBudget, TemplatePin
from app.core.span import Minted, Span, SpanKind
from app.ledger.errors import LedgerCorrupt
from app.ledger.outcomes import Sought
from app.ledger.store import Ledger
from tests.fakes.deliveries import Told, a_delivery
from tests.fakes.facts import MIRA, START, TEXTS, a_request, drafted, labelled, sha

INDIA = timezone(timedelta(hours=5, minutes=30))
NASTY = "a\x00b\ud800c\\u0041\\\\ \U0001f600 é"


def a_plan(run: str = "r-000001", version: int = 1, summary: str = "Round up") -> Plan:
    """A plan of one step."""
    return Plan(
        run=run,
        version=version,
        template=TemplatePin(name="bugfix", version="1.0.0"),
        models=ModelPins(planner="p", executor="e", reviewer="p"),
        repository_id=1,
        issue_number=7,
        issue_digest=TEXTS[0],
        base_branch="main",
        base_commit="c" * 40,
        summary=summary,
        hypothesis="The limit is compared before it is rounded.",
        evidence=(Evidence(path="a.py", start=1, end=2, shows="the comparison"),),
        steps=(ChangeFile(id=1, path="a.py", intent="round first", done_when="the test passes"),),
        checks=(Check(name="pytest", argv=("python", "-m", "pytest")),),
        budget=PlanBudget(usd="1.00", calls=10, minutes=5, files=2, lines=20),
    )


def test_ids_beyond_32_bits_come_back_exactly(ledger: Ledger) -> None:
    big = 2**53 - 1
    request = a_request(number=2_600_000_001, repository_id=big).model_copy(update={"installation_id": big - 1})
    told = Told(ledger, request)
    told.ids = 4_300_000_007
    comment = told.proposed()
    assert comment > 2**32
    [waiting] = ledger.waiting_proposals()
    assert (waiting.repository_id, waiting.installation_id, waiting.comment_id) == (big, big - 1, comment)
    [summary] = ledger.runs()
    assert (summary.repository_id, summary.issue_number) == (big, 2_600_000_001)
    assert ledger.runs(sought=Sought(within=frozenset({1, big}))) == (summary,)
    for others in ({1, big - 1}, set()):
        assert ledger.runs(sought=Sought(within=frozenset(others))) == ()
    assert ledger.open_run(big, 2_600_000_001) == request.run
    view = ledger.run(request.run)
    assert view is not None
    assert view.state.request == request


def test_nul_and_lone_surrogates_come_back_exactly(ledger: Ledger) -> None:
    request = a_request().model_copy(update={"issue_title": NASTY, "repository": NASTY})
    told = Told(ledger, request)
    told.labelled()
    told.deliver(f.CommandUnclear(at=told.tick(), written=NASTY, meant=NASTY, comment_id=1, person=MIRA))
    ledger.receive(a_delivery(NASTY), Ignored(NASTY))
    [summary] = ledger.runs()
    assert summary.issue_title == NASTY
    view = ledger.run(request.run)
    assert view is not None
    assert view.facts[-1].fact.written == NASTY  # type: ignore[union-attr]
    delivery = ledger.delivery(NASTY)
    assert delivery is not None
    assert (delivery.guid, delivery.outcome) == (NASTY, f"ignored: {NASTY}")
    [debt, *_] = ledger.debts()
    claim = ledger.claim(debt.effect_id, debt.belt, told.now, timedelta(seconds=1))
    ledger.postpone(claim, told.now, NASTY, told.now)  # type: ignore[arg-type]
    assert ledger.debts()[0].why.endswith(NASTY)


@given(told=st.text(st.characters(codec=None, categories=None), max_size=40))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_comes_back_exactly(ledger: Ledger, told: str) -> None:
    span = a_span(detail=told, run=told)
    ledger.add_spans([span])
    assert ledger.spans(told)[-1] == span


@pytest.mark.parametrize("at", [START, START.astimezone(INDIA), START.replace(microsecond=0)])
def test_times_come_back_equal_to_the_microsecond_and_in_utc(ledger: Ledger, at: datetime) -> None:
    ledger.receive(a_delivery("g-1", at=at), Ignored(""))
    view = ledger.delivery("g-1")
    assert view is not None
    assert view.received_at == at
    assert view.received_at.utcoffset() == timedelta(0)


def test_a_time_without_a_zone_is_not_taken(ledger: Ledger) -> None:
    with pytest.raises(Exception, match="without a zone"):
        ledger.receive(a_delivery("g-1", at=START.replace(tzinfo=None)), Ignored(""))
    assert ledger.delivery("g-1") is None


def test_a_plan_is_kept_byte_for_byte_and_found_by_digest_and_version(told: Told) -> None:
    told.allowed()
    plan = a_plan()
    assert told.ledger.put_plan(told.request.run, plan) == digest(plan)
    assert told.ledger.put_plan(told.request.run, plan) == digest(plan)
    assert told.ledger.plan_by_digest(digest(plan)) == plan
    assert told.ledger.plan(told.request.run, 1) == plan
    assert told.ledger.plan(told.request.run, 2) is None
    assert told.ledger.plan_by_digest(sha("none")) is None


def test_of_two_plans_with_one_version_the_recorded_one_counts(told: Told) -> None:
    told.allowed()
    run = told.request.run
    first, second = a_plan(summary="first try"), a_plan(summary="second try")
    told.ledger.put_plan(run, first)
    told.ledger.put_plan(run, second)
    assert told.ledger.plan(run, 1) == second
    told.ledger.record(run, drafted(1, told.tick(), digest=digest(first)))
    assert told.ledger.plan(run, 1) == first


def test_a_plan_that_was_changed_in_the_ledger_is_not_given_out(told: Told) -> None:
    told.allowed()
    kept = told.ledger.put_plan(told.request.run, a_plan())
    forged = canonical(a_plan(summary="something else"))
    _meddle(told.ledger, "UPDATE plans SET body = :body", body=forged)
    with pytest.raises(LedgerCorrupt, match=kept):
        told.ledger.plan_by_digest(kept)
    with pytest.raises(LedgerCorrupt):
        told.ledger.plan(told.request.run, 1)


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe" * 1000, "\U0001f600 text".encode(), bytes(300_000)])
def test_an_artifact_comes_back_untouched(ledger: Ledger, content: bytes) -> None:
    kept = ledger.put_artifact(content, "text/plain")
    assert ledger.put_artifact(content, "text/plain") == kept
    assert ledger.artifact(kept) == content
    assert ledger.counts()["artifacts"] == 1
    assert ledger.artifact(sha("none")) is None


@pytest.mark.parametrize("how", ["not zstd", "other content"])
def test_an_artifact_that_was_changed_in_the_ledger_is_not_given_out(ledger: Ledger, how: str) -> None:
    kept = ledger.put_artifact(b"one", "text/plain")
    other = ledger.put_artifact(b"two", "text/plain")
    if how == "not zstd":
        _meddle(ledger, "UPDATE artifacts SET body = :body", body=b"junk")
    else:
        swap = "UPDATE artifacts SET body = (SELECT body FROM artifacts WHERE sha256 = :other) WHERE sha256 = :kept"
        _meddle(ledger, swap, other=other, kept=kept)
    with pytest.raises(LedgerCorrupt, match=kept):
        ledger.artifact(kept)


def test_facts_that_do_not_follow_are_found(told: Told) -> None:
    told.proposed()
    _meddle(told.ledger, "DELETE FROM facts WHERE seq = 2")
    with pytest.raises(LedgerCorrupt, match=told.request.run):
        told.ledger.run(told.request.run)


def a_span(**changes: Any) -> Span:
    """A model call."""
    told: dict[str, Any] = {
        "run": "r-000001",
        "belt": Belt.PLANNER,
        "kind": SpanKind.MODEL,
        "name": "planner",
        "usd": Decimal("0.0123"),
        "outcome": "ok",
        "began_at": START,
        "seconds": 1.25,
    }
    return Span(**(told | changes))


def test_spans_come_back_in_the_order_in_which_they_began(ledger: Ledger) -> None:
    late, early = a_span(began_at=START + timedelta(microseconds=1)), a_span(step=2)
    ledger.add_spans([late, early, a_span(run="r-000002")])
    ledger.add_spans([])
    assert ledger.spans("r-000001") == (early, late)


def a_mint() -> Minted:
    """A token that is about to be cut."""
    return Minted(
        id="m-9",
        run="r-1",
        effect_id=1,
        belt=Belt.PLANNER,
        purpose="draft_plan",
        repository_id=7,
        permissions={"contents": "read"},
        token_sha256="",
        minted_at=START,
        expires_at=START + timedelta(hours=1),
    )


def test_a_token_is_live_until_it_is_revoked_or_over(ledger: Ledger) -> None:
    mint = Minted(
        id="m-1",
        run="r-000001",
        effect_id=5_000_000_000,
        belt=Belt.PUBLISHER,
        purpose="open_draft",
        repository_id=5_000_000_001,
        permissions={"contents": "write"},
        token_sha256=sha("token"),
        minted_at=START,
        expires_at=START + timedelta(hours=1),
    )
    refused = mint.model_copy(update={"id": "m-2", "refused": "no live approval", "token_sha256": ""})
    other = mint.model_copy(update={"id": "m-3", "run": "", "purpose": "watch", "effect_id": None})
    for told in (mint, mint, refused, other):
        ledger.record_mint(told)
    assert ledger.mints() == (mint, refused, other)
    assert ledger.mints("r-000001") == (mint, refused)
    assert ledger.live_mints(START) == (mint, other)
    assert ledger.live_mints(START + timedelta(hours=1)) == ()
    for later in (1, 2):
        ledger.mark_revoked("m-1", START + timedelta(seconds=later))
    assert ledger.mints()[0] == mint.model_copy(update={"revoked_at": START + timedelta(seconds=1)})
    assert ledger.live_mints(START) == (other,)


def test_the_key_of_the_markers_is_made_once(ledger: Ledger, ledger_url: str) -> None:
    from app.ledger import open_ledger

    beside = open_ledger(ledger_url)
    assert len(ledger.marker_key()) == 32
    assert ledger.marker_key() == beside.marker_key()
    assert len(set(ledger.marker_key())) > 8
    beside.close()


def test_the_counts_tell_what_there_is(told: Told) -> None:
    assert told.ledger.counts() == {
        "deliveries": 0, "facts": 0, "spans": 0, "mints": 0, "artifacts": 0,
        "owed.planner": 0, "owed.executor": 0, "owed.publisher": 0, "missed.deliveries": 0,
    }  # fmt: skip
    told.allowed()
    counts = told.ledger.counts()
    assert (counts["deliveries"], counts["facts"], counts["runs.wanted"]) == (1, 2, 1)
    assert (counts["owed.planner"], counts["owed.publisher"]) == (1, 1)


def test_deliveries_are_listed_newest_first(ledger: Ledger) -> None:
    for second in range(5):
        at = datetime(2026, 3, 1, 9, 0, second, tzinfo=UTC)
        ledger.receive(a_delivery(f"g-{second}", at=at), Ignored("x"))
    assert [view.guid for view in ledger.deliveries(limit=3)] == ["g-4", "g-3", "g-2"]


def test_a_labelled_run_is_found_again_with_equal_facts(told: Told) -> None:
    told.approved()
    view = told.ledger.run(told.request.run)
    assert view is not None
    assert view.facts[0].fact == labelled(told.request, view.opened_at)
    assert view.updated_at == view.facts[-1].fact.at


def _meddle(ledger: Ledger, statement: str, **values: Any) -> None:
    with ledger._database.engine.begin() as connection:
        connection.execute(text(statement), values)


def test_a_token_that_is_begun_is_finished_or_forgotten(ledger: Ledger) -> None:
    begun = a_mint()
    other = begun.model_copy(update={"id": "m-10"})
    for each in (begun, other):
        ledger.record_mint(each)
    assert ledger.live_mints(START) == ()
    assert {one.id for one in ledger.unfinished_mints(START)} == {"m-9", "m-10"}
    assert ledger.unfinished_mints(START + timedelta(hours=1)) == ()
    there = begun.model_copy(update={"token_sha256": sha("token"), "expires_at": START + timedelta(minutes=50)})
    ledger.finish_mint(there)
    ledger.forget_mint("m-10")
    assert ledger.mints() == ledger.live_mints(START) == (there,)
    assert ledger.live_mints(START + timedelta(minutes=50)) == ()
    assert ledger.unfinished_mints(START) == ()
