"""Digests: the same plan gives the same bytes everywhere, and what is released never moves."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.core.digest import SHORT, canonical, digest, names, short, text_digest
from app.core.issue import IssueSnapshot
from app.core.plan import Plan, in_scope, sibling_tests
from tests.fakes.plans import plan

PINNED = "4f85c0a58781c7a695a7352b0c86f2c98a6719a86726754803e72473873103eb"


def test_the_canonical_bytes_of_a_released_shape_are_pinned() -> None:
    """A changed digest means that approvals of stored plans would no longer name them: make a new schema number."""
    assert digest(plan()) == PINNED


PINNED_BY_RULE = "4a426f7fc51f59a968a9ded6c4e107b956a8f7f98d8457274fba33104a1f49c6"


def test_the_canonical_bytes_of_a_plan_by_rule_are_pinned_as_well() -> None:
    rule = {"kind": "regex", "pattern": "o(ld)", "replacement": r"n\1", "paths": ["src/**", "!src/a.py"]}
    use = {"places": 2, "result": "1" * 64}
    step = {"id": 1, "kind": "change", "path": "a.py", "intent": "i", "done_when": "d", "who": "rule", "tools": []}
    budget = {"usd": "0", "calls": 0, "minutes": 10, "files": 1, "lines": 4}
    assert digest(plan(rule=rule, steps=[step | {"rule": use}], budget=budget)) == PINNED_BY_RULE


PINNED_QUESTIONS = "0ebbb4fff2fd90fb63f0e5ad6e8659382ed1a2e01397dd6437c1cf5f4d3b434a"


def test_the_canonical_bytes_of_a_plan_of_questions_are_pinned_as_well() -> None:
    steps = [{"id": 1, "kind": "answer", "intent": "Who calls it?", "done_when": "All are named.", "who": "strong"}]
    template = {"name": "research", "version": "1.0.0", "digest": "e" * 64}
    assert digest(plan(steps=steps, checks=[], template=template)) == PINNED_QUESTIONS


def test_a_plan_survives_its_own_json() -> None:
    once = plan()
    assert Plan.model_validate_json(canonical(once)) == once
    assert canonical(Plan.model_validate_json(canonical(once))) == canonical(once)


def test_canonical_json_is_sorted_and_without_blanks() -> None:
    text = canonical(plan()).decode()
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("field", ["summary", "base_commit", "issue_digest", "base_branch"])
def test_every_field_is_under_the_digest(field: str) -> None:
    changed = {"summary": "else", "base_commit": "c" * 40, "issue_digest": "d" * 64, "base_branch": "next"}[field]
    assert digest(plan(**{field: changed})) != digest(plan())


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValidationError):
        Plan.model_validate({**json.loads(canonical(plan())), "shell": "rm -rf /"})


def test_step_ids_must_rise() -> None:
    steps = json.loads(canonical(plan()))["steps"]
    with pytest.raises(ValidationError, match="rising"):
        plan(steps=list(reversed(steps)))


def test_a_digest_is_named_by_seven_digits_or_more_and_by_nothing_else() -> None:
    full = digest(plan())
    assert names(short(full), full) and len(short(full)) == SHORT
    assert names(full, full) and names(full[:7].upper(), full)
    assert not names(full[:6], full)
    assert not names("", full)
    assert not names(f"{full}0", full)
    assert not names("g" * 8, full)


def test_the_issue_digest_is_blind_to_line_ends_and_sees_every_word() -> None:
    one = IssueSnapshot(number=1, title="A", body="x\ny")
    assert one.digest() == IssueSnapshot(number=1, title="A ", body="x\r\ny\n").digest()
    assert one.digest() != IssueSnapshot(number=1, title="A", body="x\nz").digest()
    assert one.digest() != IssueSnapshot(number=2, title="A", body="x\ny").digest()
    assert one.digest() != IssueSnapshot(number=1, title="B", body="x\ny").digest()


@given(st.text())
def test_any_text_has_a_digest(text: str) -> None:
    assert len(text_digest(text)) == 64


def test_tests_beside_a_touched_file_are_in_scope_and_others_are_not() -> None:
    assert "test_sizes.py" in sibling_tests("src/pkg/sizes.py")
    made = plan()
    assert in_scope(made, "src/sizes.py")
    assert in_scope(made, "tests/test_sizes.py")
    assert in_scope(made, "src/test_sizes.py")
    assert not in_scope(made, "tests/test_other.py")
    assert not in_scope(made, "elsewhere/test_sizes.py")
    assert not in_scope(made, "src/other.py")
