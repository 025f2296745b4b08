"""Runs the fixed programs that trusted code needs (git, ripgrep, pip): bounded, without a shell, outside the box."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from worker.box.kernel import reap_group

_CHUNK = 64 * 1024
_TEXT_OF_ERRORS = 64 * 1024


class ToolFailure(Exception):
    """The program did not come to an end of its own."""


class ToolMissing(ToolFailure):
    """There is no such program, or it cannot be started."""


class ToolTimedOut(ToolFailure):
    """The program was killed at its time limit."""


class ToolOutputTooLong(ToolFailure):
    """The program was killed because it wrote more than the limit."""


@dataclass(frozen=True, slots=True)
class ToolRan:
    """A program that ended by itself. `exit_status` is negative for a signal."""

    exit_status: int
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, slots=True)
class _Bounds:
    timeout_seconds: float
    output_limit: int


def run_tool(  # noqa: PLR0913 (one door for every fixed program; each keyword is a thing a caller decides)
    argv: Sequence[str | Path],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    input: bytes | None = None,
    timeout_seconds: float = 60.0,
    output_limit: int = 16 * 1024 * 1024,
) -> ToolRan:
    """The program's answer. It saw only `environment`; its process group is gone when this returns or raises.

    `output_limit` bounds standard output in bytes; standard error is kept to its first 64 KiB.
    Raises ToolMissing, ToolTimedOut or ToolOutputTooLong.
    """
    words = [str(word) for word in argv]
    try:
        process = subprocess.Popen(
            words,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolMissing(f"{words[0]} cannot be started: {error.strerror}") from error
    try:
        return _converse(process, input or b"", _Bounds(timeout_seconds, output_limit))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reap_group(process.pid)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def _converse(process: subprocess.Popen[bytes], pending: bytes, limits: _Bounds) -> ToolRan:
    assert process.stdout is not None and process.stderr is not None
    stdout, stderr = bytearray(), bytearray()
    deadline = time.monotonic() + limits.timeout_seconds
    to_write = memoryview(pending)
    name = str(process.args[0]) if isinstance(process.args, list) else "the program"
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, stdout)
        selector.register(process.stderr, selectors.EVENT_READ, stderr)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise ToolTimedOut(f"{name} took longer than {limits.timeout_seconds:g} s")
            for key, _ in selector.select(left):
                if key.fileobj is process.stdin:
                    to_write = _write_some(process.stdin, to_write)
                    if not to_write:
                        selector.unregister(process.stdin)
                        process.stdin.close()
                    continue
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.data is stderr:
                    stderr += chunk[: _TEXT_OF_ERRORS - len(stderr)]
                else:
                    stdout += chunk
                    if len(stdout) > limits.output_limit:
                        raise ToolOutputTooLong(f"{name} wrote more than {limits.output_limit} bytes")
    try:
        status = process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise ToolTimedOut(f"{name} took longer than {limits.timeout_seconds:g} s") from error
    return ToolRan(status, bytes(stdout), bytes(stderr))


def _write_some(pipe: IO[bytes], text: memoryview) -> memoryview:
    """What is left to write; nothing when the program does not want more."""
    try:
        return text[os.write(pipe.fileno(), text[:_CHUNK]) :]
    except BlockingIOError:
        return text
    except BrokenPipeError:
        return text[:0]
