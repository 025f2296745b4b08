"""ESLint, stylelint and others that put a file's name above its findings: errors, then warnings, the counts."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<verdict>[✖✘×] \d+ (?:problems?|errors?)|\s+\d+ errors? and \d+ warnings? potentially)"
    r"|(?P<message>\s+\d+:\d+\s+(?:error|✖|×)\s)"
    r"|(?P<note>\s+\d+:\d+\s+(?:warning|⚠)\s)"
    r"|(?P<head>(?:/|[A-Za-z]:\\|[\w@.-]+/)\S*\.\w+$)"
)

KIND = Kind(
    "eslint",
    ("✖ ", "✘ ", "× "),
    re.compile(r"[✖✘×] \d+ (?:problems?|errors?)"),
    lambda: LineRules(_RULES),
)
