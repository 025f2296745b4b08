"""Fixed programs for trusted code, bounded."""

import secrets
import time
from pathlib import Path

import pytest

from worker.box.tool import ToolMissing, ToolOutputTooLong, ToolTimedOut, run_tool

PATH = {"PATH": "/usr/bin:/bin"}


def test_status_and_both_outputs_come_back(tmp_path: Path) -> None:
    ran = run_tool(["sh", "-c", "pwd; echo bad >&2; exit 3"], cwd=tmp_path, environment=PATH)
    assert (ran.exit_status, ran.stdout, ran.stderr) == (3, f"{tmp_path}\n".encode(), b"bad\n")


def test_the_environment_is_the_one_given_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    ran = run_tool(["env"], cwd=tmp_path, environment={**PATH, "ONE": "1"})
    assert sorted(ran.stdout.decode().split()) == ["ONE=1", "PATH=/usr/bin:/bin"]


def test_large_input_and_output_pass_through_at_once(tmp_path: Path) -> None:
    text = secrets.token_bytes(3_000_000)
    assert run_tool(["cat"], cwd=tmp_path, environment=PATH, input=text).stdout == text


def test_a_program_that_does_not_read_its_input_ends_well(tmp_path: Path) -> None:
    assert run_tool(["true"], cwd=tmp_path, environment=PATH, input=b"x" * 1_000_000).exit_status == 0


def test_without_input_a_program_reads_the_end_at_once(tmp_path: Path) -> None:
    assert run_tool(["cat"], cwd=tmp_path, environment=PATH).stdout == b""


def test_at_the_time_limit_the_whole_group_is_gone(tmp_path: Path) -> None:
    start = time.monotonic()
    with pytest.raises(ToolTimedOut, match=r"0\.3 s"):
        run_tool(["sh", "-c", "sleep 60 & echo $! > pid; wait"], cwd=tmp_path, environment=PATH, timeout_seconds=0.3)
    assert time.monotonic() - start < 3
    child = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 3
    while Path(f"/proc/{child}").exists() and _state(child) != "Z" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{child}").exists() or _state(child) == "Z"


def _state(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def test_too_much_output_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolOutputTooLong, match="5000"):
        run_tool(["yes"], cwd=tmp_path, environment=PATH, output_limit=5000)


def test_too_many_errors_are_cut_and_harm_nothing(tmp_path: Path) -> None:
    ran = run_tool(["sh", "-c", "yes | head -c 1000000 >&2"], cwd=tmp_path, environment=PATH)
    assert ran.exit_status == 0 and len(ran.stderr) == 64 * 1024


@pytest.mark.parametrize("program", ["no-such-program", "/nowhere/git", "/etc/passwd"])
def test_a_missing_program_has_a_name_of_its_own(program: str, tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match=program):
        run_tool([program], cwd=tmp_path, environment=PATH)


def test_no_descriptor_of_ours_reaches_the_program(tmp_path: Path) -> None:
    ran = run_tool(["ls", "/proc/self/fd"], cwd=tmp_path, environment=PATH)
    assert ran.stdout.split() == [b"0", b"1", b"2", b"3"]
