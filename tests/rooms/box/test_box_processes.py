"""The product's own processes, which end with the one that started them."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from worker.box.processes import Process, start_process

PATH = {"PATH": "/usr/bin:/bin"}


def gone(pid: int, seconds: float = 5) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def wait_until_fastened(pid: int) -> None:
    """It has become the program `sleep`, so the wish to die with its parent is in force."""
    deadline = time.monotonic() + 5
    while b"sleep" not in Path(f"/proc/{pid}/cmdline").read_bytes()[:6] and time.monotonic() < deadline:
        time.sleep(0.01)


def test_a_process_says_into_its_log_and_gives_its_status(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    process = start_process(["sh", "-c", "env; echo bad >&2; exit 4"], {**PATH, "ONE": "1"}, log=log)
    assert process.wait(10) == 4 and process.poll() == 4
    said = log.read_text()
    assert "ONE=1" in said and "bad" in said and "HOME" not in said
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_process_runs_until_it_is_asked_to_end() -> None:
    process = start_process(["sleep", "60"], PATH)
    assert process.poll() is None and process.wait(0.05) is None
    process.terminate()
    assert process.wait(10) == -signal.SIGTERM
    stubborn = start_process(["sh", "-c", "trap '' TERM; while :; do sleep 60; done"], PATH)
    stubborn.kill()
    assert stubborn.wait(10) == -signal.SIGKILL


LISTING = "import os, sys; os.write(int(sys.argv[1]), ' '.join(os.listdir('/proc/self/fd')).encode())"


def test_a_descriptor_that_is_passed_arrives_and_no_other_does() -> None:
    reading, writing = os.pipe()
    other = os.pipe()
    try:
        process = start_process(["/usr/bin/python3", "-Ic", LISTING, str(writing)], PATH, (writing,))
        assert process.wait(10) == 0
        seen = os.read(reading, 1000).split()
        assert str(writing).encode() in seen
        assert not {str(reading).encode(), *(str(end).encode() for end in other)} & set(seen)
    finally:
        for end in (reading, writing, *other):
            os.close(end)


def test_a_program_that_is_not_there_ends_with_127(tmp_path: Path) -> None:
    process = start_process(["no-such-program"], PATH, log=tmp_path / "log")
    assert process.wait(10) == 127
    assert "no-such-program" in (tmp_path / "log").read_text()


SUPERVISOR = """
import sys, time
from worker.box.processes import start_process
print(start_process(["sleep", "60"], {"PATH": "/usr/bin:/bin"}).pid, flush=True)
time.sleep(60)
"""


def test_a_process_ends_when_its_supervisor_is_killed() -> None:
    root = Path(__file__).parents[3]
    with subprocess.Popen([sys.executable, "-c", SUPERVISOR], cwd=root, stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        child = int(supervisor.stdout.readline())
        wait_until_fastened(child)
        supervisor.kill()
        supervisor.wait()
        assert gone(child)


def test_a_process_outlives_the_thread_that_asked_for_it() -> None:
    started: list[Process] = []

    def ask() -> None:
        started.append(start_process(["sleep", "60"], PATH))
        wait_until_fastened(started[0].pid)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    try:
        assert started[0].wait(0.4) is None
    finally:
        started[0].kill()
        started[0].wait(10)
