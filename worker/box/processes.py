"""Starts the product's own long-lived processes for `up`; none of them outlives it."""

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from os import getpid
from pathlib import Path

from worker.box.keeper import start_kept
from worker.box.kernel import die_with_parent

__all__ = ["Process", "Speech", "die_with_parent", "start_process"]

_FASTENER = Path(__file__).with_name("fasten.py")


class Speech(StrEnum):
    """Where a process without a log file says what it says."""

    INHERIT = "inherit"
    """Where this process says it."""


@dataclass(frozen=True, slots=True)
class Process:
    """A running child. It gets SIGTERM from the kernel when this process ends in whatever way."""

    _popen: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return self._popen.pid

    def poll(self) -> int | None:
        """The exit status (negative for a signal), or None while it runs."""
        return self._popen.poll()

    def wait(self, timeout_seconds: float | None = None) -> int | None:
        """The exit status, or None when it still runs after that time."""
        try:
            return self._popen.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return None

    def terminate(self) -> None:
        """The process was asked to end."""
        self._popen.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """The process was ended."""
        self._popen.kill()


def start_process(
    argv: Sequence[str],
    environment: Mapping[str, str],
    pass_fds: Sequence[int] = (),
    log: Path | Speech = Speech.INHERIT,
) -> Process:
    """The running process. It sees only `environment` and the descriptors named; its input is empty.

    It is a session of its own, so that a Ctrl-C in the terminal reaches only this process, which then decides.
    `log` is a file to which it appends, made with mode 0600. Raises OSError when nothing can be started; a
    program that does not exist ends with status 127.
    """
    words = [sys.executable, "-I", "-S", str(_FASTENER), str(getpid()), *argv]
    with ExitStack() as stack:
        output = None
        if isinstance(log, Path):
            log.touch(mode=0o600)
            output = stack.enter_context(log.open("ab"))
        return Process(
            start_kept(
                lambda: subprocess.Popen(
                    words,
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=tuple(pass_fds),
                    start_new_session=True,
                )
            )
        )
