"""Diagnostics in the common form `path:line[:column]: words` of compilers and linters, and of linkers and make."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"\s*(?:\[\w+\] )?(?:(?:[A-Za-z]:)?[^\s:()\[\]\"'=]+\.\w{1,8}|(?:\S*/)?(?:Makefile|Dockerfile))"
    r"(?::\[?\d+(?:[:,]\d+)?\]?(?=[:\s])|\(\d+(?:,\d+)?\)(?=:)):?\s*-?\s*"
    r"(?:(?P<note>\[?(?:warning|WARNING|Warning|note|info|remark|help|INFO|DEBUG|hint|\w*Warning)\b)"
    r"|(?P<head>(?:fatal )?(?:error|Error|ERROR)\b)|(?<=\d: )(?P<head_1>[^\s\d]))"
    r"|(?P<message>(?:\S*[/-])?(?:ld|collect2|cc1plus|cc1|clang(?:\+\+)?|gcc|g\+\+|lld|rustc|javac|linker): "
    r"(?:error|fatal error|fatal)|\S+\.o: in function |(?:\S*ld: )?\S+: in function [`']"
    r"|\S*\(\.\w+[^)]*\): undefined reference"
    r"|make(?:\[\d+\])?: \*\*\* |ninja: (?:build stopped|error)|CMake Error|FAILED: \S|error: )"
    r"|(?P<context>In file included from|\S+: In (?:member |static )?(?:function|constructor|lambda))"
    r"|(?P<verdict>\d+ (?:errors?|warnings?)(?: and \d+ \w+)?(?: generated| found)?\.?$)"
)
_CONTINUES = re.compile(r"\s*(?:\d+ )?\s*\||\s{2,}\S|\s*[~^]+")


def _reader() -> LineRules:
    return LineRules(_RULES, _CONTINUES, 8)


KIND = Kind("diagnostic", (), re.compile(r"(?!)"), _reader)
