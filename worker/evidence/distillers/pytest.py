"""pytest: failing tests, their assertion lines and places, the closing counts; passing tests never."""

import re
from collections.abc import Iterable

from worker.evidence.distillers.frames import is_library
from worker.evidence.distillers.marks import Kind, Mark, Role

_SECTION = re.compile(r"=+ (.+?) =+$")
# A long title leaves room for one sign at either end.
_TITLE = re.compile(r"_+ (?!_ )(.+?) _+$")
_CLOSING = re.compile(r"=+ short test summary info =+$")
_STARTED = re.compile(r"=+ test session starts =+$")
_PRINTED = re.compile(r"-{3,} Captured .+ -{3,}$|-{3,} (?:live log|generated|coverage)")
_COUNTS = re.compile(
    r"(?:=+ )?(?:\d+ (?:passed|failed|errors?|skipped|warnings?|deselected|xfailed|xpassed"
    r"|rerun)\b.* in [\d.]+|no tests ran)"
)
_PASSED = re.compile(
    r"(?:PASSED|SKIPPED|XFAIL|XPASS|RERUN)\b|.* (?:PASSED|SKIPPED|XFAIL)\b(?: *\(.*\))?(?: +\[ *\d+%\])?$"
    r"|\[gw\d+\] \[ *\d+%\] (?:PASSED|SKIPPED|XFAIL)"
)
_PROGRESS = re.compile(
    r"\S+\.py [.FEsxXpR]+\s*(?:\[ *\d+%\])?$|[.FEsxXpR]+\s*(?:\[ *\d+%\])?$|gw\d+ |\[gw\d+\] (?:linux|darwin|win)"
)
_FAILED = re.compile(r"(?:FAILED|ERROR) \S|\S+::\S+ (?:FAILED|ERROR)\b|\[gw\d+\] \[ *\d+%\] (?:FAILED|ERROR)")
_PLACE = re.compile(r"(\S+?):\d+: ?(?:[A-Z_]\w*|in \w+|$)")
_TELLING = re.compile(
    r"E +(?:[\w.]+(?:Error|Exception|Failed|Exit)\b|At index|Falsifying|(?:Left|Right) contains|Differing|Extra items"
    r"|Mismatched elements|Max (?:absolute|relative) difference|\[(?:left|right)\]:|Obtained: |Expected: )"
)
_TOLD = re.compile(r"E  +\S|[\w.]+(?:Error|Exception|Exit)\b: |(?:ERROR|CRITICAL) +\S+:\S+\.py:\d+ ")
_NEAR = 3
"""Lines before an error within which the place stands where it was raised."""
_OPENING = re.compile(
    r"(?:platform |rootdir|configfile|plugins|cachedir|collected |collecting |scheduling|Using --|testpaths|asyncio:)"
)


class Pytest:
    """Knows the section it is in. What a test printed may look like a summary itself (the tests of test runners do)."""

    def __init__(self) -> None:
        self._part = ""
        self._printed = False
        self._messages = 0
        self._inner = False
        self._error = False
        self._before = ""

    def role(self, line: str) -> Role | None:
        if line[0] == "=" and (section := _SECTION.match(line)) is not None:
            return self._section(line, section.group(1))
        if self._part == "summary" or not self._part:
            return self._listed(line)
        if self._part == "quiet":
            return Role.NOTE if self._messages == 0 and not _PROGRESS.match(line) else Role.NEVER
        return self._failure(line)

    def _section(self, line: str, title: str) -> Role:
        title = title.lower()
        if self._printed and (self._inner or title == "test session starts"):
            # A test of a test runner prints whole runs.
            self._inner = not _COUNTS.match(line)
            return Role.CONTEXT
        if _COUNTS.match(line):
            return Role.VERDICT
        if title == "short test summary info":
            self._before = self._before if self._part == "summary" else self._part
            self._part = "summary"
            return Role.OPEN
        if self._part == "summary" and self._before == "quiet":
            # Not the closing summary, but one that a passing test printed.
            self._part = "quiet"
        if self._printed or self._part == "quiet":
            return Role.CONTEXT if self._printed else Role.NEVER
        if title == "test session starts":
            self._part = ""
            return Role.OPEN
        if title in ("failures", "errors"):
            self._part = "failures"
        elif title.startswith(("warnings summary", "passes", "slowest")):
            self._part = "quiet"
        else:
            self._part = ""
        return Role.REPEAT

    def _listed(self, line: str) -> Role | None:
        if self._part == "summary" and (_PRINTED.match(line) or (line[0] == "_" and _TITLE.match(line))):
            # It was not the closing summary: a test printed it.
            self._part = self._before
            return self.role(line)
        if line[0] == "_" and _TITLE.match(line):
            self._part = "failures"
            return self._failure(line)
        if _FAILED.match(line):
            return Role.ID
        if _PASSED.match(line) or _PROGRESS.match(line) or _OPENING.match(line):
            return Role.NEVER
        if _COUNTS.match(line):
            return Role.VERDICT
        if line.startswith(("INTERNALERROR>", "ERROR:", "E  ")):
            return Role.MESSAGE
        return None

    def _failure(self, line: str) -> Role | None:
        first = line[0]
        if self._inner and not (first == "-" and _PRINTED.match(line)):
            return self._told(line)
        if first == "_" and _TITLE.match(line):
            self._printed, self._messages = False, 0
            return Role.HEAD
        if first == "-" and _PRINTED.match(line):
            self._printed, self._inner = True, False
            return Role.CONTEXT
        return self._told(line) if self._printed else self._shown(line)

    def _told(self, line: str) -> Role:
        """What a failing test printed, among it maybe the error that it failed by."""
        error = line.startswith("E  ")
        first, self._error = error and not self._error, error
        return Role.DETAIL if (first or not error) and _TOLD.match(line) else Role.CONTEXT

    def _shown(self, line: str) -> Role:
        if line.startswith("E  "):
            return self._message(line)
        if line.startswith(">  "):
            return Role.DETAIL
        if _FAILED.match(line):
            return Role.ID
        if (place := _PLACE.match(line)) is not None:
            self._messages = 0
            return Role.FRAME if is_library(place.group(1)) else Role.PLACE
        if _COUNTS.match(line):
            return Role.VERDICT
        if line.startswith("_ _ _"):
            self._messages = 0
            return Role.NEVER
        return Role.NEVER if _PASSED.match(line) or _PROGRESS.match(line) else Role.CONTEXT

    def _message(self, line: str) -> Role:
        self._messages += 1
        return Role.MESSAGE if self._messages == 1 or _TELLING.match(line) else Role.DETAIL

    def settle(self, marks: Iterable[Mark]) -> None:
        """Of each run the last counts and the last summary count; before them is progress and what tests printed."""
        runs: list[list[Mark]] = [[]]
        for mark in marks:
            if Role.OPEN in (mark.role, mark.first_role) and _STARTED.match(mark.line):
                runs.append([])
            runs[-1].append(mark)
        for run in runs:
            _settle_printed(run)
            _settle_run(run)


def _settle_printed(marks: list[Mark]) -> None:
    """An error that a failing test printed is told with its place, below the line that says it was printed."""
    title: Mark | None = None
    printed: Mark | None = None
    before: Mark | None = None
    for mark in marks:
        if Role.HEAD in (mark.role, mark.first_role):
            title, printed = mark, None
        elif _PRINTED.match(mark.line):
            printed = mark
            printed.head = title
        elif printed is not None and mark.role is Role.DETAIL:
            mark.head = printed
            if before is not None and mark.number - before.number <= _NEAR:
                before.role, before.head = Role.DETAIL, printed
        before = mark if mark.role is Role.CONTEXT and _PLACE.match(mark.line) else before


def _settle_run(marks: list[Mark]) -> None:
    counts = [mark for mark in marks if mark.role is Role.VERDICT and _COUNTS.match(mark.line)]
    for mark in counts[:-1]:
        mark.role = Role.CONTEXT
    closing = max((mark.number for mark in marks if _CLOSING.match(mark.line)), default=-1)
    listed = [mark for mark in marks if mark.role is Role.ID and _FAILED.match(mark.line)]
    if not any(mark.number > closing >= 0 for mark in listed):
        return
    for mark in listed:
        if mark.number < closing:
            mark.role = Role.REPEAT
    for mark in marks:
        if mark.role is Role.HEAD and _TITLE.match(mark.line):
            mark.role = Role.OPEN


KIND = Kind(
    "pytest",
    ("=======", "FAILED ", "ERROR ", "E   "),
    re.compile(
        r"=+ (?:test session starts|FAILURES|ERRORS|short test summary info) =+|(?:FAILED|ERROR) \S+\.py\b|E    +\S"
    ),
    Pytest,
)
