"""Diffs: which files, which places, the changed lines before the lines around them."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<head>diff --git |Index: \S|(?:rename|copy|new file|deleted file|similarity) )"
    r"|(?P<place>@@ -\d+)"
    r"|(?P<detail>[-+](?![-+][-+] ))"
    r"|(?P<context>[ ]|\\\\ No newline)"
    r"|(?P<never>index [0-9a-f]+\.\.|--- |\+\+\+ )"
)

KIND = Kind(
    "diff",
    ("diff --git", "@@ -", "--- a/", "Index: "),
    re.compile(r"diff --git |@@ -\d+(?:,\d+)? \+\d+|--- a/|Index: "),
    lambda: LineRules(_RULES),
)
