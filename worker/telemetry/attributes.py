"""What a span of ours says in OpenTelemetry's words: the GenAI semantic conventions beside our own, by its kind alone.

The names are those of the conventions' registry (opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/). The
input tokens there include those that were read from a cache; ours do not.
"""

from collections.abc import Mapping, Sequence

from app.core.belts import Belt
from app.core.redact import redact
from app.core.span import Span, SpanKind

PROVIDER = "anthropic"

_OPERATIONS = {
    SpanKind.EFFECT: "invoke_agent",
    SpanKind.MODEL: "chat",
    SpanKind.TOOL: "execute_tool",
    SpanKind.CHECK: "execute_tool",
}

Value = str | int | float | bool | Sequence[str]


def title_of(span: Span) -> str:
    """A name of which there are few: the operation and what it is of."""
    match span.kind:
        case SpanKind.MODEL:
            return f"chat {span.asked or span.model}"
        case SpanKind.EFFECT:
            return f"invoke_agent {span.belt}" if _has_model(span) else f"{span.belt} {span.name}"
        case _:
            return f"execute_tool {_first_word(span.name)}"


def attributes_of(span: Span) -> dict[str, Value]:
    """The same names for every span of a kind, whichever belt it is of; no value holds a secret."""
    found: dict[str, Value] = {
        "countersign.run": span.run,
        "countersign.plan.version": span.plan_version,
        "countersign.plan.digest": span.plan_digest,
        "countersign.step": span.step,
        "countersign.template": span.template,
        "countersign.belt": str(span.belt),
        "countersign.effect": span.effect_id,
        "countersign.kind": str(span.kind),
        "countersign.name": span.name,
        "countersign.outcome": span.outcome,
        "countersign.detail": span.detail,
        "countersign.attempts": span.attempts,
        "countersign.cost.usd": float(span.usd),
        "countersign.cost.priced": span.priced,
        "gen_ai.conversation.id": span.run,
        "gen_ai.agent.name": str(span.belt),
    }
    if span.kind is not SpanKind.EFFECT or _has_model(span):
        found["gen_ai.operation.name"] = _OPERATIONS[span.kind]
    if span.kind is SpanKind.MODEL:
        found |= {
            "gen_ai.provider.name": PROVIDER,
            "gen_ai.request.model": span.asked or span.model,
            "gen_ai.response.model": span.model,
            "gen_ai.response.finish_reasons": (span.detail,),
            "gen_ai.usage.input_tokens": span.input_tokens + span.cached_tokens,
            "gen_ai.usage.output_tokens": span.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": span.cached_tokens,
        }
    elif span.kind is not SpanKind.EFFECT:
        found |= {"gen_ai.tool.name": _first_word(span.name), "gen_ai.tool.type": "function"}
    if failed(span):
        found["error.type"] = span.outcome
    return {name: _told(value) for name, value in found.items()}


def measured(span: Span) -> Mapping[str, Value]:
    """What the histograms of a model's reply are told by: few values each."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDER,
        "gen_ai.request.model": span.asked or span.model,
        "gen_ai.response.model": span.model,
        "countersign.belt": str(span.belt),
    }


def failed(span: Span) -> bool:
    """Whether it ended as an error, and not with an answer that somebody did not like."""
    if span.kind is SpanKind.MODEL:
        return span.outcome in ("cut", "refused")
    return span.kind is SpanKind.EFFECT and span.outcome != "ok"


def _has_model(span: Span) -> bool:
    return span.belt is not Belt.PUBLISHER


def _first_word(name: str) -> str:
    return name.split(" ", 1)[0]


def _told(value: Value) -> Value:
    if isinstance(value, str):
        return redact(value)
    return tuple(map(redact, value)) if isinstance(value, tuple) else value
