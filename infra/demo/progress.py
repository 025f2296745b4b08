"""What each belt does now and what it cost so far: lines that change in place at a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

from rich.console import Console
from rich.live import Live
from rich.text import Text

from app.core.belts import Belt, EffectKind
from app.core.budget import Spent
from app.core.plan import made_visible
from app.core.span import Span, SpanKind
from app.ledger.outcomes import EffectView, RunView
from app.ledger.store import Ledger
from infra.demo.playing import say

SECONDS_BETWEEN = 0.5
"""At a terminal the ledger is asked so often."""
PLAIN_SECONDS = 30.0
"""Without one, what has not changed but for its numbers is said again after so long."""

_DOES: Mapping[EffectKind, str] = {
    EffectKind.DRAFT_PLAN: "investigates and plans",
    EffectKind.EXECUTE: "carries out the plan in the box",
    EffectKind.LOOK_UP_AUTHORITY: "asks who may",
    EffectKind.SAY: "writes a comment",
    EffectKind.REACT: "reacts to a comment",
    EffectKind.OPEN_DRAFT: "makes the branch",
    EffectKind.STAGE_DRAFT: "puts the branch together",
    EffectKind.FIND_DRAFT: "looks for a branch of before",
}


@dataclass(frozen=True, slots=True)
class Work:
    """What one belt does: since when, and the last thing that it did therein."""

    belt: Belt
    does: str
    seconds: float
    last: str = ""

    def __str__(self) -> str:
        after = f", last: {self.last}" if self.last else ""
        minutes, seconds = divmod(int(self.seconds), 60)
        return made_visible(f"{self.belt}: {self.does} ({minutes}:{seconds:02}{after})")


@dataclass(frozen=True, slots=True)
class Standing:
    """What is done now, and what the run cost so far of the most that it may cost (None while nobody knows)."""

    works: tuple[Work, ...]
    spent: Spent
    most: Decimal | None

    @property
    def cost(self) -> str:
        """Calls and dollars; models without a known price are said to be left out."""
        cap = f" of at most ${self.most}" if self.most is not None else ""
        free = f" (and {self.spent.unpriced_calls} calls without a known price)" if self.spent.unpriced_calls else ""
        return f"{self.spent.calls} model calls, ${self.spent.usd.quantize(Decimal('0.0001'))}{cap}{free}"

    def lines(self) -> list[str]:
        """A line for each belt at work, and one for the cost."""
        return [*(str(work) for work in self.works), self.cost]


def standing(view: RunView, spans: Sequence[Span], now: datetime) -> Standing:
    """From what is recorded of the run; `now` is aware."""
    spent = Spent()
    for span in spans:
        spent = spent.plus(span.spent())
    works = tuple(_work(one, spans, now) for one in view.effects if one.settled_at is None and one.lease_until)
    policy = view.state.policy
    return Standing(works, spent, policy.budget.usd if policy is not None else None)


def _work(effect: EffectView, spans: Sequence[Span], now: datetime) -> Work:
    within = [span for span in spans if span.effect_id == effect.id and span.kind is not SpanKind.EFFECT]
    newest = max(within, key=lambda span: span.began_at, default=None)
    last = "" if newest is None else f"{newest.name} (step {newest.step})" if newest.step else newest.name
    return Work(effect.belt, _DOES[effect.effect.kind], max(0.0, (now - effect.owed_since).total_seconds()), last)


@dataclass
class Progress:
    """Shows how a run stands, within `shown()`; `say` puts a whole line above it."""

    ledger: Ledger
    console: Console = field(default_factory=Console)
    clock: Callable[[], float] = time.monotonic
    _live: Live | None = None
    _due: float = 0.0
    _told: tuple[str, ...] = ()
    _again: float = 0.0

    @contextmanager
    def shown(self) -> Iterator[None]:
        """While inside, a terminal has the lines; afterwards it is as it was, however the block was left."""
        if not self.console.is_terminal or self.console.is_dumb_terminal:
            yield
            return
        with Live(Text(""), console=self.console, auto_refresh=False, transient=True, redirect_stderr=False) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def say(self, words: str) -> None:
        """One line that stays, not broken where a terminal ends."""
        if self._live is None:
            say(words)
        else:
            self.console.print(Text(words), soft_wrap=True)

    def watch(self, view: RunView) -> None:
        """Shows the run as it stands, if it is time."""
        now = self.clock()
        if now < self._due:
            return
        self._due = now + SECONDS_BETWEEN
        found = standing(view, self.ledger.spans(view.id), datetime.now(UTC))
        if self._live is not None:
            lines = Text("\n".join(found.lines()), style="dim", no_wrap=True, overflow="ellipsis")
            self._live.update(lines, refresh=True)
            return
        does = tuple(f"{work.belt}: {work.does}" for work in found.works)
        if does and (does != self._told or now >= self._again):
            self._told, self._again = does, now + PLAIN_SECONDS
            say(f"  {'; '.join(map(str, found.works))}; {found.cost}")
