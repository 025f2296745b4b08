"""Spans: every model call, tool call and effect is told with the same fields, whatever the belt."""

import hashlib
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from app.core.belts import Belt
from app.core.budget import Spent
from app.core.run import Part


class SpanKind(StrEnum):
    """What was done."""

    EFFECT = "effect"
    MODEL = "model"
    TOOL = "tool"
    CHECK = "check"


class Span(Part):
    """One thing that was done, with its cost and outcome. Money is 0 and `priced` false for an unknown price."""

    run: str
    plan_version: int = 0
    plan_digest: str = ""
    step: int = 0
    belt: Belt
    kind: SpanKind
    name: str
    """The effect's kind, the tool's name, or the model's role."""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: Decimal = Decimal(0)
    priced: bool = True
    attempts: int = 1
    outcome: str
    """`ok`, or a short word for what went wrong."""
    detail: str = ""
    began_at: datetime
    seconds: float
    calls: int = 1
    """Calls that were billed for it, earlier attempts included; those without a known price are counted below."""
    unpriced_calls: int = 0
    effect_id: int = 0
    """The effect in whose doing it was done, whichever attempt; 0 where that was not recorded."""
    id: str = ""
    """16 hexadecimal digits, as OpenTelemetry has them; empty for spans of before."""
    parent: str = ""
    """`id` of the span within which it was done; that of the run's own span (`root_of`) for an attempt at an effect."""
    template: str = ""
    """`name@version` of the template by which it was done, where there was one."""
    requests: int = 0
    """Requests to GitHub that the process sent since its last effect ended; told of effects only."""
    remaining: int | None = None
    """The fewest requests that GitHub said were left meanwhile; None where it said nothing."""
    memory_bytes: int = 0
    """What the process had in memory then."""
    asked: str = ""
    """The model that was asked for, where another one may have answered."""

    def spent(self) -> Spent:
        """What it cost, as a run's sum counts it; nothing for what is no model's reply."""
        if self.kind is not SpanKind.MODEL:
            return Spent()
        return Spent(
            calls=self.calls,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cached_tokens=self.cached_tokens,
            usd=self.usd,
            unpriced_calls=self.unpriced_calls,
            model_seconds=self.seconds,
        )


def trace_of(run: str) -> str:
    """The 32 hexadecimal digits by which the spans of a run are one trace, whichever processes they come from."""
    return hashlib.sha256(f"countersign trace {run}".encode()).hexdigest()[:32]


def root_of(run: str) -> str:
    """`id` of the span that is the run itself."""
    return hashlib.sha256(f"countersign root {run}".encode()).hexdigest()[:16]


class Minted(Part):
    """One token that the mint cut, refused to cut, or was about to cut.

    The token itself is never kept, only its SHA-256; that is empty for a refusal, and for one whose answer was lost.
    """

    id: str
    run: str
    effect_id: int | None
    belt: Belt
    purpose: str
    """The effect's kind; or `watch`; or `list`, of the mint itself, which opens no more than names."""
    repository_id: int
    beside: tuple[int, ...] = ()
    """Further repositories that it opens; only a token for watching does."""
    permissions: dict[str, str]
    token_sha256: str
    minted_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    refused: str = ""
