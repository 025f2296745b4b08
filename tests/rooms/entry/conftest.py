"""Processes of the product as they are started from the outside, with an environment of one's own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from infra.twin.twin import AppWish, Twin
from tests.fakes.household import app_key

ROOT = Path(__file__).resolve().parents[3]
PLAIN = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}


def run(*words: str, env: Mapping[str, str], seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """`countersign WORDS` with only this environment, to its end."""
    command = [sys.executable, "-m", "app.cli", *words]
    return subprocess.run(
        command, env=PLAIN | dict(env), capture_output=True, text=True, check=False, timeout=seconds, cwd=ROOT
    )


def refused(done: subprocess.CompletedProcess[str], name: str) -> str:
    """What was said by a process that must not start: one sentence that names the variable, and exit code 2."""
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert name in line and line.endswith("."), line
    return line


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(true: Callable[[], Any], seconds: float = 40, why: Callable[[], str] = lambda: "") -> Any:
    """What `true` gives once it gives something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := true():
            return found
        time.sleep(0.05)
    raise AssertionError(f"it did not happen within {seconds} s. {why()}")


def stop(process: subprocess.Popen[Any]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[Twin]:
    made = Twin.start(tmp_path / "twin", AppWish(public_key=app_key()[1]))
    yield made
    made.stop()


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a command that is ended with the test."""
    running: list[subprocess.Popen[str]] = []

    def start(words: list[str], env: Mapping[str, str], log: Path, **more: Any) -> subprocess.Popen[str]:
        with log.open("ab") as file:
            running.append(
                subprocess.Popen(
                    words, env=PLAIN | dict(env), stdout=file, stderr=file, stdin=subprocess.DEVNULL, cwd=ROOT, **more
                )
            )
        return running[-1]

    yield start
    for process in running:
        stop(process)
