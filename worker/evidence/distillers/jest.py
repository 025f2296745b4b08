"""Jest: failing tests with expected and received, the code that is pointed at, the counts; what tests log never."""

import re
from collections.abc import Iterable

from worker.evidence.distillers.marks import Kind, Mark, Role

_TEST = re.compile(r"\s{0,4}● (.+)")
_VERDICT = re.compile(
    r"(?:Tests|Test Suites|Snapshots):\s.*\d+ (?:total|failed|obsolete|written)|(?:Tests|Test Suites):\s"
)
_FILE = re.compile(r"(FAIL|PASS|RUNS)\s+\S+")
_DIFF = re.compile(r"\s{4,}[-+] ")
_VALUE = re.compile(r"\s{4,}(?:Expected|Received|Resolved|Rejected|Thrown|Difference|Snapshot name|Number of calls)\b")
_POINTED = re.compile(r"\s+> +\d+ \|")
_CODE = re.compile(r"\s+\d* *\|")
_LISTED = re.compile(r"\s+([✕×✗]|[✓√○]) ")


class Jest:
    """Knows whether it reads a failure or what a test logged."""

    def __init__(self) -> None:
        self._part = ""
        self._lines = 0

    def role(self, line: str) -> Role | None:
        if (test := _TEST.match(line)) is not None:
            self._lines = 0
            self._part = "console" if test.group(1) == "Console" else "failure"
            return Role.HEAD if self._part == "failure" else Role.NEVER
        if (file := _FILE.match(line)) is not None:
            self._part = ""
            return Role.ID if file.group(1) == "FAIL" else Role.NEVER
        if _VERDICT.match(line):
            self._part = ""
            return Role.VERDICT
        if (listed := _LISTED.match(line)) is not None:
            return Role.ID if listed.group(1) in "✕×✗" else Role.NEVER
        if self._part == "console":
            return Role.AMBIENT if re.search("rror", line) else Role.NEVER
        if self._part == "failure":
            return self._failure(line)
        return None

    def _failure(self, line: str) -> Role | None:
        if _VALUE.match(line):
            return Role.MESSAGE
        if _POINTED.match(line):
            return Role.PLACE
        if _CODE.match(line):
            return Role.CONTEXT
        if _DIFF.match(line):
            return Role.DETAIL
        if line.lstrip().startswith("at "):
            return None
        self._lines += 1
        return Role.MESSAGE if self._lines <= 2 else Role.CONTEXT

    def settle(self, marks: Iterable[Mark]) -> None:
        return


KIND = Kind(
    "jest",
    ("PASS ", "FAIL ", "Test Suites:", "● "),
    re.compile(r"(?:PASS|FAIL) +\S+\.[jt]sx?\b|Test Suites: |● .+ › "),
    Jest,
)
