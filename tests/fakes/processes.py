"""Every process of this machine, as the kernel tells of it."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def told_of_each(what: str) -> Iterator[tuple[int, bytes]]:
    """Id of every process, and what its file `what` in /proc holds; one that cannot be read, or ends, is left out.

    The folder is listed and not globbed: a glob looks again at what it found, and fails where that has ended.
    """
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with suppress(OSError):
                yield int(place.name), (place / what).read_bytes()


def children(pid: int) -> list[int]:
    """The processes below one, however deep."""
    found = []
    for child, stat in told_of_each("stat"):
        state, parent = stat.rpartition(b")")[2].split()[:2]
        if int(parent) == pid and state != b"Z":
            found += [child, *children(child)]
    return found
