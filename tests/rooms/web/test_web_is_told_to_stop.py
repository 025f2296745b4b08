"""A web process that is told to stop with a delivery half read: it is read, stored, answered and rung for."""

import json
import os
import signal
import socket
import subprocess
import sys

import httpx

from app.ledger import open_ledger
from tests.fakes.services import free_port
from tests.rooms.web.conftest import PATIENCE, labeled, sign, wait_until
from worker.up import GRACE_SECONDS


def test_a_delivery_that_is_half_here_is_stored_and_answered_before_the_process_ends(env: dict[str, str]) -> None:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "app.main"],
        env=env | {"PATH": os.environ["PATH"], "PYTHONPATH": os.getcwd(), "PORT": str(port)},
    )
    try:
        wait_until(lambda: answers(port))
        body = json.dumps(labeled()).encode()
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
            line.sendall(
                b"POST /webhooks/github HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\n"
                b"x-github-event: issues\r\nx-github-delivery: 8d5dbd6e-0000-4000-8000-000000000001\r\n"
                + f"x-hub-signature-256: {sign(body)}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
                + body[:100]
            )
            wait_until(lambda: answers(port))
            process.send_signal(signal.SIGTERM)
            # It takes nobody new any more, and this one is not sent away.
            wait_until(lambda: not answers(port))
            line.sendall(body[100:])
            assert line.recv(65_536).startswith(b"HTTP/1.1 2")
        assert process.wait(GRACE_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
    ledger = open_ledger(f"sqlite:///{env['COUNTERSIGN_DATA_DIR']}/ledger.db")
    assert ledger.counts()["deliveries"] == 1 and len(ledger.runs()) == 1
    ledger.close()
    messages = os.listdir(f"{env['COUNTERSIGN_DATA_DIR']}/queue/messages")
    assert len(messages) == 1


def answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False
