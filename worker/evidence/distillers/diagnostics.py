"""Diagnostics in the common form `path:line[:column]: words` of compilers and linters, and of linkers and make."""

import re

from worker.evidence.distillers.marks import Kind, LineRules, Role

_RULES = re.compile(
    r"\s*+(?:(?:\[\w+\] )?(?=[^\s:]*[./M])(?:[A-Za-z]:)?[^\s:()\[\]\"'=]++"
    r"(?::\[?\d+(?:[:,]\d+)?\]?(?=[:\s])|\(\d+(?:,\d+)?\)(?=:)):?\s*-?\s*"
    r"(?:(?P<note>\[?(?:warning|WARNING|Warning|note|info|remark|help|INFO|DEBUG|hint|\w*Warning)\b)"
    r"|(?P<head>(?:fatal )?(?:error|Error|ERROR)\b)|(?<=\d: )(?P<head_1>[^\s\d]))"
    r"|(?P<message>\S*(?:ld|collect2|cc1plus|cc1|clang(?:\+\+)?|gcc|g\+\+|lld|rustc|javac|linker): (?:error|fatal)"
    r"|make(?:\[\d+\])?: \*\*\* |ninja: (?:build stopped|error)|CMake Error|FAILED: \S|error: )"
    r"|(?P<context>In file included from)"
    r"|(?P<verdict>\d+ (?:errors?|warnings?)(?: and \d+ \w+)?(?: generated| found)?\.?$))"
)
_LINKED = re.compile(
    r"\S*: (?:in function [`']|In (?:member |static )?(?:function|constructor|lambda))|.*: undefined reference to "
)
_CONTINUES = re.compile(r"\s*(?:\d+ )?\s*\||\s{2,}\S|\s*[~^]+")


class Diagnostics(LineRules):
    """By its rules, and what linkers say, whose places are not lines."""

    def __init__(self) -> None:
        super().__init__(_RULES, _CONTINUES, 8)

    def role(self, line: str) -> Role | None:
        role = super().role(line)
        if (
            role is None
            and (": in function" in line or ": undefined ref" in line or ": In " in line)
            and _LINKED.match(line)
        ):
            return Role.CONTEXT if ": In " in line else Role.MESSAGE
        return role


KIND = Kind("diagnostic", (), re.compile(r"(?!)"), Diagnostics)
