"""Maven: errors and failing tests, the goal that failed, and the closing words; downloads and plugins never."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<verdict>(?:\[\w+\] )?(?:BUILD FAILURE|\d+ errors?\s*$|Tests run: \d+, Failures: (?:0, Errors: [1-9]"
    r"|[1-9]).*(?<!FAILURE!)"
    r"(?<!ERROR!)$))"
    r"|(?P<head>\[ERROR\] .*<<< (?:FAILURE|ERROR)!|.*<<< (?:FAILURE|ERROR)!\s*$"
    r"|\[ERROR\] \S+\.(?:java|kt|scala|groovy):\[\d+,\d+\]|\[ERROR\] Tests run: .*(?:FAILURE|ERROR)!)"
    r"|(?P<message>\[ERROR\] (?:Failed to execute|Plugin |The build could not|Non-resolvable|Malformed"
    r"|Unresolveable|[A-Z]\w+ for ))"
    r"|(?P<closing>\[ERROR\]\s*(?:$|-> |To see the full|Re-run Maven|For more info|\[Help|After correcting|mvn <)"
    r"|\[INFO\] (?:Total time|Finished at|BUILD SUCCESS))"
    r"|(?P<id>\[ERROR\] +(?:\w+[.$])+\w+:\d+|(?:Failed tests|Tests in error):|\[ERROR\] (?:Failures|Errors):)"
    r"|(?P<verdict_1>\[INFO\] \S.* FAILURE \[)"
    r"|(?P<detail>\[ERROR\]|  (?:symbol|location|required|found|reason|bad class file|class file): ?)"
    r"|(?P<note>\[(?:WARNING|WARN)\])|(?P<context>\[INFO\] (?:-{20,}$|Results:|Reactor Summary))"
    r"|(?P<never>\[INFO\] (?!Results)|\[INFO\]\s*$|Download(?:ing|ed)|Progress |\[DEBUG\]|Picked up JAVA"
    r"|Tests run: \d+, Failures: 0, Err"
    r"|Running \S+$| {20})"
)
KIND = Kind(
    "maven",
    ("[INFO] ", "[ERROR] ", "Downloading", "Running ", "Tests run: "),
    re.compile(
        r"\[INFO\] (?:Scanning for projects|BUILD|---|Building|Reactor)|\[ERROR\] Failed to execute goal"
        r"|Tests run: \d+, Fail"
    ),
    lambda: LineRules(_RULES, re.compile(r"\s+(?!at )\S|Expected|Actual"), 8),
)
