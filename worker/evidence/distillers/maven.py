"""Maven: errors and failing tests, the goal that failed, and the closing words; downloads and plugins never."""

import re
from collections.abc import Iterable

from worker.evidence.distillers.marks import Kind, LineRules, Mark, Role

_RULES = re.compile(
    r"(?P<verdict>(?:\[\w+\] )?(?:BUILD FAILURE|\d+ errors?\s*$|Tests run: \d+, Failures: (?:0, Errors: [1-9]"
    r"|[1-9]).*(?<!FAILURE!)"
    r"(?<!ERROR!)$))"
    r"|(?P<head>\[ERROR\] .*<<< (?:FAILURE|ERROR)!|.*<<< (?:FAILURE|ERROR)!\s*$"
    r"|\[ERROR\] \S+\.(?:java|kt|scala|groovy):\[\d+,\d+\]|\[ERROR\] Tests run: .*(?:FAILURE|ERROR)!"
    r"|\[ERROR\] Failed to execute)"
    r"|(?P<message>\[ERROR\] (?:Plugin |The build could not|Non-resolvable|Malformed"
    r"|Unresolveable|[A-Z]\w+ for ))"
    r"|(?P<closing>\[ERROR\]\s*(?:$|-> |To see the full|Re-run Maven|For more info|\[Help|After correcting|mvn <)"
    r"|\[INFO\] (?:Total time|Finished at|BUILD SUCCESS))"
    r"|(?P<id>\[ERROR\] +(?:\w+[.$])+\w+:\d+|(?:Failed tests|Tests in error):|\[ERROR\] (?:Failures|Errors):)"
    r"|(?P<verdict_1>\[INFO\] \S.* FAILURE \[)"
    r"|(?P<detail>\[ERROR\]|  (?:symbol|location|required|found|reason|bad class file|class file): ?)"
    r"|(?P<note>\[(?:WARNING|WARN)\])|(?P<context>\[INFO\] (?:-{20,}$|Results:|Reactor Summary))"
    r"|(?P<ambient>(?:\[INFO\] )?Running \S+$|(?:\[\w+\] )?Tests run: \d+, Failures: 0, Errors: 0, .*Time elapsed)"
    r"|(?P<never>\[INFO\] (?!Results)|\[INFO\]\s*$|Download(?:ing|ed)|Progress |\[DEBUG\]|Picked up JAVA"
    r"|Tests run: \d+, Failures: 0, Err"
    r"| {20})"
)
_GOAL = re.compile(r"\[ERROR\] Failed to execute goal ")
_RUNNING = re.compile(r"(?:\[INFO\] )?Running \S+$")
_RAN = re.compile(r"(?:\[\w+\] )?Tests run: .*Time elapsed")
_PASSED = re.compile(r"(?:\[\w+\] )?Tests run: \d+, Failures: 0, Errors: 0, .*Time elapsed")


class Maven(LineRules):
    """By its rules; what a test class printed that passed in the end is not why the build failed."""

    def __init__(self) -> None:
        super().__init__(_RULES, re.compile(r"\s+(?!at )\S|Expected|Actual"), 8)

    def settle(self, marks: Iterable[Mark]) -> None:
        """Where classes run side by side nobody knows whose words they are, and all stay."""
        marks = list(marks)
        running, said = 0, list[Mark]()
        for mark in marks:
            passed = _PASSED.match(mark.line) is not None
            if _RUNNING.match(mark.line):
                mark.role, running, said = Role.NEVER, running + 1, []
            elif passed or _RAN.match(mark.line):
                if passed and running == 1:
                    _forget(said)
                mark.role = Role.NEVER if passed else mark.role
                running, said = max(running - 1, 0), []
            else:
                said.append(mark)
        _tell_once(marks)


def _tell_once(marks: Iterable[Mark]) -> None:
    """What the failed goal says again is told there, with all that belongs to it, and not where it came up."""
    before: dict[tuple[str, str], Mark] = {}
    closing, within = False, ""
    for mark in marks:
        role = mark.role if mark.first_role is None else mark.first_role
        if _GOAL.match(mark.line) or role is Role.CLOSING:
            closing = role is not Role.CLOSING
            continue
        if role not in (Role.HEAD, Role.DETAIL):
            continue
        words = mark.line.removeprefix("[ERROR]").strip()
        within = words if role is Role.HEAD else within
        if not closing:
            before[within, words] = mark
        elif (within, words) in before:
            mark.role, before.pop((within, words)).role = role, Role.REPEAT


def _forget(said: Iterable[Mark]) -> None:
    for mark in said:
        mark.role = Role.AMBIENT


KIND = Kind(
    "maven",
    ("[INFO] ", "[ERROR] ", "Downloading", "Running ", "Tests run: "),
    re.compile(
        r"\[INFO\] (?:Scanning for projects|BUILD|---|Building|Reactor)|\[ERROR\] Failed to execute goal"
        r"|Tests run: \d+, Fail"
    ),
    Maven,
)
