"""Search hits: the files first, then their hits, a few of each."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<head>[\w@./\\\\+-]+$)"
    r"|(?P<place>(?:[\w@./\\\\+-]+:)?\d+:)"
    r"|(?P<context>(?:[\w@./\\\\+-]+-)?\d+-|--$)"
)

KIND = Kind(
    "search",
    (),
    re.compile(r"(?!)"),
    lambda: LineRules(_RULES),
)
