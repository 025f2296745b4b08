"""One connection: how long it may take over a head, a body and an answer, and who makes room for another."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn

from app.web.connection import BoundedProtocol
from tests.rooms.web.conftest import wait_until

REQUEST = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n"


class Hasty(BoundedProtocol):
    head_seconds = body_seconds = 0.4
    deaf_seconds = 1


class Narrow(BoundedProtocol):
    most_arriving = 4


async def fine(scope: Any, _receive: Any, send: Any) -> None:
    body = b"x" * 20_000_000 if scope["path"] == "/large" else b""
    await send({"type": "http.response.start", "status": 200 if body else 204, "headers": []})
    await send({"type": "http.response.body", "body": body})


@dataclass(frozen=True)
class Front:
    """A server, and who is connected to it."""

    address: tuple[str, int]
    server: uvicorn.Server

    @property
    def connected(self) -> int:
        return len(self.server.server_state.connections)


@contextmanager
def answering(protocol: type[BoundedProtocol]) -> Iterator[Front]:
    """A server that answers without reading a body."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(fine, http=protocol, loop="uvloop", ws="none", lifespan="off", log_config=None)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        wait_until(lambda: server.started)
        yield Front(listening.getsockname(), server)
        server.should_exit = True
        thread.join(10)


@pytest.fixture
def hasty() -> Iterator[Front]:
    """One that waits for a head for less than half a second, and no longer for what follows."""
    with answering(Hasty) as front:
        yield front


def test_a_connection_that_never_finishes_a_head_is_closed(hasty: Front) -> None:
    with (
        socket.create_connection(hasty.address, timeout=10) as silent,
        socket.create_connection(hasty.address, timeout=10) as slow,
    ):
        slow.sendall(b"GET / HTTP/1.1\r\nhost: he")
        assert (silent.recv(100), slow.recv(100)) == (b"", b"")


def test_a_connection_that_is_used_again_in_time_stays_open_and_a_second_head_is_timed_too(
    hasty: Front,
) -> None:
    with socket.create_connection(hasty.address, timeout=10) as connection:
        for _ in range(3):
            connection.sendall(REQUEST)
            assert connection.recv(1000).startswith(b"HTTP/1.1 204")
            time.sleep(0.25)
        connection.sendall(REQUEST[:10])
        assert connection.recv(100) == b""


def test_a_body_that_nobody_waits_for_ends_with_its_connection(hasty: Front) -> None:
    with socket.create_connection(hasty.address, timeout=10) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 1000000\r\n\r\nx")
        assert connection.recv(1000).startswith(b"HTTP/1.1 204")
        connection.sendall(b"x")
        assert connection.recv(1000) == b""


def test_who_was_answered_early_and_then_sends_no_further_head_is_let_go(hasty: Front) -> None:
    with socket.create_connection(hasty.address, timeout=10) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 2\r\n\r\nx")
        assert connection.recv(1000).startswith(b"HTTP/1.1 204")
        connection.sendall(b"x")
        assert connection.recv(1000) == b""


def test_who_reads_no_answer_is_let_go(hasty: Front) -> None:
    with socket.create_connection(hasty.address, timeout=10) as deaf:
        deaf.sendall(REQUEST.replace(b"/", b"/large", 1))
        wait_until(lambda: hasty.connected == 1)
        wait_until(lambda: hasty.connected == 0, 10)


def test_room_is_made_by_whom_one_waits_for_longest() -> None:
    with answering(Narrow) as narrow, ExitStack() as stack:
        first, second, third, fourth = (
            stack.enter_context(socket.create_connection(narrow.address, timeout=10)) for _ in range(4)
        )
        wait_until(lambda: narrow.connected == 4)
        for one in (first, second):
            one.sendall(REQUEST)
            assert one.recv(1000).startswith(b"HTTP/1.1 204")
        for waited_for in (third, fourth, first):
            stack.enter_context(socket.create_connection(narrow.address, timeout=10))
            assert waited_for.recv(100) == b""
        second.sendall(REQUEST)
        assert second.recv(1000).startswith(b"HTTP/1.1 204")
