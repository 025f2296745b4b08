"""cargo and rustc: errors with their codes, places and help, failing tests with their panics; progress never."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<verdict>error: aborting due to|test result: FAILED|error: could not compile|error: test failed"
    r"|error: \d+ targets? failed)"
    r"|(?P<head>error(?:\[E\d+\])?: |---- \S+ stdout ----)"
    r"|(?P<open>warning(?:\[\w+\])?: )"
    r"|(?P<place>\s*(?:-->|:::) \S+:\d+:\d+)"
    r"|(?P<id>test \S.* FAILED$|    \w[\w:]*$)"
    r"|(?P<message>\s*(?:left|right): |\s*= help: |help: |\s*+\|?\s*(?:[-^]+ )+\S|\s*\|\s+\S*[-^]+ \S)"
    r"|(?P<detail>\s*+(?:\d+ )?\s*\| |\s*= note: |note: |\s*\d+ [-+~] )"
    r"|(?P<never>test \S.* (?:ok|ignored)$|\s*(?:Compiling|Downloaded|Downloading|Checking|Finished|Running"
    r"|Updating|Locking|Doc-tests|Blocking|Fresh|Adding) |\s*\|$|running \d+ tests?$|\s*\.\.\.$)"
)

KIND = Kind(
    "cargo",
    ("error[E", "error: ", "Compiling ", "running ", "test ", "   --> ", "--> ", "thread '", "warning: "),
    re.compile(
        r"error\[E\d+\]|Compiling \S+ v\d|running \d+ tests?$|test result: |-->\s\S+\.rs:\d+:\d+"
        r"|thread '.*' panicked|error: could not compile|warning: unused"
    ),
    lambda: LineRules(_RULES),
)
