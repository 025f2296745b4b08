"""The measurements of the GenAI conventions: how long a model took to answer, and how many tokens went in and out."""

from contextlib import suppress

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from app.core.span import Span
from worker.telemetry.attributes import measured

TOKENS = [4**power for power in range(14)]
SECONDS = [0.01 * 2**power for power in range(14)]
"""Bounds of the buckets, as the conventions give them."""


class Measures:
    """Of one process; sent at the interval that `OTEL_METRIC_EXPORT_INTERVAL` says."""

    def __init__(self, process: str) -> None:
        resource = Resource.create({"service.name": "countersign", "countersign.process": process})
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        self._provider = MeterProvider([reader], resource, shutdown_on_exit=False)
        meter = self._provider.get_meter("countersign")
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", explicit_bucket_boundaries_advisory=TOKENS
        )
        self._seconds = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", explicit_bucket_boundaries_advisory=SECONDS
        )
        self._usd = meter.create_counter("countersign.model.cost", "{usd}")
        self._dropped = meter.create_counter("countersign.telemetry.dropped", "{span}")

    def add(self, span: Span) -> None:
        """A reply of a model."""
        about = dict(measured(span))
        self._seconds.record(span.seconds, about)
        self._tokens.record(span.input_tokens + span.cached_tokens, about | {"gen_ai.token.type": "input"})
        self._tokens.record(span.output_tokens, about | {"gen_ai.token.type": "output"})
        self._usd.add(float(span.usd), about)

    def add_dropped(self, count: int) -> None:
        """Spans that no collector got."""
        self._dropped.add(count)

    def close(self, seconds: float) -> None:
        """What was measured is sent, for at most so long."""
        with suppress(Exception):
            self._provider.shutdown(timeout_millis=seconds * 1_000)
