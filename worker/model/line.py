"""Lines to the Messages API: each carries one call at a time, and can be broken off from another thread."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import Enum
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from worker.settings import DEFAULT_MODEL_API

if TYPE_CHECKING:
    import anthropic

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_CONNECTED = ("connect_tcp.complete", "start_tls.complete")


class Towards(Enum):
    """Where a line goes. Proxies of the environment are for the network and never for this machine."""

    NETWORK = True
    THIS_MACHINE = False

    @classmethod
    def of(cls, base_url: str | None) -> "Towards":
        return cls.THIS_MACHINE if urlsplit(base_url or "").hostname in _LOOPBACK else cls.NETWORK


class Line:
    """One connection, kept open from call to call. Once `broken` it carries nothing any more."""

    def __init__(self, towards: Towards) -> None:
        import anthropic

        self.broken = False
        self._lock = threading.Lock()
        self._stream: Any = None
        hooks = {"request": [self._watched]}
        self._http = anthropic.DefaultHttpxClient(trust_env=towards.value, event_hooks=hooks)

    def client(self, api_key: str, base_url: str | None, timeout_seconds: float) -> "anthropic.Anthropic":
        """The SDK over this line."""
        import anthropic

        return anthropic.Anthropic(
            api_key=api_key,
            base_url=base_url or DEFAULT_MODEL_API,
            max_retries=0,
            # Spans are the ledger's; the SDK would add its own to them.
            open_telemetry=False,
            timeout=anthropic.Timeout(timeout_seconds, connect=10.0, pool=30.0),
            http_client=self._http,
        )

    def break_off(self) -> None:
        """The call that is under way fails at once, from any thread; a connection in the making, when it stands."""
        with self._lock:
            self.broken = True
            _shut(self._stream)

    def close(self) -> None:
        """Nothing of it is left."""
        self._http.close()

    def _watched(self, request: Any) -> None:
        if self.broken:
            raise OSError("the line was broken off")
        request.extensions["trace"] = self._seen

    def _seen(self, event: str, about: Mapping[str, Any]) -> None:
        if not event.endswith(_CONNECTED):
            return
        with self._lock:
            self._stream = about["return_value"]
            if self.broken:
                _shut(self._stream)


def _shut(stream: Any) -> None:
    # Closing would not wake the thread that reads; this does, and its call ends with an error of the connection.
    with suppress(OSError):
        if stream is not None:
            stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


_free: dict[Towards, list[Line]] = {one: [] for one in Towards}
_taking = threading.Lock()


@contextmanager
def line_towards(towards: Towards) -> Iterator[Line]:
    """A line that nobody else has meanwhile; those that are given back whole are used again."""
    with _taking:
        line = _free[towards].pop() if _free[towards] else None
    line = line or Line(towards)
    try:
        yield line
    finally:
        with _taking:
            whole = not line.broken
            if whole:
                _free[towards].append(line)
        if not whole:
            line.close()
