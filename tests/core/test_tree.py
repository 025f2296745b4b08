"""A run's spans as a tree: what was done within what, and what it cost."""

from datetime import timedelta
from decimal import Decimal

from app.core.belts import Belt
from app.core.span import Span, SpanKind, root_of, trace_of
from app.core.tree import drawn, told
from tests.fakes.facts import START


def span(kind, name, at=0, **more):
    values = {"run": "r-1", "belt": Belt.PLANNER, "kind": kind, "name": name, "outcome": "ok", "seconds": 1.0}
    return Span(**values | {"began_at": START + timedelta(seconds=at), "effect_id": 7} | more)


MODEL = {"input_tokens": 1_000, "output_tokens": 20, "cached_tokens": 3, "usd": Decimal("0.5"), "model": "model-5"}
SPANS = (
    span(SpanKind.EFFECT, "draft_plan", id="aa", parent=root_of("r-1"), outcome="Wait"),
    span(SpanKind.MODEL, "planner", 1, id="ab", parent="aa", step=2, attempts=3, **MODEL),
    span(SpanKind.TOOL, "scout", 2, id="ac", parent="aa"),
    span(SpanKind.MODEL, "scout", 3, id="ad", parent="ac", **MODEL),
    span(SpanKind.EFFECT, "draft_plan", 9, id="ba", parent=root_of("r-1")),
    # Of a process that died before its attempt was written, and of before spans had parents.
    span(SpanKind.TOOL, "search", 10, id="bb", parent="gone"),
    span(SpanKind.TOOL, "read", 11),
    span(SpanKind.EFFECT, "say", 12, belt=Belt.PUBLISHER, effect_id=8, id="ca", parent=root_of("r-1")),
    span(SpanKind.TOOL, "alone", 13, effect_id=0),
)


def test_a_tree_shows_attempts_and_what_was_done_within_them_with_time_tokens_and_cost():
    assert list(drawn("r-1", SPANS)) == [
        f"r-1  4.0 s of work  2,000 in (6 more from the cache), 40 out, $1.0000  trace {trace_of('r-1')}",
        "├─ planner draft_plan  1.0 s  2,000 in (6 more from the cache), 40 out, $1.0000  Wait",
        "│  ├─ model planner step 2 model-5  1.0 s  1,000 in (3 more from the cache), 20 out, $0.5000  ok, 3 attempts",
        "│  └─ tool scout  1.0 s  1,000 in (3 more from the cache), 20 out, $0.5000  ok",
        "│     └─ model scout model-5  1.0 s  1,000 in (3 more from the cache), 20 out, $0.5000  ok",
        "├─ planner draft_plan  1.0 s  ok",
        "│  ├─ tool search  1.0 s  ok",
        "│  └─ tool read  1.0 s  ok",
        "├─ publisher say  1.0 s  ok",
        "└─ tool alone  1.0 s  ok",
    ]


def test_programs_get_the_same_tree():
    found = told("r-1", SPANS)
    assert found["trace_id"] == trace_of("r-1") and found["spent"]["usd"] == "1.0"
    names = [[one["name"], [within["name"] for within in one["within"]]] for one in found["spans"]]
    assert names == [
        ["draft_plan", ["planner", "scout"]], ["draft_plan", ["search", "read"]], ["say", []], ["alone", []]
    ]  # fmt: skip
