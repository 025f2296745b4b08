"""dotnet test and MSBuild: failing tests with messages and places, compile errors, the counts; what passed never."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<verdict>(?:Failed|Passed)!\s+- |Build FAILED|Total tests: |\s+(?:Failed|Passed|Skipped"
    r"|Total)\s*: \d+|\s+\d+ Error\(s\)|Test Run Failed)"
    r"|(?P<head>\s*Failed \S.* \[.*\]|\s*\[xUnit\.net [\d:.]+\]\s+\S.*\[FAIL\]"
    r"|\s*\S+\(\d+,\d+\): error [A-Z]+\d+: |\S+ : error [A-Z]+\d+: )"
    r"|(?P<note>\s*\S+\(\d+,\d+\): warning |\S+ : warning )"
    r"|(?P<open>\s+(?:Error Message|Stack Trace|Standard Output Messages):)"
    r"|(?P<message>\s*(?:Assert\.|Expected|Actual|But was|System\.\w+(?:\.\w+)*(?:Exception|Error))\b)"
    r"|(?P<never>\s*Passed \S.* \[|\s*Restored |\s*Determining projects|\s*All projects|\s+\S+ -> \S+"
    r"|Microsoft \(R\)|Copyright|Starting test|A total of|\s*Skipped \S)"
)
_CONTINUES = re.compile(r"\s+(?!at )\S")

KIND = Kind(
    "dotnet",
    ("Failed ", "Passed!", "Failed!", "Starting test execution", "Determining projects", "Build FAILED", "MSBuild "),
    re.compile(
        r"(?:Failed|Passed)!\s+- |Starting test execution|Failed \S.* \[[<\d]|Determining projects"
        r"|Build FAILED|Microsoft \(R\)|MSBuild version"
    ),
    lambda: LineRules(_RULES, _CONTINUES, 8),
)
