"""Pylint and flake8: findings, errors before conventions, the rating."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<verdict>Your code has been rated)"
    r"|(?P<head>\S+:\d+:\d+: [EF]\d{4}: )"
    r"|(?P<id>\S+:\d+:\d+: [W]\d{4}: )"
    r"|(?P<alarm>\S+:\d+:\d+: [RC]\d{4}: )"
    r"|(?P<note>\*{5,} Module )"
    r"|(?P<never>-{5,}$)"
)

KIND = Kind(
    "pylint",
    ("*****", "Your code has"),
    re.compile(r"\*{5,} Module |Your code has been rated"),
    lambda: LineRules(_RULES),
)
