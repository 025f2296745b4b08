"""Opening files below one folder and nowhere else, whatever links, mounts or `..` stand on the way (case PI-03)."""

import ctypes
import errno
import os
import sys
from functools import cache

_OPENAT2 = 437
"""The same on every architecture, as are all system calls since Linux 5.1."""

_NO_OTHER_MOUNT, _NO_MAGIC_LINKS, _NO_LINKS, _BENEATH = 0x01, 0x02, 0x04, 0x08


class _How(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


def open_beneath(folder: int, path: str, flags: int, mode: int = 0) -> int:
    """A descriptor of `path` below the open folder. Raises OSError where a link or another file system is on the way.

    The kernel resolves the whole path at once (openat2). Where it has no such call, each part is opened by itself
    and without following links, which allows no more.
    """
    if _has_openat2():
        return _openat2(folder, path, flags, mode)
    return _by_parts(folder, path, flags, mode)


def _openat2(folder: int, path: str, flags: int, mode: int) -> int:
    how = _How(flags | os.O_CLOEXEC, mode, _NO_OTHER_MOUNT | _NO_MAGIC_LINKS | _NO_LINKS | _BENEATH)
    size = ctypes.c_size_t(ctypes.sizeof(how))
    opened = _library().syscall(_OPENAT2, ctypes.c_int(folder), os.fsencode(path), ctypes.byref(how), size)
    if opened < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return int(opened)


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


@cache
def _has_openat2() -> bool:
    if sys.platform != "linux":
        return False
    here = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.close(_openat2(here, ".", os.O_RDONLY | os.O_DIRECTORY, 0))
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EPERM):
            return False
        raise
    finally:
        os.close(here)
    return True


def _by_parts(folder: int, path: str, flags: int, mode: int) -> int:
    *above, name = path.split("/")
    if any(part in ("", "..") for part in (*above, name)):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    at = os.dup(folder)
    for part in above:
        try:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
        finally:
            os.close(at)
        at = below
    try:
        return os.open(name, flags | os.O_NOFOLLOW, mode, dir_fd=at)
    finally:
        os.close(at)
