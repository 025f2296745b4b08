"""Ruff: each finding with its rule, words and place, the count."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<verdict>Found \d+ errors?|\[\*\] \d+ fixable|No fixes available)"
    r"|(?P<head>[A-Z]{1,5}\d{2,4} (?:\[[*-]\] )?\S|invalid-syntax: |\S+:\d+:\d+: [A-Z]{1,5}\d{2,4} )"
    r"|(?P<place>\s*--> \S+:\d+:\d+)"
    r"|(?P<detail>help: )"
    r"|(?P<context>\s*\d+ [|+] |\s+- |\s*\| )"
    r"|(?P<never>\s*\|\s*$)"
)

KIND = Kind(
    "ruff",
    ("--> ", "help: ", "Found ", "[*] "),
    re.compile(r"--> \S+:\d+:\d+|Found \d+ errors?\.|\[\*\] \d+ fixable"),
    lambda: LineRules(_RULES),
)
