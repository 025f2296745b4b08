"""mypy and pyright: each error with its place, notes, the count."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<verdict>Found \d+ errors? in |\d+ errors?, \d+ warnings?)"
    r"|(?P<head>\s*\S+?:\d+(?::\d+)?(?: -|:) error: )"
    r"|(?P<detail>\s*\S+?:\d+(?::\d+)?(?: -|:) (?:note|information): )"
    r"|(?P<note>\s*\S+?:\d+(?::\d+)?(?: -|:) warning: )"
)
_CONTINUES = re.compile(r"    \S")

KIND = Kind(
    "mypy",
    ("Found ", "Success: ", "0 errors"),
    re.compile(r"Found \d+ errors? in \d+ files?|\d+ errors?, \d+ warnings?"),
    lambda: LineRules(_RULES, _CONTINUES, 6),
)
