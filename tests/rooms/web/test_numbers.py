"""What Prometheus is told: of all processes through the ledger, to who may read it, with few labels."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import event

from app.core.belts import Belt
from app.core.span import Minted, Span, SpanKind
from app.settings import web_settings
from app.web.numbers import MOST_LABELS, Numbers
from tests.fakes.deliveries import Told
from tests.rooms.web.conftest import Door, running

TOKEN = "a token for who watches"


def span(kind, name="a", **more):
    values = {"run": "r-1", "belt": Belt.PLANNER, "kind": kind, "name": name, "outcome": "ok", "seconds": 1.0}
    return Span(**values | {"began_at": datetime.now(UTC)} | more)


def values(text):
    found = {}
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            found[one.name, *sorted(one.labels.items())] = one.value
    return found


def numbers_of(ledger):
    return Numbers(ledger, {}, lambda: {"planner": 3})


def test_what_belts_did_is_summed_by_belt_model_and_template_and_each_span_counts_once(door_on_both: Door):
    ledger = door_on_both.ledger
    ledger.add_spans([span(SpanKind.MODEL, model="old", usd=Decimal(9))])
    numbers = numbers_of(ledger)
    spent = {"input_tokens": 100, "output_tokens": 7, "cached_tokens": 50, "usd": Decimal("0.25")}
    model = {"model": "model-5", "template": "bugfix@1.0.0"}
    ledger.add_spans([span(SpanKind.MODEL, **model, **spent), span(SpanKind.MODEL, **model, **spent)])
    numbers.told()
    ledger.add_spans([
        span(SpanKind.MODEL, belt=Belt.EXECUTOR, **model, **spent), span(SpanKind.CHECK, outcome="failed"),
        span(SpanKind.EFFECT, "draft_plan", requests=12, remaining=4_900, memory_bytes=10**8),
    ])  # fmt: skip
    numbers.told()
    told = values(numbers.told())
    planner = (("belt", "planner"), ("model", "model-5"), ("template", "bugfix@1.0.0"))
    assert told["countersign_model_calls_total", *planner] == 2
    assert told["countersign_model_usd_total", *planner] == 0.5
    assert told["countersign_model_input_tokens_total", *planner] == 200
    assert told["countersign_model_cached_tokens_total", *planner] == 100
    assert told["countersign_model_output_tokens_total", ("belt", "executor"), *planner[1:]] == 7
    assert told["countersign_box_runs_total", ("belt", "planner"), ("outcome", "failed")] == 1
    assert told["countersign_github_requests_total", ("belt", "planner")] == 12
    assert told["countersign_github_remaining", ("belt", "planner")] == 4_900
    assert told["countersign_belt_memory_bytes", ("belt", "planner")] == 10**8
    assert told["countersign_bells_waiting", ("belt", "planner")] == 3
    assert not any("old" in str(key) for key in told)


def test_what_is_owed_held_and_alive_is_told_with_the_age_of_the_oldest(door_on_both: Door):
    ledger = door_on_both.ledger
    story = Told(ledger)
    story.now = datetime.now(UTC) - timedelta(hours=2)
    story.labelled()
    look = {"belt": "publisher", "kind": "look_up_authority"}
    told = values(numbers_of(ledger).told())
    assert told["countersign_owed_effects", *sorted(look.items())] == 1
    assert 7_000 < told["countersign_owed_oldest_seconds", *sorted(look.items())] < 7_300
    (debt,) = ledger.debts()
    ledger.claim(debt.effect_id, Belt.PUBLISHER, datetime.now(UTC), timedelta(minutes=5))
    now = datetime.now(UTC)
    for name, ended in (("m-1", None), ("m-2", now)):
        until = now + timedelta(hours=1)
        about = {"run": "r-1", "effect_id": 1, "belt": Belt.PLANNER, "purpose": "p", "repository_id": 1}
        cut = {"permissions": {}, "token_sha256": "ab", "minted_at": now, "expires_at": until, "revoked_at": ended}
        ledger.record_mint(Minted(id=name, **about, **cut))
    told = values(numbers_of(ledger).told())
    assert told["countersign_leases", ("belt", "publisher")] == 1
    assert told["countersign_owed_attempts", *sorted(look.items())] == 1
    assert told["countersign_tokens_cut_total",] == 2 and told["countersign_tokens_alive",] == 1


def test_labels_are_bounded_whatever_models_are_called(door: Door):
    numbers = numbers_of(door.ledger)
    door.ledger.add_spans([span(SpanKind.MODEL, model=f"model-{n}") for n in range(MOST_LABELS + 30)])
    told = [key for key in values(numbers.told()) if key[0] == "countersign_model_calls_total"]
    assert len(told) == MOST_LABELS + 1
    assert ("belt", "other") in {pair for key in told for pair in key[1:]}


@pytest.mark.parametrize("where", ["of.example.com", "127.0.0.1"])
def test_the_numbers_are_told_here_and_to_who_knows_the_token(env, where):
    with running(web_settings(env)) as door:
        answer = door.client.get(f"{door.url}/metrics", headers={"host": where})
        assert answer.status_code == (200 if where == "127.0.0.1" else 403)
    with running(web_settings(env | {"COUNTERSIGN_METRICS_TOKEN": TOKEN})) as door:
        ask = {"host": where, "x-forwarded-for": "192.0.2.1"}
        assert door.client.get(f"{door.url}/metrics", headers=ask).status_code == 403
        for wrong in ("Bearer another", f"Basic {TOKEN}", TOKEN):
            given = door.client.get(f"{door.url}/metrics", headers=ask | {"authorization": wrong})
            assert given.status_code in (401, 403) and "countersign_" not in given.text
        right = door.client.get(f"{door.url}/metrics", headers=ask | {"authorization": f"Bearer {TOKEN}"})
        assert right.status_code == 200 and TOKEN not in right.text


def test_no_question_reads_a_table_through(door: Door):
    """What is open is found by a partial index; of what has ended, entries of an index are counted."""
    database = door.ledger._database
    asked = []
    event.listen(database.engine, "before_cursor_execute", lambda *told: asked.append((told[2], told[3])))
    door.ledger.standing(datetime.now(UTC))
    door.ledger.spans_after(7)
    door.ledger.newest_span()
    questions = [one for one in asked if one[0].startswith("SELECT")]
    assert len(questions) >= 8
    with database.engine.connect() as connection:
        for question, parameters in questions:
            for *_, step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {question}", parameters).all():
                assert "SCAN" not in step or "INDEX" in step, (question, step)
