"""A small OpenTelemetry collector: takes OTLP over real HTTP and decodes it."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """Listens on a free loopback port. `status` is what it answers; while `hold` is not set it answers nothing."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.hold = threading.Event()
        self.hold.set()
        self.taken: list[tuple[str, dict[str, str], bytes]] = []
        """Path, headers and body of each request, unpacked."""
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.hold.wait(60)
                collector.taken.append((self.path, {key.lower(): one for key, one in self.headers.items()}, body))
                self.send_response(collector.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *words: Any) -> None:
                """Nothing is written."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.hold.set()
        self._server.shutdown()
        self._server.server_close()

    def spans(self) -> list[dict[str, Any]]:
        """Every span: its name, ids, kind, status and attributes, those of its process among them."""
        found = []
        for path, _, body in list(self.taken):
            if path == "/v1/traces":
                for group in ExportTraceServiceRequest.FromString(body).resource_spans:
                    of_process = _plain(group.resource.attributes)
                    for scope in group.scope_spans:
                        found += [_span(one) | {"process": of_process} for one in scope.spans]
        return found

    def metrics(self) -> dict[str, list[Any]]:
        """The points of each metric."""
        found: dict[str, list[Any]] = {}
        for path, _, body in list(self.taken):
            if path == "/v1/metrics":
                for group in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    for scope in group.scope_metrics:
                        for metric in scope.metrics:
                            points = metric.histogram.data_points or metric.sum.data_points
                            found.setdefault(metric.name, []).extend(points)
        return found


def _span(one: Any) -> dict[str, Any]:
    return {
        "name": one.name,
        "trace": one.trace_id.hex(),
        "id": one.span_id.hex(),
        "parent": one.parent_span_id.hex(),
        "kind": one.kind,
        "failed": one.status.code == 2,
        "nanoseconds": one.end_time_unix_nano - one.start_time_unix_nano,
        "attributes": _plain(one.attributes),
    }


def _plain(attributes: Any) -> dict[str, Any]:
    return {one.key: _value(one.value) for one in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_value(one) for one in value.array_value.values] if kind == "array_value" else getattr(value, kind)
