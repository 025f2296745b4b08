"""A proved box for the tests of its room, and trees to hand to it."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from worker.box.box import Box, Command, Ended, Profile, Ran, open_box

PRELUDE = """
import ctypes, errno, fcntl, json, mmap, os, resource, signal, socket, struct, subprocess, sys, time
found = {}
def attempt(name, deed):
    try:
        found[name] = ["done", repr(deed())[:200]]
    except OSError as error:
        found[name] = [errno.errorcode.get(error.errno, str(error)), ""]
    except Exception as error:
        found[name] = [type(error).__name__, str(error)[:200]]
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments])
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return result
"""


@pytest.fixture(scope="session")
def box() -> Box:
    """A box that holds. Tests that ask for it carry the mark `needs_userns`."""
    opened = open_box()
    assert isinstance(opened, Box), str(opened)
    return opened


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree in a private directory, as pytest makes them."""
    place = tmp_path / "tree"
    place.mkdir()
    (place / "notes.md").write_text("first\n")
    return place


@pytest.fixture
def open_tree() -> Iterator[Path]:
    """A small tree that any account may reach, so that it is used where it lies."""
    place = Path(tempfile.mkdtemp(prefix="countersign-test-", dir="/var/tmp"))
    place.chmod(0o711)
    (place / "tree").mkdir()
    (place / "tree" / "notes.md").write_text("first\n")
    yield place / "tree"
    shutil.rmtree(place)


@pytest.fixture
def ran(box: Box, tree: Path) -> Callable[..., Ran]:
    """Runs words in the box and insists that they started."""

    def run(*words: str, profile: Profile = Profile.TEST, seconds: float = 20, at: Path | None = None) -> Ran:
        result = box.run(at or tree, Command(words, seconds, profile))
        assert isinstance(result, Ran), result
        return result

    return run


@pytest.fixture
def attempts(ran: Callable[..., Ran]) -> Callable[..., dict[str, Any]]:
    """Runs Python text in the box that calls `attempt(name, deed)`, and gives what came of each."""

    def run(text: str, **how: Any) -> dict[str, Any]:
        result = ran("/usr/bin/python3", "-I", "-c", f"{PRELUDE}\n{text}\nprint(json.dumps(found))", **how)
        assert result.ended is Ended.EXITED and result.exit_status == 0, result.output.decode()
        answer: dict[str, Any] = json.loads(result.output.splitlines()[-1])
        return answer

    return run
