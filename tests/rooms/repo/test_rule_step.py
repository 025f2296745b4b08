"""The rule's work when it is carried out: it is what the plan lists, byte for byte, or nothing is kept."""

import hashlib
from typing import Any

import pytest

from app.core.rule import LiteralRule
from app.core.verdict import Refused
from tests.fakes.plans import plan
from worker.belts.rule_step import apply_rule
from worker.repo.edits import Overlay
from worker.repo.syntax import broken_at

RULE = LiteralRule(pattern="old", replacement="new", paths=("**/*.py",))
FILES = {"a.py": b"old = 1\n", "b.py": b"x = [old, old]\n"}


def planned(**uses: dict[str, Any]) -> Any:
    steps = [
        {
            "id": number, "kind": "change", "path": f"{name}.py", "intent": "i", "done_when": "d", "who": "rule",
            "tools": [], "rule": use,
        }
        for number, (name, use) in enumerate(uses.items(), 1)
    ]  # fmt: skip
    return plan(rule=RULE.model_dump(mode="json"), steps=steps, checks=[])


def becomes(content: bytes, places: int) -> dict[str, Any]:
    return {"places": places, "result": hashlib.sha256(content).hexdigest()}


A, B = becomes(b"new = 1\n", 1), becomes(b"x = [new, new]\n", 2)


def test_every_file_becomes_what_the_plan_lists(snapshot_of):
    snapshot = snapshot_of(FILES)
    overlay = Overlay(snapshot, broken_at)
    assert apply_rule(planned(a=A, b=B), RULE, overlay, snapshot) is None
    assert {one.path: one.content for one in overlay.changes()} == {"a.py": b"new = 1\n", "b.py": b"x = [new, new]\n"}


def test_a_file_that_the_plan_does_not_list_stays(snapshot_of):
    snapshot = snapshot_of(FILES)
    overlay = Overlay(snapshot, broken_at)
    assert apply_rule(planned(b=B), RULE, overlay, snapshot) is None
    assert [one.path for one in overlay.changes()] == ["b.py"]


@pytest.mark.parametrize(
    ("uses", "words"),
    [
        ({"a": A, "b": B | {"places": 1}}, "Step 2: the rule makes something else of b.py"),
        ({"a": A | {"result": "0" * 64}, "b": B}, "Step 1: the rule makes something else of a.py"),
        ({"a": A, "c": B}, "Step 2: the rule changes nothing in c.py"),
        ({"a": A, "gone": B}, "Step 2: the rule changes nothing in gone.py"),
    ],
)
def test_another_result_than_the_plans_is_refused(snapshot_of, uses, words):
    snapshot = snapshot_of(FILES | {"c.py": b"nothing = 1\n"})
    refused = apply_rule(planned(**uses), RULE, Overlay(snapshot, broken_at), snapshot)
    assert isinstance(refused, Refused)
    assert words in str(refused)
