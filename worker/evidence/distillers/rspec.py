"""RSpec and minitest: the numbered failures with expected and got, places, the counts; passing examples never."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<verdict>\d+ (?:examples?|runs|tests?), )"
    r"|(?P<open>\s+\d+\) (?:Failure|Error|Skipped):$)|(?P<head>\s+\d+\) \S|\w+#test\w*)"
    r"|(?P<id>rspec \./?\S+:\d+)"
    r"|(?P<message>\s+Failure/Error: |\s+(?:expected|got|actual)\b|\s+[A-Z]\w*(?:::\w+)*(?:Error|Exception)?:$"
    r"|\s+(?:Expected|Actual|Diff): )"
    r"|(?P<place>\s+# (?!/)\S+:\d+:in|\s+# \./\S+:\d+)"
    r"|(?P<frame>\s+# /\S+:\d+)"
    r"|(?P<detail>\s+[-+]\S)"
    r"|(?P<note>Failed examples:|Failures:$|Pending:)"
    r"|(?P<never>Finished in |Randomized with|[.F*EPS]{2,}$|Coverage report)"
)
_CONTINUES = re.compile(r"\s{4,}\S")

KIND = Kind(
    "rspec",
    ("Failures:", "rspec ./", "Finished in", "Failed examples:", "Run options:"),
    re.compile(r"Failures:$|rspec \./\S+:\d+|Failed examples:|Finished in .*\(files took|Run options: .*--seed"),
    lambda: LineRules(_RULES, _CONTINUES, 12),
)
