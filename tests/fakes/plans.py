"""A plan that fits together, for tests to change one thing of."""

from typing import Any

from app.core.plan import Plan

BASE = "b" * 40
ISSUE = "a" * 64


def plan(**changes: Any) -> Plan:
    """A small bug fix: one change of code and one of its test."""
    values: dict[str, Any] = {
        "run": "r-abcdefghijkl",
        "version": 1,
        "template": {"name": "bugfix", "version": "1.0.0"},
        "models": {"planner": "strong-1", "executor": "mid-1", "reviewer": "strong-1"},
        "repository_id": 7,
        "issue_number": 3,
        "issue_digest": ISSUE,
        "base_branch": "main",
        "base_commit": BASE,
        "summary": "Sizes roll over to the next unit.",
        "hypothesis": "The unit is chosen before the rounding.",
        "evidence": [{"path": "src/sizes.py", "start": 3, "end": 5, "shows": "The unit is chosen here."}],
        "steps": [
            {
                "id": 1,
                "kind": "change",
                "path": "src/sizes.py",
                "intent": "Choose the unit after the rounding.",
                "done_when": "999999 is 1.0 MB.",
            },
            {
                "id": 2,
                "kind": "change",
                "path": "tests/test_sizes.py",
                "intent": "Test both sides of the boundary.",
                "done_when": "The test fails without step 1.",
            },
        ],
        "checks": [
            {
                "name": "pytest",
                "argv": ["/usr/bin/python3", "-m", "pytest", "tests/test_sizes.py"],
                "paths": ["tests/test_sizes.py"],
                "expect": "fails_before_passes_after",
            }
        ],
        "budget": {"usd": "1.00", "calls": 20, "minutes": 10, "files": 3, "lines": 60},
    }
    return Plan.model_validate(values | changes)
