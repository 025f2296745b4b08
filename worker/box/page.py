"""A page of a repository's own site, opened in headless Chromium inside the box, where there is one on the machine.

The files of the tree are served on the loopback of the box's own empty network; everything else that a page asks for
fails, and is told. Chromium runs without a sandbox of its own: the box is its sandbox.
"""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worker.box.command import Command, Ended, Profile, Ran
from worker.box.trail import INSIDE

_PYTHON = "/usr/bin/python3"
_VISITOR = "visit.py"
_SECONDS = 25
_AROUND = 15
"""For Chromium to begin, and to be ended."""
_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class Message:
    """What the page wrote to its console, or an error that nobody caught, with its place."""

    text: str
    source: str
    line: int

    @property
    def is_uncaught(self) -> bool:
        """Whether it is an error that nobody caught."""
        return self.text.startswith("Uncaught ")


@dataclass(frozen=True, slots=True)
class Fetched:
    """One request of the page. `failed` is the network's word for why there was no answer, empty where there was."""

    method: str
    url: str
    status: int
    failed: str


@dataclass(frozen=True, slots=True)
class Visit:
    """The page as it stood at the end. `left_out` counts messages and requests beyond the limits.

    `screenshot` is a PNG, empty where none was made or where it is too large. All of it comes out of the box and is
    what the page says of itself.
    """

    html: str
    messages: tuple[Message, ...]
    requests: tuple[Fetched, ...]
    left_out: tuple[int, int]
    screenshot: bytes
    finished: bool


@dataclass(frozen=True, slots=True)
class NotVisited:
    """Why there is no visit; never a statement about the page."""

    reason: str


def chromium_here(folder: Path = Path("/usr/bin")) -> str | None:
    """The machine's Chromium, where the box can read all of it: below /usr."""
    for name in _PROGRAMS:
        program = folder / name
        if program.exists() and program.resolve().is_relative_to(folder.parent):
            return str(program)
    return None


def visiting(chromium: str, root: str, target: str, seconds: int = _SECONDS) -> Command:
    """The command that opens `target` (a path with its query and fragment) with the site's root at `root`.

    A page that is still busy after `seconds` is told as it then was.
    """
    place = f"/work/{root}".rstrip("/")
    words = (_PYTHON, f"/tools/0/{_VISITOR}", chromium, place, target, str(seconds))
    return Command(words, seconds + _AROUND, Profile.REPRO, {}, (INSIDE,))


def visit_of(ran: Ran) -> Visit | NotVisited:
    """What the visitor told; anything else that may stand in the output is no visit."""
    if ran.ended is not Ended.EXITED or ran.dropped_bytes:
        return NotVisited(f"The visit was ended ({ran.ended.value}) after {ran.seconds:.0f} s.")
    said = ran.output.decode("utf-8", "replace").strip()
    try:
        told = json.loads(said.rpartition("\n")[2])
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        return NotVisited(f"The page could not be opened: {said[-_TEXT:] or 'nothing was said'}")
    if not told.get("dom"):
        return NotVisited(f"Chromium did not open the page: {_text(told, 'log')[-_TEXT:] or 'it said nothing'}")
    return Visit(
        html=_text(told, "dom"),
        messages=tuple(
            Message(_text(one, "text"), _text(one, "source"), _number(one, "line")) for one in _each(told, "messages")
        ),
        requests=tuple(
            Fetched(_text(one, "method"), _text(one, "url"), _number(one, "status"), _text(one, "failed"))
            for one in _each(told, "requests")
        ),
        left_out=_pair(told.get("more")),
        screenshot=_png(told.get("screenshot")),
        finished=told.get("status") == 0,
    )


def _each(told: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    found = told.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _text(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    return value if isinstance(value, str) else ""


def _number(told: Mapping[str, Any], name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) and 0 <= value < 10**9 else 0


def _pair(value: object) -> tuple[int, int]:
    if isinstance(value, list) and len(value) == 2 and all(isinstance(one, int) for one in value):
        return value[0], value[1]
    return 0, 0


def _png(value: object) -> bytes:
    try:
        content = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        return b""
    return content if content.startswith(b"\x89PNG\r\n\x1a\n") else b""
