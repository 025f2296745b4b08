"""How long and how large a request's head may be: uvicorn itself bounds neither."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class BoundedProtocol(HttpToolsProtocol):
    """HTTP by httptools, with a connection closed whose next head is not whole in time or grows too long.

    Without it silent connections would fill `limit_concurrency` for good.
    """

    head_seconds = 10.0
    head_bytes = 64 * 1024

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            if self._head_timer is None:
                self._await_head()
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > self.head_bytes:
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._head_came()
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head = True

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _head_came(self) -> None:
        self._head_bytes = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
