"""CTest, GoogleTest, Catch2 and TAP: failing tests with what they said, the counts; passing tests never."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<verdict>\d+% tests passed|The following tests FAILED|Errors while running CTest"
    r"|\[ +FAILED +\] \d+ tests?|\[ +PASSED +\]|\s*\d+ FAILED TESTS?|test cases: |assertions: |# (?:fail|pass"
    r"|tests) )"
    r"|(?P<head>\S+:\d+: (?:Failure|FAILED)|\s*(?:\d+: )?\S+:\d+: Failure|\s*not ok \d+"
    r"|\s*\d+/\d+ Test +#\d+: \S+ \.*\**(?:Failed|Not Run|Exception|Timeout|\s*\*\*\*))"
    r"|(?P<id>\[ +FAILED +\] \S|\s+\d+ - \S+ \((?:Failed|Timeout|SEGFAULT|Not Run|ILLEGAL|Child aborted"
    r"|Subprocess aborted|BAD_COMMAND|NUMERICAL|OTHER_FAULT)\))"
    r"|(?P<message>\s*(?:\d+: )?(?:Expected|Value of|Actual|Which is|expected|got|  Actual)\b.*)"
    r"|(?P<never>\s*\[ +(?:RUN|OK) +\]|\[[-=]+\]|\s*Start +\d+: |\s*\d+/\d+ Test +#\d+: \S+ \.* +Passed|\s*ok \d"
    r"|1\.\.\d|Test project|Total Test time)"
)
_CONTINUES = re.compile(r"\s+\S|\d+: |[A-Z]")

KIND = Kind(
    "ctest",
    ("Test project", "[ RUN  ", "[==========]", "Start ", "TAP version", "not ok ", "1.."),
    re.compile(r"Test project |\[ RUN +\]|\[=+\] |Start +\d+: |TAP version|not ok \d|1\.\.\d+$"),
    lambda: LineRules(_RULES, _CONTINUES, 8),
)
