"""Mocha: the numbered failures with their messages and places, the counts; passing tests never."""

import re
from collections.abc import Iterable

from worker.evidence.distillers.marks import Kind, Mark, Role

_COUNTS = re.compile(r"\s*\d+ (?:passing|failing|pending)\b")
_NUMBERED = re.compile(r"\s*\d+\) \S")
_PASSED = re.compile(r"\s*[✓✔√] ")
_DIFF = re.compile(r"\s*[-+]\S|\s*[+-] (?:expected|actual)")


class Mocha:
    """Before the counts the list of tests, after them the failures."""

    def __init__(self) -> None:
        self._failing = False
        self._lines = 0

    def role(self, line: str) -> Role | None:
        if _COUNTS.match(line):
            self._failing = self._failing or "failing" in line
            return Role.VERDICT
        if _NUMBERED.match(line):
            self._lines = 0
            return Role.HEAD if self._failing else Role.ID
        if _PASSED.match(line):
            return Role.NEVER
        if not self._failing or line.lstrip().startswith("at "):
            return None
        self._lines += 1
        if line.rstrip().endswith(":") and self._lines <= 3:
            return Role.HEAD if self._lines > 3 else Role.ID
        if _DIFF.match(line):
            return Role.DETAIL
        return Role.MESSAGE if self._lines <= 5 else Role.CONTEXT

    def settle(self, marks: Iterable[Mark]) -> None:
        return


KIND = Kind(
    "mocha",
    tuple(f"{n} " for n in range(10)) + tuple(f"{n:02}" for n in range(100)),
    re.compile(r"\d+ (?:passing|failing)\b"),
    Mocha,
)
