"""npm, yarn and pnpm: what could not be resolved and why; advice last, progress never."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<closing>npm (?:ERR!|error) (?:Fix the upstream|this command|to accept|A complete log|For a full"
    r"|\S+/_?logs|   \S+-debug)|npm (?:ERR!|error)\s*$)"
    r"|(?P<verdict>npm (?:ERR!|error) (?:code|errno|Lifecycle|command failed|Exit status)\b)"
    r"|(?P<message>npm (?:ERR!|error) | ?ERR_PNPM|error |\s*ERESOLVE)"
    r"|(?P<note>npm (?:WARN|warn)|warning )"
    r"|(?P<never>added \d+ packages|\d+ packages are looking|npm (?:http|verb|sill|timing|info|notice)|(?:info"
    r"|success|\[\d/\d\]) )"
)

KIND = Kind(
    "npm",
    ("npm ERR!", "npm error", "npm WARN", "npm warn", "ERR_PNPM", "error Command"),
    re.compile(r"npm (?:ERR!|error|WARN|warn)\b|ERR_PNPM|error Command failed"),
    lambda: LineRules(_RULES),
)
