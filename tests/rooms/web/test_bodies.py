"""Bodies that are too large, endless or slow: cut off, with memory bounded and everybody else still served."""

import json
import select
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.ledger import migrate
from app.settings import web_settings
from app.web.body import Limits
from tests.rooms.web.conftest import (
    MB,
    Door,
    answer_of,
    head,
    labeled,
    running,
    sign,
    started,
)

GUID = "3f0c9f0e-7a53-4f7e-9d2c-0d5d4a1c2b3e"


def stream(address: tuple[str, int], megabytes: int) -> tuple[str, int]:
    """Stream chunks without ever saying how many: what was answered, and how many bytes were taken until then."""
    chunk = b"%x\r\n" % MB + b"x" * MB + b"\r\n"
    sent = 0
    with socket.create_connection(address, timeout=30) as connection:
        try:
            connection.sendall(head("transfer-encoding: chunked"))
            for _ in range(megabytes):
                if select.select([connection], [], [], 0)[0]:
                    break
                connection.sendall(chunk)
                sent += MB
        except ConnectionError:
            pass
        return answer_of(connection), sent


def test_wh_03_endless_streams_are_cut_off_with_bounded_memory_while_others_are_served(env: dict[str, str]) -> None:
    with started(env) as process:
        before = process.peak_mb()
        with ThreadPoolExecutor(20) as pool:
            floods = [pool.submit(stream, process.address, 200) for _ in range(20)]
            while not all(flood.done() for flood in floods):
                asked = time.monotonic()
                assert process.answers()
                assert time.monotonic() - asked < 5
                time.sleep(0.1)
        outcomes = [flood.result() for flood in floods]
        # 503 is for those that waited for a seat as long as GitHub itself would.
        assert all("413" in answer or "503" in answer or answer == "cut" for answer, _ in outcomes)
        assert any("413" in answer for answer, _ in outcomes)
        assert max(sent for _, sent in outcomes) <= 40 * MB
        assert process.peak_mb() - before < 120
        taken = process.post("issues", labeled() | {"padding": "y" * 20 * MB})
        assert (taken.status_code, taken.json()["duplicate"]) == (202, False)


def test_wh_03_a_delivery_of_20_mb_is_kept_by_postgresql_as_well(env: dict[str, str], postgres_url: str) -> None:
    migrate(postgres_url)
    with started(env | {"DATABASE_URL": postgres_url}) as process:
        told = [process.post("issues", labeled() | {"padding": "y" * 20 * MB}, guid=GUID) for _ in range(2)]
        assert [(one.status_code, one.json()["duplicate"]) for one in told] == [(202, False), (202, True)]


def test_a_chunked_delivery_below_the_limit_is_taken(door: Door) -> None:
    body = json.dumps(labeled()).encode()
    signed = head("transfer-encoding: chunked", sign(body))
    with socket.create_connection(door.address, timeout=10) as connection:
        for part in (signed, b"%x\r\n" % 10 + body[:10] + b"\r\n", b"%x\r\n" % len(body[10:]) + body[10:] + b"\r\n"):
            connection.sendall(part)
            time.sleep(0.02)
        connection.sendall(b"0\r\n\r\n")
        assert answer_of(connection) == "HTTP/1.1 202 Accepted"
    assert door.recorded() == 1


def test_a_declared_length_over_the_limit_is_refused_before_anything_is_sent(closed_door: Door) -> None:
    with socket.create_connection(closed_door.address, timeout=10) as connection:
        connection.sendall(head(f"content-length: {25 * MB + 1}\r\nexpect: 100-continue"))
        assert "413" in answer_of(connection)


def test_exactly_the_limit_is_taken_and_one_byte_more_is_not(env: dict[str, str]) -> None:
    body = json.dumps(labeled()).encode()
    with running(web_settings(env), Limits(body_bytes=len(body))) as door:
        assert door.post("issues", body + b" ").status_code == 413
        assert door.recorded() == 0
        assert door.post("issues", body).status_code == 202


def test_a_body_that_trickles_is_given_up_after_its_time(env: dict[str, str]) -> None:
    with (
        running(web_settings(env), Limits(seconds=0.3, linger_seconds=0.1)) as door,
        socket.create_connection(door.address, timeout=10) as connection,
    ):
        connection.sendall(head("content-length: 1000"))
        for _ in range(4):
            connection.sendall(b"x")
            time.sleep(0.1)
        assert answer_of(connection) == "HTTP/1.1 408 Request Timeout"
        assert door.recorded() == 0


@pytest.mark.parametrize("seats", [{"middle_bodies": 1}, {"middle_bytes": 50_000, "large_bodies": 1}])
def test_larger_bodies_wait_for_one_another_and_small_ones_for_nobody(
    env: dict[str, str], seats: dict[str, int]
) -> None:
    limits = Limits(small_bytes=50_000, seconds=1.0, linger_seconds=0.1, **seats)
    large = json.dumps(labeled() | {"padding": "y" * 100_000}).encode()
    with running(web_settings(env), limits) as door:
        with socket.create_connection(door.address, timeout=10) as holder:
            holder.sendall(head("content-length: 200000") + b"x" * 100_000)
            time.sleep(0.1)
            with socket.create_connection(door.address, timeout=10) as waiting:
                waiting.sendall(head("content-length: 200000") + b"x" * 100_000)
                assert door.post("issues", labeled()).status_code == 202
                assert "408" in answer_of(holder)
                assert "503" in answer_of(waiting)
        assert door.post("issues", large).status_code == 202


def test_a_sender_that_goes_away_leaves_nothing_and_frees_its_seat(env: dict[str, str]) -> None:
    limits = Limits(small_bytes=10, middle_bodies=1, seconds=5.0)
    with running(web_settings(env), limits) as door:
        for length in (100, 4000):
            with socket.create_connection(door.address, timeout=10) as connection:
                connection.sendall(head("content-length: 5000") + b"x" * length)
        assert door.post("issues", labeled()).status_code == 202
        assert door.recorded() == 1


def test_a_refusal_reaches_a_sender_who_has_not_finished_sending(closed_door: Door) -> None:
    unsigned = head("content-length: 600000", "none")
    with socket.create_connection(closed_door.address, timeout=10) as connection:
        connection.sendall(unsigned)
        for _ in range(6):
            connection.sendall(b"x" * 100_000)
            time.sleep(0.03)
        assert answer_of(connection) == "HTTP/1.1 401 Unauthorized"


def test_a_head_without_end_is_cut_off(closed_door: Door) -> None:
    with socket.create_connection(closed_door.address, timeout=10) as connection:
        connection.sendall(b"POST /webhooks/github HTTP/1.1\r\n")
        sent = 0
        with pytest.raises(ConnectionError):
            while sent < 10 * MB:
                connection.sendall(b"x-more: " + b"y" * 8000 + b"\r\n")
                sent += 8000
        assert sent < 8 * MB
