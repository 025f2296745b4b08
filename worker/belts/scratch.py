"""Scratch: a folder for one piece of work, gone afterwards; what a killed process left is cleared by the next one."""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "countersign-scratch-"

_FRESH_SECONDS = 1.0
"""One that is so young may have been made and not be held yet."""


@contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder that is gone afterwards. Its path says nothing about the run."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    # A lock ends with its process, however that ends.
    held = _opened(folder)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        # The box's account passes through by name and lists nothing; a private folder would cost it a copy.
        folder.chmod(0o711)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def clear_left(now: float) -> None:
    """Scratch folders of this account that no process holds are gone; `now` is in seconds since the epoch."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and now - found.st_mtime > _FRESH_SECONDS:
                _clear(folder)


def _clear(folder: Path) -> None:
    held = _opened(folder)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(held)


def _opened(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
