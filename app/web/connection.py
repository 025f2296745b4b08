"""How long, how large and how many what arrives over connections may be: uvicorn itself bounds none of it."""

import asyncio
import socket
import time
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LIVE = "/live"
"""How the path of a stream of events ends: it goes on until its client leaves."""


class TooMuch(Exception):
    """Raised in the parser, which takes it for a request that is not HTTP: 400, and the connection ends."""


class BoundedProtocol(HttpToolsProtocol):
    """HTTP by httptools, with a connection closed over which too much comes, or too slowly.

    Otherwise those who send nothing would fill `limit_concurrency` for good, those who send heads without waiting for
    answers or trailers without end would fill the memory, and those who read no answers would hold both.
    """

    head_seconds = 10.0
    """How long a head may take, from the connection's begin or its own first byte."""
    head_bytes = 64 * 1024
    body_seconds = 20.0
    """From the head's end; the receiver gives up earlier, with an answer, and this is for whoever reads no body."""
    waiting_heads = 8
    """How many requests may wait for the answer to the one before them: GitHub sends none so, nor do proxies."""
    most_arriving = 384
    """Open connections of which for one more that one is closed which has been sending its request for longest."""
    deaf_seconds = 20
    """How long an answer may lie unread."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._in_head = True
        self._arriving_since: float | None = None
        """None while nothing is awaited of the other side but that it reads."""
        self._head_bytes = 0
        self._unbodied = 0
        """What came since the head's end and was no body: sizes of chunks, and trailers."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        sock: socket.socket = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, self.deaf_seconds * 1000)
        self._await(self.head_seconds)
        if len(self.connections) > self.most_arriving:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            if self._timer is None:
                self._await(self.head_seconds)
            self._head_bytes += len(data)
        else:
            self._unbodied += len(data)
        super().data_received(data)
        if (self._head_bytes if self._in_head else self._unbodied) > self.head_bytes:
            self.transport.close()

    def shutdown(self) -> None:
        """A stream of events would hold up the end of the process for as long as it may take."""
        super().shutdown()
        if self.scope and str(self.scope["path"]).endswith(LIVE):
            self.transport.close()

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= self.waiting_heads:
            raise TooMuch
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head, self._head_bytes, self._unbodied = False, 0, 0
        self._await(self.body_seconds)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        # A byte of body pays for an eighth of one around it: nobody who means well sends small chunks for long.
        self._unbodied -= len(body) + len(body) // 8
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._came()
        self._in_head = True
        if self.cycle.response_complete:
            # It was answered before it had come; uvicorn waits for no further head then.
            self._await(self.head_seconds)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._in_head and self._arriving_since is None:
            self._arriving_since = time.monotonic()

    def _await(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self.transport.close)
        if self._arriving_since is None:
            self._arriving_since = time.monotonic()

    def _came(self) -> None:
        self._head_bytes, self._arriving_since = 0, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _make_room(self) -> None:
        bounded = [one for one in self.connections if isinstance(one, BoundedProtocol) and one is not self]
        slow = [one for one in bounded if one._is_arriving()]
        if slow:
            min(slow, key=lambda one: one._arriving_since or 0.0).transport.abort()

    def _is_arriving(self) -> bool:
        return self._arriving_since is not None and not self.transport.is_closing()
