"""What a run gives back, and that nothing of it stays (SB-02, SB-03, PI-04, GT-02)."""

import os
import resource
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from worker.box.account import account_for_the_box
from worker.box.box import Box, BoxUnavailable, Command, Ended, Profile, Ran, _slots
from worker.box.limits import MIB
from worker.box.orphans import end_orphans
from worker.box.profiles import TERMS, limits_of
from worker.box.staging import RUNS, Staging

pytestmark = pytest.mark.needs_userns
Running = Callable[..., Ran]


def alive_with(word: str) -> list[int]:
    """Processes of this machine whose command line holds the word."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if word.encode() in Path(f"/proc/{entry}/cmdline").read_bytes():
                    found.append(int(entry))
            except OSError:
                continue
    return found


def wait_until(condition: Callable[[], object], seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def contents(tree: Path) -> dict[str, bytes]:
    return {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()}


def test_the_exit_status_and_both_outputs_come_back_in_order(ran: Running) -> None:
    result = ran("sh", "-c", "echo one; echo two >&2; echo three; exit 7")
    assert (result.ended, result.exit_status, result.output) == (Ended.EXITED, 7, b"one\ntwo\nthree\n")
    assert result.dropped_bytes == 0 and result.limits == "soft" and result.seconds < 5


def test_a_command_starts_in_the_tree_with_the_fixed_environment_only(ran: Running) -> None:
    result = ran("env", profile=Profile.READ)
    names = {line.split("=")[0] for line in result.output.decode().splitlines()}
    assert names == {"PATH", "HOME", "TMPDIR", "LANG", "PWD"}
    assert b"PWD=/work\n" in result.output


def test_an_allowed_variable_reaches_the_command(box: Box, tree: Path) -> None:
    result = box.run(tree, Command(("env",), 5, Profile.READ, {"PYTHONPATH": "/work/src:/tools/0"}))
    assert isinstance(result, Ran) and b"PYTHONPATH=/work/src:/tools/0\n" in result.output


def test_words_reach_the_program_untouched_by_any_shell(ran: Running) -> None:
    words = ("$(id)", "`id`", "a b", "", "*", "--", "'\"\\", "-n", "é\n")
    result = ran("/usr/bin/python3", "-I", "-c", "import sys; print(ascii(sys.argv[1:]))", *words, profile=Profile.READ)
    assert result.output.decode().strip() == ascii(list(words))


def test_a_program_that_is_not_there_is_a_failed_command_and_not_a_missing_box(ran: Running) -> None:
    result = ran("no-such-program")
    assert (result.ended, result.exit_status) == (Ended.EXITED, 127)
    assert b"no-such-program" in result.output


def test_a_program_killed_by_a_signal_says_so_in_its_status(ran: Running) -> None:
    result = ran("sh", "-c", "kill -SEGV $$")
    assert (result.ended, result.exit_status) == (Ended.EXITED, 128 + signal.SIGSEGV)


def test_a_command_cannot_pass_for_one_that_did_not_start(ran: Running) -> None:
    result = ran("sh", "-c", "echo 'bwrap: No permissions to create new namespace'; exit 1")
    assert (result.ended, result.exit_status) == (Ended.EXITED, 1)


def test_throw_away_profiles_change_nothing_of_the_tree(ran: Running, open_tree: Path) -> None:
    (open_tree / "package-lock.json").write_text("{}\n")
    before = contents(open_tree)
    work = "mkdir -p __pycache__ node_modules/a && echo x > __pycache__/a.pyc && echo x > node_modules/a/index.js"
    for profile in (Profile.TEST, Profile.REPRO):
        result = ran(
            "sh",
            "-c",
            f"{work} && echo changed > package-lock.json && rm notes.md && ls",
            profile=profile,
            at=open_tree,
        )
        assert result.output.split() == [b"__pycache__", b"node_modules", b"package-lock.json"]
    assert contents(open_tree) == before


def test_each_throw_away_run_starts_from_the_tree_again(ran: Running) -> None:
    assert ran("sh", "-c", "echo left > left; ls").output == b"left\nnotes.md\n"
    assert ran("ls").output == b"notes.md\n"


def test_reading_sees_the_tree_and_cannot_change_it(ran: Running, open_tree: Path) -> None:
    result = ran("sh", "-c", "cat notes.md; echo x >> notes.md; touch new", profile=Profile.READ, at=open_tree)
    assert result.output.startswith(b"first\n") and result.exit_status != 0
    assert contents(open_tree) == {"notes.md": b"first\n"}


def test_writing_changes_the_tree_itself(ran: Running, open_tree: Path) -> None:
    result = ran("sh", "-c", "echo second >> notes.md; echo n > new", profile=Profile.WRITE, at=open_tree)
    assert result.exit_status == 0
    assert contents(open_tree) == {"notes.md": b"first\nsecond\n", "new": b"n\n"}


def test_a_file_that_only_its_owner_may_read_can_be_read_inside(ran: Running, open_tree: Path) -> None:
    (open_tree / "notes.md").chmod(0o600)
    (open_tree / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (open_tree / "run.sh").chmod(0o700)
    assert ran("sh", "-c", "cat notes.md; ./run.sh", at=open_tree).output == b"first\nran\n"


def test_tools_are_mounted_in_their_order_and_read_only(box: Box, tree: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "name").write_text(name)
    text = "cat /tools/0/name /tools/1/name; touch /tools/0/x 2>/dev/null || echo -refused"
    command = Command(("sh", "-c", text), 5, Profile.TEST, tools=(tmp_path / "one", tmp_path / "two"))
    result = box.run(tree, command)
    assert isinstance(result, Ran) and result.output == b"onetwo-refused\n"


def test_git_never_enters_the_box(box: Box, tree: Path) -> None:
    (tree / ".git").write_text("gitdir: elsewhere\n")
    with pytest.raises(ValueError, match=r"\.git"):
        box.run(tree, Command(("true",), 5, Profile.READ))


def test_a_tree_that_is_a_link_is_not_followed(box: Box, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tree)
    with pytest.raises(ValueError, match="handed over"):
        box.run(tmp_path / "link", Command(("true",), 5, Profile.READ))


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "LD_PRELOAD", "PATH", "HOME", "BASH_ENV"])
def test_variables_outside_the_list_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Command(("true",), 1, Profile.READ, {name: "x"})


def test_a_command_needs_words_time_and_no_null_character() -> None:
    for words, seconds in (((), 1.0), (("",), 1.0), (("a\0b",), 1.0), (("true",), 0.0)):
        with pytest.raises(ValueError):
            Command(words, seconds, Profile.READ)


CHILDREN = {
    "a background child holds the output": ("(sleep 600 &); exit 0", Ended.EXITED),
    "the shell waits for its child": ("sleep 600 & wait", Ended.TIMEOUT),
    "a child writes for ever": ("(while :; do echo x >> grows; sleep 0.02; done) & wait", Ended.TIMEOUT),
    "daemons ignore every signal": (
        "for n in 1 2; do (setsid sh -c 'trap \"\" TERM INT HUP QUIT; while :; do sleep 60; done' &) ; done; sleep 60",
        Ended.TIMEOUT,
    ),
    "a spinning program": ("while :; do :; done", Ended.TIMEOUT),
}


@pytest.mark.parametrize("case", CHILDREN)
def test_17_21_nothing_outlives_a_command(case: str, ran: Running, open_tree: Path) -> None:
    text, ended = CHILDREN[case]
    word = secrets.token_hex(8)
    start = time.monotonic()
    result = ran("sh", "-c", f": {word}; {text}", profile=Profile.WRITE, seconds=0.6, at=open_tree)
    assert time.monotonic() - start < 4
    assert result.ended is ended
    assert result.exit_status == (0 if ended is Ended.EXITED else None)
    assert not alive_with(word)
    size = (open_tree / "grows").stat().st_size if (open_tree / "grows").exists() else 0
    time.sleep(0.1)
    assert size == ((open_tree / "grows").stat().st_size if (open_tree / "grows").exists() else 0)


def test_reading_from_nothing_gives_the_end_at_once(ran: Running) -> None:
    result = ran("cat", seconds=5)
    assert (result.ended, result.exit_status, result.output) == (Ended.EXITED, 0, b"")
    assert result.seconds < 2


@pytest.mark.parametrize("text", ["yes 0123456789abcdef", "cat /dev/zero"])
def test_22_endless_output_is_cut_and_ended_in_little_memory(text: str, ran: Running) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = ran("sh", "-c", text, seconds=20)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    limits = limits_of(Profile.TEST)
    assert result.ended is Ended.OUTPUT and result.exit_status is None
    assert len(result.output) < limits.output_kept_bytes + 200
    assert result.dropped_bytes >= limits.output_killed_bytes - limits.output_kept_bytes
    assert f"[{result.dropped_bytes} bytes of output left out here]".encode() in result.output
    assert grown * 1024 < 32 * MIB


def test_the_tail_of_long_output_is_kept(ran: Running) -> None:
    result = ran("sh", "-c", "echo begin; yes x | head -c 3000000; echo the-end")
    assert result.output.startswith(b"begin\n") and result.output.endswith(b"the-end\n")
    assert result.dropped_bytes == 3000000 + len("begin\nthe-end\n") - limits_of(Profile.TEST).output_kept_bytes


def test_a_flood_does_not_starve_the_clock(ran: Running) -> None:
    # Slow enough to stay under the cap and without a pause, so that there is always something to read.
    text = "import os,time\nwhile True: os.write(1, b'x' * 512); time.sleep(0.0002)"
    result = ran("/usr/bin/python3", "-I", "-c", text, seconds=0.6)
    assert result.ended is Ended.TIMEOUT


def test_the_clock_of_a_profile_cannot_be_stretched() -> None:
    assert {profile.value: terms.limits.wall_seconds for profile, terms in TERMS.items()} == {
        "read": 20,
        "repro": 300,
        "test": 900,
        "write": 300,
        "install": 600,
    }


def test_processor_time_of_all_children_is_counted(ran: Running) -> None:
    spin = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    result = ran("sh", "-c", 'python3 -Ic "$0" & python3 -Ic "$0" & wait', spin)
    assert result.exit_status == 0, result.output
    assert 0.6 <= result.cpu_seconds < 3


def test_30_what_a_command_plants_for_git_is_gone_with_the_copy(ran: Running, open_tree: Path) -> None:
    marker = open_tree.parent / "marker"
    plant = (
        "mkdir -p .git/hooks inner/.git && printf '[core]\\n fsmonitor = touch %s\\n' \"$0\" > .git/config"
        " && printf '#!/bin/sh\\ntouch %s\\n' \"$0\" > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit"
    )
    result = ran("sh", "-c", plant, str(marker), at=open_tree)
    assert result.exit_status == 0, result.output
    assert [path.name for path in open_tree.iterdir()] == ["notes.md"]
    subprocess.run(["git", "status"], cwd=open_tree, env={"PATH": "/usr/bin:/bin"}, capture_output=True, check=False)
    assert not marker.exists()


def test_37_a_run_may_be_asked_for_by_a_thread_that_is_the_first_and_short_lived(box: Box, tree: Path) -> None:
    results: list[Ran | BoxUnavailable] = []
    command = Command(("sleep", "0.3"), 5, Profile.READ)
    threads = [threading.Thread(target=lambda: results.append(box.run(tree, command))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.exit_status for result in results if isinstance(result, Ran)] == [0, 0, 0]


SUPERVISOR = """
import sys
from pathlib import Path
from worker.box.account import account_for_the_box
from worker.box.box import Command, Profile, open_box
open_box().run(Path(sys.argv[1]), Command(("sh", "-c", "sleep 60; : " + sys.argv[2]), 60, Profile.TEST))
"""


@pytest.mark.parametrize("later", [0.0, 0.002, 0.005, 0.01, 0.1])
def test_18_the_run_dies_with_a_supervisor_that_is_killed(later: float, box: Box, tree: Path) -> None:
    word = secrets.token_hex(8)
    root = Path(__file__).parents[3]
    # The word is given in two halves, so that only processes of the run carry the whole of it.
    text = SUPERVISOR.replace("sys.argv[2]", "sys.argv[2] + sys.argv[3]")
    supervisor = subprocess.Popen([sys.executable, "-c", text, str(tree), word[:8], word[8:]], cwd=root)
    try:
        assert wait_until(lambda: alive_with(word), 15)
        time.sleep(later)
        supervisor.send_signal(signal.SIGKILL)
        supervisor.wait()
        # What was killed before bubblewrap had tied its two processes together is for the next box to end.
        account = account_for_the_box()
        assert not isinstance(account, BoxUnavailable)
        assert wait_until(lambda: not alive_with(word), 1) or end_orphans(account)
        assert wait_until(lambda: not alive_with(word))
    finally:
        supervisor.kill()
        supervisor.wait()


def zombies() -> set[str]:
    found = set()
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state == "Z" and int(parent) in (1, os.getpid()):
            found.add(entry)
    return found


def test_a_run_leaves_no_zombie_to_this_process_or_to_the_first_one(ran: Running) -> None:
    before = zombies()
    for text in ("true", "(sleep 60 &); exit 0"):
        ran("sh", "-c", text)
    assert zombies() <= before


def test_copies_that_a_killed_process_left_are_removed_by_the_next(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = RUNS / f"countersign-stage-{gone.pid}-{secrets.token_hex(4)}"
    left.mkdir()
    kept = RUNS / f"countersign-stage-{os.getpid()}-{secrets.token_hex(4)}"
    kept.mkdir()
    try:
        copy = Staging().copy(tmp_path)
        assert not left.exists() and kept.exists()
        assert not copy.exists()
    finally:
        kept.rmdir()


def test_a_command_that_waits_for_its_turn_is_called_off_as_well(box, tree):
    answers, taken = iter([True, False]), 0
    while _slots.acquire(blocking=False):
        taken += 1
    try:
        result = box.run(tree, Command(("true",), 5, Profile.TEST), lambda: next(answers))
    finally:
        for _ in range(taken):
            _slots.release()
    assert isinstance(result, Ran) and (result.ended, result.exit_status) == (Ended.CALLED_OFF, None)
    for _ in range(taken + 1):
        result = box.run(tree, Command(("true",), 5, Profile.TEST))
        assert isinstance(result, Ran) and result.exit_status == 0, "each turn is given back"
