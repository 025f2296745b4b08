"""PHPUnit: failing tests with what was expected, places, the counts; passing tests never."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<verdict>Tests: \d+, |OK[ ,(])"
    r"|(?P<head>\d+\) \S+|\s*[✘✗] \S)"
    r"|(?P<message>\s*(?:[│┐┊┴├] +)?(?:Failed asserting|[\w\\]+(?:Error|Exception): |Exception|This test |Error: ))"
    r"|(?P<place>\s*(?:[│┐┊┴├] +)?(?:/|\w:\\)\S+:\d+$)"
    r"|(?P<detail>\s*(?:[│┐┊┴├] +)?[-+]['\w\s])"
    r"|(?P<note>FAILURES!|ERRORS!|There (?:was|were) )"
    r"|(?P<never>\s*[✔✓↩∅☢] |\s*[│┐┊┴├]\s*(?:@@ @@|--- Expected|\+\+\+ Actual|$)|Time: |Runtime:"
    r"|Configuration:|[.FEWISRD]{8,}\s|@@ @@$|--- Expected|\+\+\+ Actual)"
)
_CONTINUES = re.compile(r"\s*[│┐┊┴├] +\S|[^\d\s]")

KIND = Kind(
    "phpunit",
    ("PHPUnit ", "There was ", "There were ", "FAILURES!", "ERRORS!", "Tests: "),
    re.compile(r"PHPUnit \d|There (?:was|were) \d+ (?:failure|error)|FAILURES!|ERRORS!|Tests: \d+, Assertions"),
    lambda: LineRules(_RULES, _CONTINUES, 10),
)
