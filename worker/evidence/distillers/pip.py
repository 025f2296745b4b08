"""pip: what could not be installed and why, the build's own error; downloads and progress never."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<message>ERROR: |\s*error: |\s*ERROR: |\s*×|\s*[╰│] ?(?:─>)? ?(?:\S+ )*?\S*[Ee]rror|Failed to build )"
    r"|(?P<closing>\s*note: This (?:error|is an issue)|\s*hint: )"
    r"|(?P<never>\s*(?:Collecting|Downloading|Using cached|Requirement already|Installing collected"
    r"|Successfully|Building wheels?|Created wheel|Preparing metadata|Getting requirements|Installing build"
    r"|Stored in|Looking in|Obtaining|Processing|creating|copying|adding|running|writing|reading|gcc"
    r"|compile options|building)\b|\s*━|\s+Link requires|\s+Found link|\s+Skipping link)"
)
_CONTINUES = re.compile(r"\s{2,}(?!Downloading|Using|File )\S|The ")

KIND = Kind(
    "pip",
    ("Collecting ", "Looking in indexes", "Requirement already", "Using pip", "ERROR: "),
    re.compile(
        r"Collecting \S|Looking in |Requirement already|Using pip \d|ERROR: (?:Could not|Cannot|No matching"
        r"|pip's|Failed|Invalid)"
    ),
    lambda: LineRules(_RULES, _CONTINUES, 10),
)
