"""Spans: every model call, tool call and effect is told with the same fields, whatever the belt."""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from app.core.belts import Belt
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


class Minted(Part):
    """One token that the mint cut, refused to cut, or was about to cut.

    The token itself is never kept, only its SHA-256; that is empty for a refusal, and for one whose answer was lost.
    """

    id: str
    run: str
    effect_id: int | None
    belt: Belt
    purpose: str
    """The effect's kind, or `watch`."""
    repository_id: int
    permissions: dict[str, str]
    token_sha256: str
    minted_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    refused: str = ""
