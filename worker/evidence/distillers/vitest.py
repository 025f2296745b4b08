"""Vitest: failing tests with their messages and places, the counts; passing tests never."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<verdict>\s*(?:Test Files|Tests|Snapshots)\s+\d+ |\s*Errors\s+\d+ error)"
    r"|(?P<head>\s*FAIL\s+\S)"
    r"|(?P<place>\s*❯ (?:\S+ )?\S+:\d+:\d+)"
    r"|(?P<id>\s*[×✗❯] )"
    r"|(?P<message>\s+→ |\w*Error: |Unhandled )"
    r"|(?P<detail>\s*[-+] \S)"
    r"|(?P<never>\s*[✓√↓·] |⎯{3,}|\s*\d*\| |\s*\| |\s*(?:Start at|Duration|RUN|DEV) |stdout \||- Expected|\+ Received)"
)
KIND = Kind(
    "vitest",
    ("RUN ", "Test Files ", "⎯⎯⎯"),
    re.compile(r"RUN +v\d|Test Files +\d|⎯+ Failed (?:Tests|Suites)"),
    lambda: LineRules(_RULES),
)
