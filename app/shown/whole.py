"""One run with everything that is told of it, and what of it can be opened."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from app.core.allowance import told
from app.core.belts import Belt
from app.core.budget import Spent
from app.core.facts import PlanDrafted
from app.core.span import Minted, Span, SpanKind
from app.core.waiting import Wait, wait_of
from app.ledger.outcomes import RunView
from app.ledger.store import Ledger
from app.shown.cases import Investigation, investigations
from app.shown.plans import Drafted, drafted
from app.shown.staged import Unwritten, unwritten
from app.shown.works import Work, named, works


@dataclass(frozen=True, slots=True)
class BeltSum:
    """What one belt did of a run."""

    belt: Belt
    calls: int
    tools: int
    checks: int
    spent: Spent
    seconds: float
    """Spent in effects, waiting for models and commands included."""
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Whole:
    """A run as its page and the terminal show it."""

    view: RunView
    repository: str
    """Today's name where it is known."""
    wait: Wait
    plans: list[Drafted]
    works: list[Work]
    unwritten: Unwritten | None
    """What a staged run would have written."""
    investigations: list[Investigation]
    spans: tuple[Span, ...]
    mints: tuple[Minted, ...]

    def sums(self) -> tuple[BeltSum, ...]:
        """What each belt that did anything has cost."""
        by_belt: dict[Belt, list[Span]] = defaultdict(list)
        for span in self.spans:
            by_belt[span.belt].append(span)
        return tuple(_sum(belt, by_belt[belt]) for belt in Belt if belt in by_belt)

    def template(self) -> str:
        """By which template it was planned last; empty where nothing was planned."""
        pins = [one.fact.template for one in self.plans if isinstance(one.fact, PlanDrafted) and one.fact.template]
        return f"{pins[0].name} {pins[0].version}" if pins else ""

    def failed(self) -> str:
        """How much of what may fail has failed; empty where nothing has."""
        return told(self.view.state)


def whole(ledger: Ledger, run: str) -> Whole | None:
    """Everything of the run; None where there is no such run."""
    view = ledger.run(run)
    if view is None:
        return None
    seen = ledger.repository(view.state.request.repository_id)
    return Whole(
        view=view,
        repository=seen.full_name if seen else view.state.request.repository,
        wait=wait_of(view.state),
        plans=drafted(ledger, view),
        works=works(ledger, view),
        unwritten=unwritten(ledger, view.state),
        investigations=investigations(ledger, view),
        spans=ledger.spans(run),
        mints=ledger.mints(run),
    )


def kept(ledger: Ledger, view: RunView, reference: str) -> bytes | None:
    """A patch or an output of this run by its reference; None for whatever nothing of this run names."""
    if reference not in set(_references(ledger, view)):
        return None
    return ledger.artifact(reference)


def _references(ledger: Ledger, view: RunView) -> Iterator[str]:
    yield from named(works(ledger, view))
    for one in investigations(ledger, view):
        yield from (seen.reference for seen in (one.case.observations if one.case else ()))


def _sum(belt: Belt, spans: list[Span]) -> BeltSum:
    spent = Spent()
    for span in spans:
        spent = spent.plus(span.spent())
    kinds = [span.kind for span in spans]
    return BeltSum(
        belt=belt,
        calls=spent.calls,
        tools=kinds.count(SpanKind.TOOL),
        checks=kinds.count(SpanKind.CHECK),
        spent=spent,
        seconds=sum(span.seconds for span in spans if span.kind is SpanKind.EFFECT),
        models=tuple(sorted({span.model for span in spans if span.model})),
    )
