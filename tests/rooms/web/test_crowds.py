"""Crowds at the door, before the web process as it is started for real: those who say nothing, those who stop in the
middle, those who wait for no answer or read none, and those who send what is no body. Memory stays bounded, and who
comes with a delivery is answered."""

import resource
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.rooms.web.conftest import MB, SECRET, Process, head, labeled, started

MOST_MB = 150
"""By which the process may grow in all of this: under a third of a MB for each of its 512 connections."""
PROMPT = 10.0
"""Seconds for an answer in a crowd: as long as GitHub waits (github-facts 12)."""


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory, empty_ledger: Path) -> Iterator[Process]:
    """One process for every crowd: what one leaves behind the next one meets."""
    folder = tmp_path_factory.mktemp("crowds")
    shutil.copy(empty_ledger, folder / "ledger.db")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    with started({"GITHUB_WEBHOOK_SECRET": SECRET, "COUNTERSIGN_DATA_DIR": str(folder)}) as process:
        process.before = process.peak_mb()  # type: ignore[attr-defined]
        yield process
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def crowd(process: Process, stack: ExitStack, many: int) -> list[socket.socket]:
    made = []
    for _ in range(many):
        made.append(stack.enter_context(socket.create_connection(process.address, timeout=10)))
        made[-1].setblocking(False)
    return made


def push(process: Process, sockets: list[socket.socket], content: bytes, seconds: float = 20.0) -> None:
    """All of them send this at the same time, as much of it as is taken."""
    left, until = dict.fromkeys(sockets, memoryview(content)), time.monotonic() + seconds
    while left and time.monotonic() < until:
        for one in list(left):
            with suppress(BlockingIOError):
                try:
                    left[one] = left[one][one.send(left[one][: MB // 4]) :]
                except ConnectionError:
                    left[one] = left[one][:0]
            if not left[one]:
                del left[one]
        time.sleep(0.005)


def is_well(process: Process) -> None:
    """A delivery is recorded, promptly, and the process has not grown."""
    before, asked = process.recorded(), time.monotonic()
    answer = process.post("issues", labeled())
    assert answer.status_code == 202, answer.text
    assert time.monotonic() - asked < PROMPT
    assert process.recorded() == before + 1
    assert process.peak_mb() - process.before < MOST_MB  # type: ignore[attr-defined]


def test_more_connections_than_there_is_room_for_say_nothing_and_a_delivery_is_taken(process: Process) -> None:
    with ExitStack() as stack:
        silent = crowd(process, stack, 600)
        is_well(process)
        push(process, silent[-100:], b"POST /webhooks/github HTTP/1.1\r\nhost: he")
        is_well(process)
    is_well(process)


def test_bodies_that_stop_before_their_end_are_held_within_bounds(process: Process) -> None:
    with ExitStack() as stack:
        push(process, crowd(process, stack, 300), head("content-length: 1000000") + b"x" * 990_000)
        is_well(process)


@pytest.mark.parametrize(
    "request_head", [b"GET /healthz HTTP/1.1\r\n\r\n", head("content-length: 0")], ids=["page", "hook"]
)
def test_who_sends_one_request_after_another_and_waits_for_no_answer_is_stopped(
    process: Process, request_head: bytes
) -> None:
    with ExitStack() as stack:
        push(process, crowd(process, stack, 150), request_head * (MB // len(request_head)))
        is_well(process)


def test_what_is_around_a_body_has_bounds_as_well(process: Process) -> None:
    chunked = head("transfer-encoding: chunked")
    with ExitStack() as stack:
        for content in (
            chunked + b"0\r\n" + b"x-more: and more\r\n" * (5 * MB // 18),
            chunked + b"0\r\nx-more: " + b"y" * 5 * MB,
            chunked + b"1;" + b"y" * 5 * MB,
            chunked + b"1\r\nx\r\n" * MB,
        ):
            push(process, crowd(process, stack, 10), content)
            is_well(process)
