"""What an install run left in its folder, judged by trusted code once every process of it is dead (sandbox 5.8)."""

import hashlib
import os
import stat
from pathlib import Path

from worker.box.limits import MIB

MOST_ENTRIES = 400_000
_CHUNK = 4 * MIB
_PRIVILEGES = stat.S_ISUID | stat.S_ISGID


class OddResult(Exception):
    """The folder holds what no later run may find there; the text says what and where."""


def accept(made: Path) -> str:
    """SHA-256 over every name, mode, link and byte in the folder; from now on any account may read it and none write.

    It holds folders, plain files and links, which are not followed, and nothing that gives privileges.
    Raises OddResult for anything else, and OSError for what cannot be read.
    """
    seen = hashlib.sha256()
    count = 0
    root = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for folder, folders, names, place in os.fwalk(".", dir_fd=root, follow_symlinks=False, onerror=_raise):
            folders.sort()
            for name in sorted((*folders, *names)):
                count += 1
                if count > MOST_ENTRIES:
                    raise OddResult(f"more than {MOST_ENTRIES:,} files were made")
                said = _take(name, place, f"{folder}/{name}".removeprefix("./"))
                seen.update(f"{folder}/{name}".encode("utf-8", "surrogateescape") + b"\0" + said + b"\0")
    finally:
        os.close(root)
    return seen.hexdigest()


def _raise(error: OSError) -> None:
    raise error


def _take(name: str, place: int, shown: str) -> bytes:
    """The entry belongs to this process's account and cannot be written; what it is, in a few bytes."""
    found = os.stat(name, dir_fd=place, follow_symlinks=False)
    mode = found.st_mode
    if stat.S_ISLNK(mode):
        _own(name, place)
        return b"link " + os.readlink(name, dir_fd=place).encode("utf-8", "surrogateescape")
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise OddResult(f"{shown[:200]} is neither a file nor a folder nor a link")
    if stat.S_ISREG(mode) and mode & _PRIVILEGES:
        raise OddResult(f"{shown[:200]} would run with the rights of its owner")
    _own(name, place)
    runs = stat.S_ISDIR(mode) or mode & stat.S_IXUSR
    os.chmod(name, 0o555 if runs else 0o444, dir_fd=place)
    if stat.S_ISDIR(mode):
        return b"folder"
    return (b"program " if runs else b"file ") + _content(name, place)


def _own(name: str, place: int) -> None:
    # What the box's account owned it could change again; only root, which gave it away, can take it back.
    if os.geteuid() == 0:
        os.chown(name, 0, 0, dir_fd=place, follow_symlinks=False)


def _content(name: str, place: int) -> bytes:
    content = hashlib.sha256()
    # Not to wait is only for a pipe, which was refused before: nobody is there to put one in its place.
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
    with os.fdopen(descriptor, "rb") as file:
        while chunk := file.read(_CHUNK):
            content.update(chunk)
    return content.digest()
