"""Starts the egress process for one run, and takes from it what it told when the run is over."""

import json
import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from worker.box.account import Account, BoxAccount
from worker.box.egress.process import READY
from worker.box.egress.rules import Reached, Rules
from worker.box.keeper import start_kept

_ROOT = str(Path(__file__).resolve().parents[3])
_BEGIN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from worker.box.egress.process import main; main()"
_SAID_BYTES = 2 * 1024 * 1024


class NoEgress(Exception):
    """The proxy could not be started, so neither may the command; the text says why."""


@dataclass(slots=True)
class Egress:
    """A running proxy for one run."""

    _process: subprocess.Popen[bytes]
    _said: tuple[Reached, ...] | None = None

    def end(self) -> tuple[Reached, ...]:
        """It is gone with all its connections; every wish that it told."""
        if self._said is None:
            self._said = self._ended()
        return self._said

    def _ended(self) -> tuple[Reached, ...]:
        self._process.terminate()
        try:
            said, _ = self._process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            said, _ = self._process.communicate()
        return _told(said)


def start_egress(rules: Rules, first: int, account: Account, seconds: float) -> Egress:
    """The proxy accepts connections inside the namespace of the process `first`. Raises NoEgress."""
    try:
        network = os.open(f"/proc/{first}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise NoEgress(f"The network of the box cannot be opened: {error.strerror}.") from error
    try:
        process = start_kept(lambda: _started(network, account))
    except OSError as error:
        raise NoEgress(f"The proxy cannot be started: {error.strerror}.") from error
    finally:
        os.close(network)
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(rules.to_json().encode())
        process.stdin.close()
    process.stdin = None
    if not _is_ready(process, seconds):
        process.kill()
        _, said = process.communicate()
        words = " ".join(said.decode("utf-8", "replace").split())[-300:]
        raise NoEgress(f"The proxy of the box did not come up: {words or 'it said nothing'}.")
    return Egress(process)


def _started(network: int, account: Account) -> subprocess.Popen[bytes]:
    own = account if isinstance(account, BoxAccount) else None
    words = [str(os.getpid()), str(network), str(own.uid if own else -1), str(own.gid if own else -1)]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _BEGIN, _ROOT, *words],
        env={},
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(network,),
        start_new_session=True,
    )


def _is_ready(process: subprocess.Popen[bytes], seconds: float) -> bool:
    assert process.stdout is not None
    deadline, said = time.monotonic() + seconds, b""
    while not said.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
            return False
        byte = os.read(process.stdout.fileno(), 1)
        if not byte:
            return False
        said += byte
    return said.decode("utf-8", "replace").strip() == READY


def _told(said: bytes) -> tuple[Reached, ...]:
    found = []
    for line in said[:_SAID_BYTES].splitlines():
        with suppress(ValueError, TypeError):
            found.append(Reached(**json.loads(line)))
    return tuple(found)
