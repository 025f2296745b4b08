"""Gradle: failing tasks and tests, what went wrong, and the closing words; tasks that went well never."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<verdict>FAILURE: Build |BUILD FAILED|\d+ tests? completed, )"
    r"|(?P<head>\S+(?: > .+)+ FAILED$)"
    r"|(?P<message>> Task \S+ FAILED|:\S+ FAILED$|\* What went wrong|Execution failed for task"
    r"|A problem occurred|Could not "
    r"|> (?!Task |Configure |Transform )\S|\s+[\w.]+(?:Exception|Error)\w* at \w+\.\w+:\d+|e: |\* Where:)"
    r"|(?P<place>(?:Build|Script|Settings) (?:file|script) '.*' line: \d+)"
    r"|(?P<closing>\* (?:Try|Get more)|> (?:Run with|Get more)|Run with --|See http|Deprecated Gradle"
    r"|\d+ actionable tasks?)"
    r"|(?P<note>w: |warning: )"
    r"|(?P<never>> (?:Task|Configure|Transform) |:\S+(?: UP-TO-DATE| NO-SOURCE| SKIPPED| FROM-CACHE)?$"
    r"|Download(?:ing)? https?:"
    r"|\S+(?: > .+)+ (?:PASSED|SKIPPED|STARTED)$|\.{8,}|Starting a Gradle|Welcome to Gradle|You can use)"
)
KIND = Kind(
    "gradle",
    ("> Task ", "FAILURE: ", "BUILD FAILED", "Welcome to Gradle", "Starting a Gradle", "* What went wrong"),
    re.compile(r"> Task :|FAILURE: Build |BUILD FAILED|Welcome to Gradle|Starting a Gradle|\* What went"),
    lambda: LineRules(_RULES, re.compile(r"\s+(?!at )\S"), 8),
)
