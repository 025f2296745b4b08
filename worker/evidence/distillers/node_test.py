"""Node's own test runner: failing tests with what they said and where they stand, the counts; passing tests never."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<verdict>ℹ (?:tests|pass|fail) \d+)"
    r"|(?P<head>\s*✖ \S.* \(\d[\d.]*ms\))"
    r"|(?P<place>test at \S+:\d+:\d+$)"
    r"|(?P<message>\s+(?:\w+ )?\[?\w*Error\b.*: |\s+\S.* !== \S)"
    r"|(?P<note>✖ failing tests:|▶ |\s+code: )"
    r"|(?P<detail>\s+(?:actual|expected): |[+-] )"
    r"|(?P<never>\s*[✔✓﹣] |ℹ |\s+(?:generatedMessage|operator): |\s+at async (?:Test|Suite)|\s+[{}\]],?$)"
)
_CONTINUES = re.compile(r"\s{2,}(?!at )\S")

KIND = Kind(
    "node test",
    ("ℹ ", "✖ ", "✔ ", "▶ "),
    re.compile(r"ℹ (?:tests|pass|fail) \d+$|✖ failing tests:|[✔✖▶] .*\(\d+\.\d+ms\)"),
    lambda: LineRules(_RULES, _CONTINUES, 10),
)
