"""javac and kotlinc: errors with place, code and symbol, the count."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<verdict>\d+ errors?$)"
    r"|(?P<head>(?:\[javac\] |\[ant:\w+\] )?\S+\.(?:java|kt|scala):\[?\d+.*?:? error: |e: \S)"
    r"|(?P<note>\S+\.(?:java|kt|scala):\d+: warning: |w: |Note: )"
    r"|(?P<detail>\s*(?:\[javac\] +)?(?:symbol|location|required|found|reason|where): )"
)
_CONTINUES = re.compile(r"\s*\S")

KIND = Kind(
    "javac",
    ("symbol: ", "location: ", "e: "),
    re.compile(r"symbol: +\w|location: +\w|e: (?:file|/)"),
    lambda: LineRules(_RULES, _CONTINUES, 2),
)
