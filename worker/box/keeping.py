"""Keeps prepared environments within a size: those used longest ago go first, and none that is in use.

Beside the environments stands a small file for each, under its name: whoever uses the environment holds a shared lock
on it, its time is that of the last use, and its text is the size. A dead process holds nothing.
"""

import fcntl
import os
import shutil
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LEFT_BEHIND = (".making-", ".gone-")
"""How folders are called in which an environment is made, or removed; a killed process leaves them."""
_OLD_SECONDS = 24 * 3600.0


class Hold:
    """Something is in use for as long as this object lives."""

    def __init__(self, descriptor: int) -> None:
        weakref.finalize(self, os.close, descriptor)


@dataclass(frozen=True, slots=True)
class _Kept:
    directory: Path
    size: int
    used_at: float


def hold(directory: Path) -> Hold:
    """The environment that this directory is, or will be, is not removed while the answer lives."""
    uses = _uses(directory)
    uses.parent.mkdir(parents=True, exist_ok=True)
    while True:
        descriptor = os.open(uses, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        held = Hold(descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        # Whoever removed the environment meanwhile took the file away as well: it is no lock any more.
        if os.fstat(descriptor).st_nlink:
            os.utime(descriptor)
            return held


def keep_within(cache: Path, kinds: tuple[str, ...], most_bytes: int) -> tuple[Path, ...]:
    """Environments of these kinds take no more than that, but for those in use; answers with what was removed."""
    removed = []
    kept = sorted(_kept(cache, kinds), key=lambda one: one.used_at)
    total = sum(one.size for one in kept)
    for one in kept:
        if total <= most_bytes:
            break
        if _remove(one.directory):
            removed.append(one.directory)
            total -= one.size
    return tuple(removed)


def _kept(cache: Path, kinds: tuple[str, ...]) -> Iterator[_Kept]:
    for home in (cache / kind for kind in kinds):
        for directory in home.iterdir() if home.is_dir() else ():
            # Another process may remove it at any moment.
            with suppress(FileNotFoundError):
                if directory.name.startswith(LEFT_BEHIND):
                    if time.time() - directory.stat().st_mtime > _OLD_SECONDS:
                        clear(directory)
                    continue
                yield _Kept(directory, _size(directory), _used_at(directory))


def _uses(directory: Path) -> Path:
    return directory.parent.parent / "uses" / directory.name


def _used_at(directory: Path) -> float:
    uses = _uses(directory)
    return (uses if uses.exists() else directory).stat().st_mtime


def _size(directory: Path) -> int:
    """In bytes on the disk, measured once: an environment never changes."""
    uses = _uses(directory)
    text = uses.read_text() if uses.exists() else ""
    if text.isdigit():
        return int(text)
    size = sum(
        (folder / name).lstat().st_blocks * 512
        for folder, folders, names in ((Path(top), folders, names) for top, folders, names in os.walk(directory))
        for name in (*folders, *names)
    )
    if uses.exists():
        seen = uses.stat()
        uses.write_text(str(size))
        os.utime(uses, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    return size


def _remove(directory: Path) -> bool:
    """False where it is in use, or gone already."""
    uses = _uses(directory)
    uses.parent.mkdir(parents=True, exist_ok=True)
    with uses.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.fstat(lock.fileno()).st_nlink:
                return False  # Another process removed it, and somebody may have made it anew.
            gone = directory.with_name(f".gone-{directory.name}")
            directory.rename(gone)
        except OSError:
            return False
        uses.unlink(missing_ok=True)
    clear(gone)
    return True


def clear(directory: Path) -> None:
    """The folder is gone, although nobody may write in it."""
    for folder, _, _ in os.walk(directory):
        with suppress(OSError):
            Path(folder).chmod(0o700)
    shutil.rmtree(directory, ignore_errors=True)
