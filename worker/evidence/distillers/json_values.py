"""JSON laid out one value a line: what speaks of errors, then the shallow values."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<message>\s*\"[^\"]*(?i:error|message|exception|reason|detail|fail|stack|title|warning"
    r"|conclusion)[^\"]*\": (?!null|\"\"|\[\],?$|false|0,?$))"
    r"|(?P<place>\s*\"(?:file|path|line|column|url|name|id|status|state|code|type|version|location)\": )"
    r"|(?P<head> {0,2}\"[^\"]+\": )"
    r"|(?P<detail> {4}\"[^\"]+\": )"
    r"|(?P<never>\s*[\]}],?$|\s*\"?[A-Za-z0-9+/=]{300,}\"?,?$)"
)

KIND = Kind(
    "json",
    ("{", "["),
    re.compile(r"[{\[]$|[{\[]\""),
    lambda: LineRules(_RULES),
)
