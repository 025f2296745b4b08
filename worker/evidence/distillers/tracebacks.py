"""Tracebacks of the major languages: messages and chains, then the user's own frames, then the rest."""

import re
from collections.abc import Iterable

from worker.evidence.distillers.frames import is_library
from worker.evidence.distillers.marks import Kind, Mark, Role

_ERRORS = r"(?:Error|Exception|Throwable|Failure|Failed|Exit|Interrupt|Shutdown|Fault|Violation|Timeout|Mismatch)"
_RULES = re.compile(
    r"(?P<goplace>\t\S+\.(?:go|s):\d+(?: \+0x[0-9a-f]+)?$)|(?P<what>  what\(\): |\tpanic: )"
    r"|[\s|+]*(?:(?P<python>Traceback \(most recent call last\))"
    r"|(?P<file>File \"[^\"]+\", line \d+)"
    r"|(?P<at>(?:\[\w+\] +)?at \S.*[):\w]$)"
    r"|(?P<more>\.\.\. \d+ (?:more|common frames)|\[Previous line repeated \d+ more)"
    r"|(?P<chain>Caused by|Suppressed: |Caused: |Also: |Causes?: |\[cause\]: |The above exception was"
    r"|During handling of the above)"
    r"|(?P<go>(?:panic|fatal error): |goroutine \d+ \[running|SIG[A-Z]+: )"
    r"|(?P<message>thread '[^']*' (?:\(\d+\) )?panicked at |PHP (?:Fatal|Parse|Warning|Notice)|(?:Fatal|Parse) error: "
    r"|Unhandled [Ee]xception|terminate called after|\*\* \([\w.]+\) |==\d+== ?ERROR: |Segmentation fault)"
    r"|(?P<verdict>SUMMARY: \w+Sanitizer: )"
    r"|(?P<ruby>(?:\d+: )?from \S+:\d+:in )"
    r"|(?P<hash>#\d+ +\S)"
    r"|(?P<exception>(?:\[\w+\] +|\d+\) |Exception in thread \"[^\"]*\" |Uncaught )?"
    r"(?:(?:[a-z_$][\w$]*+\.)++[A-Z_][\w$]*|[A-Z]\w*" + _ERRORS + r"|[a-z_]\w*+\.\w+" + _ERRORS + r")"
    r"(?:\s\[\w+\])?(?::(?: .*)?|)$))"
)
_PLACED = re.compile(r"\S+\.rb:\d+:in ['`].*'?: .+|\S+: .*Assertion .* failed\.|\S+\.c(?:c|pp|xx)?:\d+: \S+: Assertion")
_OWN_PLACES = 6


class Tracebacks:
    """Reads tracebacks wherever they stand."""

    def __init__(self) -> None:
        self._python = False
        self._code = 0
        self._own = 0
        self._message = 0

    def role(self, line: str) -> Role | None:
        found = _RULES.match(line)
        if found is None:
            if (".rb:" in line or "Assertion" in line) and _PLACED.match(line):
                return Role.MESSAGE
            return self._continued(line)
        return self._found(found.lastgroup or "", line)

    def _found(self, group: str, line: str) -> Role | None:
        self._message = 0
        if group == "python":
            self._python, self._code, self._own = True, 0, 0
            return Role.OPEN
        if group == "file":
            self._code = 2
            return Role.FRAME if is_library(line) else Role.PLACE
        if group in ("at", "ruby", "hash", "goplace"):
            if group == "hash" and not re.search(r":\d+|\(\d+\)|0x", line):
                return None
            return self._frame(line)
        if group == "more":
            return Role.FRAME
        if group == "verdict":
            return Role.VERDICT
        if group == "exception":
            return self._exception(line)
        self._own = 0
        self._message = 1 if line.startswith("thread '") or line.rstrip().endswith(":") else 0
        return Role.MESSAGE

    def _frame(self, line: str) -> Role:
        if is_library(line):
            return Role.FRAME
        self._own += 1
        return Role.PLACE if self._own <= _OWN_PLACES else Role.FRAME

    def _exception(self, line: str) -> Role | None:
        if self._python or re.search(_ERRORS, line.split(": ", 1)[0]):
            self._python = False
            self._own, self._message = 0, 3
            return Role.MESSAGE
        return None

    def _continued(self, line: str) -> Role | None:
        if self._code and line.startswith("    "):
            self._code -= 1
            return Role.NEVER if not line.strip("~^ ") else Role.DETAIL
        self._code = 0
        if self._python and not line.startswith((" ", "\t")):
            self._python = False
            return Role.MESSAGE
        if self._message:
            self._message -= 1
            return Role.MESSAGE if self._message == 0 and line.startswith(" ") else Role.DETAIL
        return None

    def settle(self, marks: Iterable[Mark]) -> None:
        return


KIND = Kind("traceback", (), re.compile(r"(?!)"), Tracebacks)
