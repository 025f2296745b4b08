"""One-time links to the pages, for who sits at the machine: whoever can write into the data folder may come in.

A link is a file whose name is the SHA-256 of its secret. Taking it removes the file, which succeeds once, whatever
is started again in between.
"""

import hashlib
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from app.registration import write_private

FOLDER = "links"
GOOD_FOR = 600.0
"""Seconds in which a link must be used."""


def new_link(data: Path, address: str) -> str:
    """An address below `address` that lets one browser in, once, within ten minutes."""
    folder = data / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in folder.iterdir():
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > GOOD_FOR:
                old.unlink()
    key = secrets.token_urlsafe(24)
    write_private(folder / _name(key), "")
    return f"{address.rstrip('/')}/enter?key={key}"


def take_link(data: Path, key: str, clock: Callable[[], float] = time.time) -> bool:
    """Whether this was a link that nobody had used; now it is used."""
    if not re.fullmatch(r"[\w-]{20,60}", key):
        return False
    path = data / FOLDER / _name(key)
    try:
        made = path.stat().st_mtime
        path.unlink()
    except OSError:
        return False
    return clock() - made <= GOOD_FOR


def _name(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
