"""What the suite does where something is missing on the machine: it says so and goes on, and in CI it fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT

WANTS_REDIS = """
def test_that_needs_redis(redis_url):
    raise AssertionError("Redis is here after all")

def test_that_needs_nothing():
    pass
"""


def suite(folder: Path, ci: str) -> subprocess.CompletedProcess[str]:
    """A session with our conftest on a machine without Redis: nothing is on its PATH."""
    (folder / "test_two.py").write_text(WANTS_REDIS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "CI"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-c", "pytest.ini", "-p", "tests.conftest", "-p", "no:cacheprovider", "."],
        cwd=folder, env={**kept, "PATH": str(folder), "PYTHONPATH": str(ROOT), "CI": ci},
        capture_output=True, text=True, check=False, timeout=110,
    )  # fmt: skip


def test_a_missing_server_is_named_at_the_end_and_the_rest_is_run(tmp_path: Path) -> None:
    done = suite(tmp_path, ci="")
    assert done.returncode == pytest.ExitCode.OK
    assert "1 test left out: Redis is not installed (apt-get install redis-server)." in done.stdout
    assert "1 passed, 1 skipped" in done.stdout


def test_in_ci_a_missing_server_is_a_failure(tmp_path: Path) -> None:
    done = suite(tmp_path, ci="true")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "In CI nothing may be left out: Redis is not installed" in done.stdout


def test_in_ci_any_test_left_out_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("import pytest\ndef test_a():\n    pytest.skip('not on a Monday')\n")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-n", "1", "."],
        cwd=tmp_path, env={**kept, "PYTHONPATH": str(ROOT), "CI": "true"},
        capture_output=True, text=True, check=False, timeout=110,
    )  # fmt: skip
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "In CI this is a failure: left out" in done.stdout
    assert "1 test left out: not on a Monday" in done.stdout
