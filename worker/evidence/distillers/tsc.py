"""tsc: each error with its place, further words, the count."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<head>\S+?(?:\(\d+,\d+\)|:\d+:\d+)(?::| -) error TS\d+: |error TS\d+: |ERROR in )"
    r"|(?P<verdict>Found \d+ errors?|\s*(?:Errors  Files|\d+  \S+:\d+)$)"
    r"|(?P<message>TS\d+: )"
    r"|(?P<message_1>  \S.*'|    Did you )"
    r"|(?P<never>\d*\s+~+|\s*~+$)"
)
_CONTINUES = re.compile(r"\d+ |\s+\S")

KIND = Kind(
    "tsc",
    ("Found ",),
    re.compile(r"Found \d+ errors? in "),
    lambda: LineRules(_RULES, _CONTINUES, 8),
)
