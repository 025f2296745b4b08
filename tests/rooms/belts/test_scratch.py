"""Scratch folders: gone after the work, and after the death of who worked there."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from worker.belts.scratch import clear_left, scratch

LATER = 100.0
WORKS = """
import sys, tempfile, time
from worker.belts.scratch import scratch
tempfile.tempdir = sys.argv[1]
with scratch() as folder:
    (folder / "tree").mkdir()
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[Path]:
    """Where temporary folders of this process are made."""
    usual, tempfile.tempdir = tempfile.tempdir, str(tmp_path)
    yield tmp_path
    tempfile.tempdir = usual


def test_what_a_killed_process_left_is_cleared_and_what_is_in_use_is_not(temporary: Path) -> None:
    (temporary / "countersign-scratch-link").symlink_to(temporary.parent)
    (temporary / "countersign-other").mkdir()
    words = [sys.executable, "-c", WORKS, str(temporary)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as other, scratch() as own:
        assert other.stdout is not None
        left = Path(other.stdout.readline().strip())
        clear_left(time.time() + LATER)
        assert left.is_dir() and own.is_dir()
        other.kill()
        other.wait()
        clear_left(left.stat().st_mtime)
        assert left.is_dir(), "one so young may not be held yet"
        clear_left(time.time() + LATER)
        assert not left.exists() and own.is_dir()
    assert not own.exists()
    assert {one.name for one in temporary.iterdir()} == {"countersign-scratch-link", "countersign-other"}
