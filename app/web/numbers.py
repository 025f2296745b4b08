"""What Prometheus is told: how much there is now, by the ledger, and what was done since this process began.

Every process writes what it does into the ledger, so one web process tells of all of them; where there are several,
each tells the same. No label grows with the number of runs, repositories or people.
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector

from app.core.span import Span, SpanKind
from app.ledger.errors import LedgerError
from app.ledger.gauges import Standing
from app.ledger.store import Ledger

MOST_LABELS = 200
"""Series of one name; what comes beyond them is told as `other`."""

LATE_SECONDS = 60.0
"""How much later than its neighbours a span may be committed and still be counted."""

Key = tuple[str, ...]

MODEL = ("belt", "model", "template")
_SUMS: dict[str, tuple[str, Key]] = {
    "countersign_model_calls": ("Replies of models that were billed.", MODEL),
    "countersign_model_input_tokens": ("Tokens that models read, but for those from a cache.", MODEL),
    "countersign_model_cached_tokens": ("Tokens that models read from a cache.", MODEL),
    "countersign_model_output_tokens": ("Tokens that models wrote.", MODEL),
    "countersign_model_usd": ("What models cost, in US dollars, where their price is known.", MODEL),
    "countersign_box_runs": ("Commands that ran in a box.", ("belt", "outcome")),
    "countersign_effects": ("Attempts at effects that ended.", ("belt", "kind", "outcome")),
    "countersign_github_requests": ("Requests to GitHub by the belts.", ("belt",)),
}


class Tally:
    """What was done since this process began, by the spans that every belt writes."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._seen: dict[int, float] = {}
        self._floor: int | None = None
        self.sums: dict[str, dict[Key, float]] = {name: defaultdict(float) for name in _SUMS}
        self.memory: dict[str, int] = {}
        self.remaining: dict[str, int] = {}

    def begin(self) -> None:
        """What there is already is not counted. Raises `LedgerError`."""
        self._floor = self._ledger.newest_span()

    def look(self) -> None:
        """Everything that was written since is counted. Raises `LedgerError`."""
        if self._floor is None:
            self.begin()
        now, floor = time.monotonic(), self._floor or 0
        while found := [one for one in self._ledger.spans_after(floor) if one[0] > floor]:
            for id, span in found:
                if id not in self._seen:
                    self._seen[id] = now
                    self._add(span)
            floor = found[-1][0]
        # Ids are given before the commit, so that a smaller one may come later.
        over = [id for id, at in self._seen.items() if now - at > LATE_SECONDS]
        if over:
            self._floor = max(over)
            self._seen = {id: at for id, at in self._seen.items() if id > max(over)}

    def _add(self, span: Span) -> None:
        belt = str(span.belt)
        match span.kind:
            case SpanKind.MODEL:
                about = (belt, span.model, span.template or "none")
                for name, value in (
                    ("calls", span.calls),
                    ("input_tokens", span.input_tokens),
                    ("cached_tokens", span.cached_tokens),
                    ("output_tokens", span.output_tokens),
                    ("usd", float(span.usd)),
                ):
                    self._sum(f"countersign_model_{name}", about, value)
            case SpanKind.CHECK:
                self._sum("countersign_box_runs", (belt, span.outcome), 1)
            case SpanKind.EFFECT:
                self._sum("countersign_effects", (belt, span.name, span.outcome), 1)
                self._sum("countersign_github_requests", (belt,), span.requests)
                self.memory[belt] = span.memory_bytes
                if span.remaining is not None:
                    self.remaining[belt] = span.remaining
            case _:
                pass

    def _sum(self, name: str, about: Key, value: float) -> None:
        sums = self.sums[name]
        sums[about if about in sums or len(sums) < MOST_LABELS else ("other",) * len(about)] += value


class Numbers:
    """The exposition, made anew for each question."""

    def __init__(
        self, ledger: Ledger, answered: Counter[tuple[int, str]], bells: Callable[[], Mapping[str, int]]
    ) -> None:
        self._ledger = ledger
        self._answered = answered
        self._bells = bells
        self._tally = Tally(ledger)
        self._lock = threading.Lock()
        # Without a ledger it is begun with the first question that finds one.
        with suppress(LedgerError):
            self._tally.begin()

    def told(self) -> str:
        """Prometheus' text format. Without a ledger its numbers are left out and `countersign_ledger_up` is 0."""
        registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(namespace="countersign_web", registry=registry)
        with self._lock:
            registry.register(self)
            return generate_latest(registry).decode()

    def collect(self) -> Iterable[Metric]:
        """Every family."""
        try:
            self._tally.look()
            standing: Standing | None = self._ledger.standing(datetime.now(UTC))
        except LedgerError:
            standing = None
        yield GaugeMetricFamily(
            "countersign_ledger_up", "Whether the ledger answered.", value=int(standing is not None)
        )
        answers = CounterMetricFamily(
            "countersign_answers", "Answers to deliveries since the process began.", labels=("status", "because")
        )
        for (status, because), count in sorted(self._answered.items()):
            answers.add_metric((str(status), because), count)
        yield answers
        again = CounterMetricFamily(
            "countersign_ledger_tried_again", "Transactions that this process began again.", labels=("reason",)
        )
        for reason, count in sorted(self._ledger.tried_again.items()):
            again.add_metric((reason,), count)
        yield again
        yield _gauge("countersign_bells_waiting", "Doorbells that the broker holds.", "belt", self._bells())
        if standing is not None:
            yield from _standing(standing)
            yield from self._done()

    def _done(self) -> Iterable[Metric]:
        for name, (words, labels) in _SUMS.items():
            family = CounterMetricFamily(name, words, labels=labels)
            for about, value in sorted(self._tally.sums[name].items()):
                family.add_metric(about, value)
            yield family
        words = "What a belt's process had in memory when its last effect ended."
        yield _gauge("countersign_belt_memory_bytes", words, "belt", self._tally.memory)
        words = "The fewest requests that GitHub said were left during a belt's last effect."
        yield _gauge("countersign_github_remaining", words, "belt", self._tally.remaining)


def _standing(standing: Standing) -> Iterable[Metric]:
    yield _gauge("countersign_runs", "Runs by state.", "state", standing.runs)
    now = datetime.now(UTC)
    owed = GaugeMetricFamily("countersign_owed_effects", "Effects that are not settled.", labels=("belt", "kind"))
    oldest = GaugeMetricFamily(
        "countersign_owed_oldest_seconds", "For how long the oldest of them is owed.", labels=("belt", "kind")
    )
    attempts = GaugeMetricFamily("countersign_owed_attempts", "The most attempts at one.", labels=("belt", "kind"))
    for one in standing.owed:
        about = (one.belt, one.kind)
        owed.add_metric(about, one.count)
        oldest.add_metric(about, max((now - one.oldest).total_seconds(), 0.0))
        attempts.add_metric(about, one.attempts)
    yield from (owed, oldest, attempts)
    yield _gauge("countersign_leases", "Effects that somebody holds now.", "belt", standing.leases)
    yield CounterMetricFamily(
        "countersign_tokens_cut",
        "Tokens that belts asked the mint for, refusals among them.",
        value=standing.tokens_cut,
    )
    yield GaugeMetricFamily(
        "countersign_tokens_alive", "Tokens that still open something.", value=standing.tokens_alive
    )
    words = "What GitHub could not deliver and has not come yet."
    yield _gauge("countersign_missed", words, "what", {"deliveries": standing.missed})


def _gauge(name: str, words: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, words, labels=(label,))
    for key, value in sorted(values.items()):
        family.add_metric((key,), value)
    return family
