"""What a program went through, as the tracers told it while it ran."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path

from worker.box.command import Ran

INSIDE = Path(__file__).with_name("inside")
"""The folder to mount and, for Python, to put first on PYTHONPATH."""

NODE_TRACER = "node_trail.mjs"
SESSION_RUNNER = "session.py"
_NAME_CHARACTERS = 200
_MOST_CALLS = 10**12


@dataclass(frozen=True, slots=True)
class Passed:
    """One function that was called, at least `calls` times. `loading`: only while a module was being executed."""

    path: str
    function: str
    line: int
    calls: int
    loading: bool = False


@dataclass(frozen=True, slots=True)
class Trail:
    """Functions in the order of their first call, and the files whose module was executed. `cut`: there were more.

    Anything in the box may write to the trail, so this is what a program says of itself and nothing more.
    """

    passed: tuple[Passed, ...] = ()
    loaded: tuple[str, ...] = ()
    cut: bool = False

    def executed(self) -> Mapping[str, tuple[Passed, ...]]:
        """The files of which something was called otherwise than by loading it, with those functions."""
        found: dict[str, list[Passed]] = {}
        for one in self.passed:
            if not one.loading:
                found.setdefault(one.path, []).append(one)
        return {path: tuple(functions) for path, functions in found.items()}


def read_trail(ran: Ran, paths: Container[str]) -> Trail:
    """The trail that a run left. Lines that are no such lines, and files that are not of `paths`, are left out."""
    passed: dict[tuple[str, int, str], Passed] = {}
    loaded: dict[str, None] = {}
    for line in ran.trail.split(b"\n"):
        told = _told(line)
        if told is None or told[1].path not in paths:
            continue
        how, one = told
        if how == "m":
            loaded[one.path] = None
            continue
        key = (one.path, one.line, one.function)
        before = passed.get(key)
        if before is None or (before.loading, -before.calls) > (one.loading, -one.calls):
            passed[key] = one
    return Trail(tuple(passed.values()), tuple(loaded), ran.trail_cut)


def _told(line: bytes) -> tuple[str, Passed] | None:
    fields = line.decode("utf-8", "replace").split("\t")
    if len(fields) != 5 or fields[0] not in ("m", "i", "r"):
        return None
    how, calls, number, name, path = fields
    if not (_is_count(calls) and _is_count(number)) or not name.isprintable():
        return None
    function = name.replace(".<locals>", "")[:_NAME_CHARACTERS]
    return how, Passed(path, function, int(number), int(calls), loading=how == "i")


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 12 and int(text) < _MOST_CALLS
