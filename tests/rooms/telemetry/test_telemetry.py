"""Spans and measurements reach a collector over real HTTP, say the same whatever the belt, and hold nothing up."""

import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from app.core.belts import Belt
from app.core.budget import Spent
from app.core.span import Span, SpanKind, root_of, trace_of
from app.settings import SettingsWrong
from tests.fakes.collector import Collector
from worker.evidence.trace import Trace
from worker.model.words import Reply, Stopped
from worker.settings import Telemetry, telemetry_settings
from worker.telemetry.attributes import attributes_of
from worker.telemetry.export import AT_ONCE, Export
from worker.telemetry.measures import Measures

ROOT = Path(__file__).resolve().parents[3]
TOKEN = "ghs_" + "Zz9" * 14


@pytest.fixture
def collector(monkeypatch):
    made = Collector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", made.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=opened")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield made
    made.stop()


def done(belt, run="r-000001"):
    """The spans of an attempt at an effect that asked a model, used a tool within which a scout was asked, and ran a
    check."""
    trace = Trace(run, belt, 7, plan_version=2, plan_digest="d" * 64, step=3)
    spent = Spent(calls=1, input_tokens=100, output_tokens=20, cached_tokens=900, usd=Decimal("0.0123"))
    reply = Reply("", (), Stopped.END, "end_turn", spent, "model-5-1", "q", 1.5, 2)
    with trace.noting(SpanKind.EFFECT, "a_kind"):
        trace.replied("role", "model-5")(reply)
        with trace.noting(SpanKind.TOOL, "scout") as noted:
            noted.detail = f"it found {TOKEN}"
            trace.replied("scout", "small-5")(reply)
        with trace.noting(SpanKind.CHECK, "visit index.html"):
            pass
    return trace.taken()


def sent(collector, *spans, process="planner"):
    export = Export(process, Measures(process))
    export.add(spans)
    export.close()
    return collector.spans()


def test_a_trace_of_a_run_joins_the_spans_of_several_processes(collector):
    first = sent(collector, *done(Belt.PLANNER))
    both = sent(collector, *done(Belt.EXECUTOR), process="executor")
    assert len(first) == 5 and len(both) == 10
    assert {one["trace"] for one in both} == {trace_of("r-000001")}
    by_id = {one["id"]: one for one in both}
    tops = [one for one in both if one["parent"] == root_of("r-000001")]
    assert [one["name"] for one in tops] == ["invoke_agent planner", "invoke_agent executor"]
    scouts = [one for one in both if one["name"] == "chat small-5"]
    assert [by_id[one["parent"]]["name"] for one in scouts] == ["execute_tool scout"] * 2
    assert {one["process"]["countersign.process"] for one in both} == {"planner", "executor"}
    assert all(one["process"]["service.name"] == "countersign" for one in both)
    assert all(one["process"]["deployment.environment.name"] == "test" for one in both)
    assert all(headers["x-api-key"] == "opened" for _, headers, _ in collector.taken)
    assert TOKEN.encode() not in b"".join(body for *_, body in collector.taken)


def test_planner_and_executor_say_the_same_things_of_the_same_kinds():
    said = {
        belt: {(span.kind, span.name): set(attributes_of(span)) for span in done(belt)}
        for belt in (Belt.PLANNER, Belt.EXECUTOR)
    }
    assert said[Belt.PLANNER] == said[Belt.EXECUTOR]
    ours = {"run", "plan.version", "plan.digest", "step", "belt", "name", "outcome", "cost.usd", "attempts"}
    assert all({f"countersign.{name}" for name in ours} <= names for names in said[Belt.PLANNER].values())


def test_a_model_s_reply_is_told_by_the_names_of_the_genai_conventions(collector):
    (chat,) = [one for one in sent(collector, *done(Belt.EXECUTOR)) if one["name"] == "chat model-5"]
    told = chat["attributes"]
    assert chat["kind"] == 3 and chat["nanoseconds"] == 1_500_000_000 and not chat["failed"]
    assert told["gen_ai.operation.name"] == "chat" and told["gen_ai.provider.name"] == "anthropic"
    assert (told["gen_ai.request.model"], told["gen_ai.response.model"]) == ("model-5", "model-5-1")
    # The conventions count what was read from a cache among the input.
    assert told["gen_ai.usage.input_tokens"] == 1_000 and told["gen_ai.usage.cache_read.input_tokens"] == 900
    assert told["gen_ai.usage.output_tokens"] == 20 and told["gen_ai.response.finish_reasons"] == ["end_turn"]
    assert told["countersign.cost.usd"] == pytest.approx(0.0123) and told["countersign.step"] == 3
    tokens = collector.metrics()["gen_ai.client.token.usage"]
    assert sorted(point.sum for point in tokens) == [20, 20, 1_000, 1_000]
    assert {point.sum for point in collector.metrics()["gen_ai.client.operation.duration"]} == {1.5}


def test_the_run_itself_is_a_span_from_its_label_to_its_end(collector):
    export = Export("publisher")
    at = datetime(2026, 3, 1, tzinfo=UTC)
    export.add_run("r-000001", at, at.replace(hour=2), "merged")
    export.close()
    (run,) = collector.spans()
    assert (run["id"], run["parent"], run["nanoseconds"]) == (root_of("r-000001"), "", 7_200_000_000_000)
    assert run["attributes"]["countersign.outcome"] == "merged"


def test_what_a_silent_collector_does_not_take_is_dropped_and_counted_and_holds_nobody_up(collector):
    collector.hold.clear()
    export = Export("planner", most=AT_ONCE)
    spans = done(Belt.PLANNER) * 60
    began = time.monotonic()
    export.add(spans)
    assert export.dropped == 300 - AT_ONCE
    export.close(0.3)
    # The exporter's own patience is ten seconds and more.
    assert time.monotonic() - began < 5
    assert collector.spans() == []


def test_what_a_collector_refuses_is_counted(collector):
    collector.status = 400
    export = Export("planner")
    export.add(done(Belt.PLANNER))
    export.close()
    assert export.dropped == 5


def test_a_collector_is_asked_for_by_the_standard_s_own_settings():
    there = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
    assert telemetry_settings({}) is None
    assert telemetry_settings(there) == Telemetry()
    assert telemetry_settings(there | {"OTEL_METRICS_EXPORTER": "none"}) == Telemetry(metrics=False)
    assert telemetry_settings(there | {"OTEL_TRACES_EXPORTER": "none"}) is None
    assert telemetry_settings(there | {"OTEL_SDK_DISABLED": "true"}) is None
    with pytest.raises(SettingsWrong, match="OTEL_EXPORTER_OTLP_PROTOCOL"):
        telemetry_settings(there | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})


def test_nothing_of_opentelemetry_is_loaded_where_nobody_asked_for_it():
    script = (
        "import sys, worker.main, worker.tasks, worker.shop, worker.up\n"
        "from worker.settings import belt_settings\n"
        "settings = belt_settings('planner', {'COUNTERSIGN_MINT_FD': '3', 'ANTHROPIC_API_KEY': 'a key', **EXTRA})\n"
        "worker.main._export(settings)\n"
        "print(sorted(name for name in sys.modules if name.startswith('opentelemetry'))[:1])\n"
    )
    for extra, loaded in (({}, "[]"), ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, "['opentelemetry']")):
        words = [sys.executable, "-c", script.replace("EXTRA", json.dumps(extra))]
        told = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
        assert told.stdout.strip() == loaded, told.stderr


def test_a_span_of_before_spans_had_ids_is_still_a_span():
    (old,) = [span for span in done(Belt.PLANNER) if span.kind is SpanKind.EFFECT]
    written = {key: one for key, one in old.model_dump(mode="json").items() if key not in ("id", "parent", "asked")}
    assert Span.model_validate(written).id == ""
