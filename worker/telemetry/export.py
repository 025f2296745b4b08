"""Sends spans and measurements to a collector over OTLP/HTTP, from a thread of its own and never for ever."""

import logging
import queue
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from app.core.span import Span, root_of, trace_of
from app.core.span import SpanKind as Ours
from worker.telemetry.attributes import attributes_of, failed, title_of

if TYPE_CHECKING:
    from worker.telemetry.measures import Measures

MOST_WAITING = 2_048
"""Spans that wait for the collector; one more is dropped, and counted."""

AT_ONCE = 256
PAUSE_SECONDS = 1.0
"""How long spans gather before they are sent."""

LAST_SECONDS = 3.0
"""How long the end of a process waits for its last spans: well within the time it has after SIGTERM."""

_SCOPE = InstrumentationScope("countersign")
_LOG = logging.getLogger("countersign.telemetry")


class Export:
    """A belt's way to a collector. Nothing here raises, and nothing waits but `close`."""

    def __init__(self, process: str, measures: "Measures | None" = None, most: int = MOST_WAITING) -> None:
        self.dropped = 0
        """Spans that no collector got: there were too many, it was away, or the process ended."""
        self._resource = Resource.create({"service.name": "countersign", "countersign.process": process})
        self._exporter = OTLPSpanExporter()
        self._measures = measures
        self._waiting: queue.Queue[ReadableSpan] = queue.Queue(most)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()

    def add(self, spans: Iterable[Span]) -> None:
        """They are sent soon, or dropped and counted; returns at once."""
        for span in spans:
            self._put(self._readable(span))
            if self._measures is not None and span.kind is Ours.MODEL:
                self._measures.add(span)

    def add_run(self, run: str, began: datetime, ended: datetime, outcome: str) -> None:
        """The span that is the run itself, of which all others are parts."""
        told = {"countersign.run": run, "countersign.outcome": outcome, "gen_ai.conversation.id": run}
        self._put(
            ReadableSpan(
                name="run",
                context=_context(run, root_of(run)),
                resource=self._resource,
                attributes=told,
                start_time=_nanoseconds(began),
                end_time=_nanoseconds(ended),
                instrumentation_scope=_SCOPE,
            )
        )

    def close(self, seconds: float = LAST_SECONDS) -> None:
        """What waits is sent, for at most so long; the rest is dropped."""
        until = time.monotonic() + seconds
        self._over.set()
        self._thread.join(seconds)
        # Ends the pause between two tries of a request that is under way.
        with suppress(Exception):
            self._exporter.shutdown()  # type: ignore[no-untyped-call]
        if self._measures is not None:
            self._measures.close(max(until - time.monotonic(), 0.1))
        self._drop(self._waiting.qsize(), "the process ended")

    def _put(self, span: ReadableSpan) -> None:
        try:
            self._waiting.put_nowait(span)
        except queue.Full:
            self._drop(1, "too many wait")

    def _drop(self, count: int, why: str) -> None:
        if count:
            self.dropped += count
            if self._measures is not None:
                self._measures.add_dropped(count)
            if self.dropped == count or self.dropped % AT_ONCE < count:
                _LOG.warning("%d spans did not reach the collector so far: %s", self.dropped, why)

    def _run(self) -> None:
        while not self._over.wait(PAUSE_SECONDS):
            self._send_all()
        self._send_all()

    def _send_all(self) -> None:
        while batch := self._taken():
            try:
                sent = self._exporter.export(batch) is SpanExportResult.SUCCESS
            except Exception:
                sent = False
            if not sent:
                self._drop(len(batch), "it does not take them")
                return

    def _taken(self) -> list[ReadableSpan]:
        taken: list[ReadableSpan] = []
        with suppress(queue.Empty):
            while len(taken) < AT_ONCE:
                taken.append(self._waiting.get_nowait())
        return taken

    def _readable(self, span: Span) -> ReadableSpan:
        began = _nanoseconds(span.began_at)
        return ReadableSpan(
            name=title_of(span),
            context=_context(span.run, span.id),
            parent=_context(span.run, span.parent or root_of(span.run)),
            resource=self._resource,
            attributes=attributes_of(span),
            kind=SpanKind.CLIENT if span.kind is Ours.MODEL else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR if failed(span) else StatusCode.UNSET),
            start_time=began,
            end_time=began + int(span.seconds * 1e9),
            instrumentation_scope=_SCOPE,
        )


def _context(run: str, span: str) -> SpanContext:
    return SpanContext(
        int(trace_of(run), 16), int(span, 16), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp() * 1e6) * 1_000
