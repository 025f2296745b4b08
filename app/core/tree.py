"""A run's spans as a tree: what was done within what, how long it took and what it cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from app.core.budget import Spent
from app.core.span import Span, SpanKind, trace_of


@dataclass(slots=True)
class Branch:
    """A span and what was done within it."""

    span: Span
    within: list["Branch"] = field(default_factory=list)

    def spent(self) -> Spent:
        """What models cost in it and below."""
        total = self.span.spent()
        for one in self.within:
            total = total.plus(one.spent())
        return total


def tree_of(spans: Sequence[Span]) -> list[Branch]:
    """The attempts at the run's effects, as they began, each with what was done within it.

    A span whose parent is not there, since its process died before it was written, or since it is of before spans had
    parents, stands below the attempt at its effect that was under way when it began, else by itself."""
    branches = [Branch(span) for span in spans]
    by_id = {one.span.id: one for one in branches if one.span.id}
    tops: list[Branch] = []
    for one in branches:
        above = by_id.get(one.span.parent) or _attempt(branches, one.span)
        (above.within if above is not None and above is not one else tops).append(one)
    return tops


def _attempt(branches: Sequence[Branch], span: Span) -> Branch | None:
    if span.kind is SpanKind.EFFECT or not span.effect_id:
        return None
    there = [one for one in branches if one.span.kind is SpanKind.EFFECT and one.span.effect_id == span.effect_id]
    begun = [one for one in there if one.span.began_at <= span.began_at]
    return begun[-1] if begun else None


def told(run: str, spans: Sequence[Span]) -> dict[str, Any]:
    """The tree as JSON."""
    tops = tree_of(spans)
    return {"run": run, "trace_id": trace_of(run), "spent": _sum(tops), "spans": [_told(one) for one in tops]}


def _told(branch: Branch) -> dict[str, Any]:
    return branch.span.model_dump(mode="json") | {"within": [_told(one) for one in branch.within]}


def _sum(tops: Sequence[Branch]) -> dict[str, Any]:
    total = Spent()
    for one in tops:
        total = total.plus(one.spent())
    return total.model_dump(mode="json")


def drawn(run: str, spans: Sequence[Span]) -> Iterator[str]:
    """The tree for a terminal, a line for each span: what it was, how long, tokens and cost where there are any."""
    tops = tree_of(spans)
    total = Spent()
    for one in tops:
        total = total.plus(one.spent())
    seconds = sum(one.span.seconds for one in tops)
    yield f"{run}  {seconds:.1f} s of work{_cost(total)}  trace {trace_of(run)}"
    yield from _below(tops, "")


def _below(branches: Sequence[Branch], indent: str) -> Iterator[str]:
    for place, one in enumerate(branches, 1):
        last = place == len(branches)
        yield f"{indent}{'└─' if last else '├─'} {_line(one)}"
        yield from _below(one.within, f"{indent}{'   ' if last else '│  '}")


def _line(branch: Branch) -> str:
    span = branch.span
    step = f" step {span.step}" if span.step else ""
    what = f"{span.belt} {span.name}" if span.kind is SpanKind.EFFECT else f"{span.kind} {span.name}{step}"
    model = f" {span.model}" if span.model else ""
    tries = f", {span.attempts} attempts" if span.attempts > 1 else ""
    return f"{what}{model}  {span.seconds:.1f} s{_cost(branch.spent())}  {span.outcome}{tries}"


def _cost(spent: Spent) -> str:
    if not spent.calls:
        return ""
    unpriced = f" and {spent.unpriced_calls} calls of unknown price" if spent.unpriced_calls else ""
    cached = f" ({spent.cached_tokens:,} more from the cache)" if spent.cached_tokens else ""
    usd = spent.usd.quantize(Decimal("0.0001"))
    return f"  {spent.input_tokens:,} in{cached}, {spent.output_tokens:,} out, ${usd}{unpriced}"
