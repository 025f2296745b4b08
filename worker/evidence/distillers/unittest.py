"""unittest: the failing tests' headings, then their tracebacks, the count; passing tests never."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<head>(?:FAIL|ERROR|UNEXPECTED SUCCESS): \S+ ?(?:\(|\[|$))"
    r"|(?P<verdict>Ran \d+ tests? in |FAILED \((?:failures|errors|skipped|expected|unexpected)|OK(?: \(.*\))?$|FAILED$)"
    r"|(?P<id>\w+ \([\w.<>]+\)(?: \[.*\])?(?:\s*\.\.\.)? ?(?:FAIL|ERROR)$)"
    r"|(?P<detail>[-+?] .*\S|Stdout:|Stderr:)"
    r"|(?P<never>\w+ \([\w.<>]+\).*\.\.\. (?:ok|skipped .*|expected failure)$|ok$|[.FEsxu]{8,}$|={60,}$|-{60,}$"
    r"|\s*[~^]+\s*$)"
)
KIND = Kind(
    "unittest",
    ("======", "Ran ", "FAIL: ", "ERROR: ", "FAILED ("),
    re.compile(r"(?:FAIL|ERROR): \S+ \([\w.]+\)|Ran \d+ tests? in |FAILED \((?:failures|errors)="),
    lambda: LineRules(_RULES),
)
