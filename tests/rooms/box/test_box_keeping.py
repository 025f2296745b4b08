"""Prepared environments on a disk that has an end: which of them go, and which never do."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from worker.box.keeping import hold, keep_within

KINDS = ("node", "python")
BYTES = 100_000


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Three environments that nobody uses; `first` was used longest ago, `third` last."""
    for number, (kind, name) in enumerate((("node", "first"), ("python", "second"), ("node", "third"))):
        directory = tmp_path / kind / name
        (directory / "inside").mkdir(parents=True)
        (directory / "inside" / "file").write_bytes(os.urandom(BYTES))
        (directory / "inside" / "file").chmod(0o444)
        (directory / "inside").chmod(0o555)
        hold(directory)
        os.utime(tmp_path / "uses" / name, (1_000 + number, 1_000 + number))
    return tmp_path


def names(cache: Path) -> list[str]:
    """What is there, in any form."""
    return sorted(path.name for kind in KINDS for path in (cache / kind).iterdir())


def test_what_was_used_longest_ago_goes_first_and_no_more_than_has_to(cache: Path) -> None:
    assert keep_within(cache, KINDS, 10 * BYTES) == ()
    assert keep_within(cache, KINDS, int(2.5 * BYTES)) == (cache / "node" / "first",)
    hold(cache / "python" / "second")
    assert keep_within(cache, KINDS, int(1.5 * BYTES)) == (cache / "node" / "third",)
    assert names(cache) == ["second"] == [path.name for path in (cache / "uses").iterdir()]


def test_measuring_is_no_use(cache: Path) -> None:
    keep_within(cache, KINDS, 10 * BYTES)
    assert (cache / "uses" / "second").stat().st_mtime == 1_001


def test_an_environment_in_use_is_never_removed_and_another_one_goes_in_its_place(cache: Path) -> None:
    in_use = hold(cache / "node" / "first")
    assert keep_within(cache, KINDS, 0) == (cache / "python" / "second", cache / "node" / "third")
    assert names(cache) == ["first"]
    del in_use
    assert keep_within(cache, KINDS, 0) == (cache / "node" / "first",)


def test_another_process_holds_it_as_well_until_it_is_dead(cache: Path) -> None:
    script = "import pathlib, sys; from worker.box.keeping import hold\n"
    script += "held = hold(pathlib.Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    words = [sys.executable, "-c", script, str(cache / "node" / "first")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]) as other:
        assert other.stdout is not None and other.stdout.readline() == b"held\n"
        keep_within(cache, KINDS, 0)
        assert names(cache) == ["first"]
        other.kill()
    keep_within(cache, KINDS, 0)
    assert names(cache) == []


def test_whoever_waited_for_a_removal_holds_a_lock_that_others_see(cache: Path) -> None:
    held = []
    for _ in range(50):
        directory = cache / "node" / "first"
        directory.mkdir(exist_ok=True)
        waiting = threading.Thread(target=lambda: held.append(hold(cache / "node" / "first")))
        waiting.start()
        keep_within(cache, ("node",), 0)
        waiting.join(10)
        assert len(held) == 1
        directory.mkdir(exist_ok=True)
        assert keep_within(cache, ("node",), 0) == () and directory.is_dir()
        held.clear()


def test_what_a_killed_process_left_behind_goes_after_a_day(cache: Path) -> None:
    for name in (".making-old", ".gone-old", ".making-young"):
        (cache / "node" / name).mkdir()
    for name in (".making-old", ".gone-old"):
        os.utime(cache / "node" / name, (1_000, 1_000))
    keep_within(cache, KINDS, 10 * BYTES)
    assert names(cache) == [".making-young", "first", "second", "third"]
