"""go test, go build and go vet: failing tests with what they said, panics, compile errors; passing tests never."""

import re
from collections.abc import Iterable

from worker.evidence.distillers.marks import Kind, Mark, Role

_RULES = re.compile(
    r"(?P<failed>\s*--- FAIL: )|(?P<passed>\s*--- (?:PASS|SKIP|BENCH): )|(?P<run>=== (?:RUN|CONT|PAUSE|NAME) +)"
    r"|(?P<verdict>FAIL(?:\t\S+.*|$)|FAIL\s+\S+ \[)|(?P<ok>ok  ?\t?\S+|PASS$|\?\s+\S+|coverage: )"
    r"|(?P<package># \S+)|(?P<said>\s+\S+\.go:\d+: )|(?P<compile>(?:vet: )?(?:\./)?[\w./-]+\.go:\d+:\d+: )"
    r"|(?P<testify>\s+(?:Error Trace|Error|Test|Messages):)|(?P<downloading>go: downloading )|(?P<go>go: "
    r"|\S+\.go:\d+: )"
)


class GoTest:
    """What a test says stands before or after the line that says it failed; it is told apart at the end."""

    def __init__(self) -> None:
        self._test = ""
        self._failed: set[str] = set()

    def role(self, line: str) -> Role | None:
        found = _RULES.match(line)
        if found is None:
            return None
        group = found.lastgroup
        if group == "failed":
            self._test = line.split(maxsplit=3)[2]
            self._failed.add(self._test)
            return Role.HEAD
        if group == "run":
            self._test = line.rsplit(maxsplit=1)[-1]
            return Role.OPEN
        if group == "said":
            return Role.NOTE if self._test not in self._failed else Role.MESSAGE
        if group == "package":
            return Role.OPEN
        return _GROUPS[group or ""]

    def settle(self, marks: Iterable[Mark]) -> None:
        """A line that a failing test said decides, also when it was said before the test failed."""
        marks = list(marks)
        heads = {mark.line.split()[2]: mark for mark in marks if mark.role is Role.HEAD and "--- FAIL: " in mark.line}
        leaves = {name for name in heads if not any(other.startswith(name + "/") for other in heads)}
        for name, head in heads.items():
            if name not in leaves:
                head.role = Role.ID
        test = ""
        for mark in marks:
            if mark.role is Role.OPEN and mark.line.startswith("=== "):
                test = mark.line.split()[-1]
            elif mark.role is Role.NOTE and test in leaves and _SAID.match(mark.line):
                mark.role, mark.head, mark.block = Role.MESSAGE, heads[test], heads[test].block


_SAID = re.compile(r"\s+\S+\.go:\d+: ")
_GROUPS = {
    "passed": Role.NEVER,
    "verdict": Role.VERDICT,
    "ok": Role.AMBIENT,
    "compile": Role.HEAD,
    "testify": Role.MESSAGE,
    "downloading": Role.NEVER,
    "go": Role.MESSAGE,
}

KIND = Kind(
    "go test",
    ("=== RUN", "--- FAIL", "--- PASS", "FAIL\t", "ok  \t", "# ", "vet: ", "go: ", "./"),
    re.compile(
        r"=== RUN|--- (?:FAIL|PASS): |(?:FAIL|ok  )\t|# [\w./-]+$|vet: \S+\.go:|go: (?:finding|downloading)"
        r"|\./\S+\.go:\d+"
    ),
    GoTest,
)
