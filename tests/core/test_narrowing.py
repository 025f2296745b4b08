"""Steps are dropped by code: what only they served goes with them, and nothing else does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.differing import difference
from app.core.effects import Narrow
from app.core.narrowing import NO_TEST, lost, narrowed
from app.core.plan import Expectation, Plan
from app.core.verdict import Refused
from tests.fakes.plans import plan


def step(number: int, kind: str, path: str, **more: Any) -> dict[str, Any]:
    return {"id": number, "kind": kind, "path": path, "intent": f"Do {number}.", "done_when": "Done.", **more}


STEPS = [
    step(1, "change", "src/sizes.py"),
    step(2, "create", "src/units.py"),
    step(3, "change", "tests/test_sizes.py"),
    step(4, "move", "docs/old.md", to="docs/new.md"),
]
CHECKS = [
    {"name": "pytest", "argv": ["pytest", "tests/test_sizes.py"], "paths": ["tests/test_sizes.py"], "expect": "passes"},
    {"name": "docs", "argv": ["make", "docs"], "expect": "passes"},
    {"name": "lint", "argv": ["lint", "src/sizes.py", "src/units.py"], "paths": ["src/sizes.py", "src/units.py"]},
]
ACCEPTANCE = [
    {"id": 1, "words": "Sizes are right.", "steps": [1, 3], "checks": ["pytest"]},
    {"id": 2, "words": "Units stand alone.", "steps": [2]},
    {"id": 3, "words": "The page is found.", "steps": [4], "checks": ["docs"]},
]
WHOLE = plan(steps=STEPS, checks=CHECKS, acceptance=ACCEPTANCE, protected_paths=["docs/new.md"])


def made(**narrow: Any) -> Plan:
    outcome = narrowed(WHOLE, Narrow(version=1, **narrow), 2)
    assert isinstance(outcome, Plan), outcome
    return outcome


def test_what_only_the_dropped_step_served_goes_with_it() -> None:
    left = made(drop=(4,))
    assert [one.id for one in left.steps] == [1, 2, 3] and left.version == 2
    assert [one.words for one in left.acceptance or ()] == ["Sizes are right.", "Units stand alone."]
    assert [one.name for one in left.checks] == ["pytest", "lint"]
    assert left.protected_paths == ()
    assert left.out_of_scope == ("Step 4 of version 1, which was dropped: move docs/old.md",)
    assert lost(WHOLE, left) == ("No longer promised: The page is found.", "No longer run: the check docs")


def test_a_promise_that_another_step_serves_as_well_stays_with_its_check() -> None:
    left = made(keep=(1, 2, 4))
    assert left.acceptance is not None
    assert left.acceptance[0].steps == (1,) and left.acceptance[0].checks == ("pytest",)


def test_a_check_no_longer_has_a_path_that_nothing_makes() -> None:
    left = made(drop=(2,))
    assert next(one for one in left.checks if one.name == "lint").argv == ("lint", "src/sizes.py")
    only = plan(steps=STEPS, checks=[CHECKS[2] | {"argv": ["lint", "src/units.py"], "paths": ["src/units.py"]}])
    outcome = narrowed(only, Narrow(version=1, drop=(2,)), 2)
    assert isinstance(outcome, Plan) and outcome.checks == ()


@pytest.mark.parametrize(
    ("keep", "words"),
    [
        ((1, 2, 3, 4), "Every step of the plan is among these."),
        ((9,), "The plan has no step 9."),
        ((), "Every step of the plan is among these."),
    ],
)
def test_what_drops_nothing_or_names_strangers_is_refused(keep: tuple[int, ...], words: str) -> None:
    outcome = narrowed(WHOLE, Narrow(version=1, keep=keep), 2)
    assert isinstance(outcome, Refused) and outcome.reason == words


def test_a_plan_without_any_step_is_none() -> None:
    outcome = narrowed(WHOLE, Narrow(version=1, drop=(1, 2, 3, 4)), 2)
    assert isinstance(outcome, Refused) and outcome.reason == "No step would be left."


def test_a_step_that_works_on_what_a_dropped_one_makes_cannot_stay() -> None:
    steps = [*STEPS, step(5, "change", "src/units.py")]
    outcome = narrowed(plan(steps=steps), Narrow(version=1, drop=(2,)), 2)
    assert isinstance(outcome, Refused) and "works on src/units.py, which step 2 makes" in outcome.reason


def test_a_dropped_test_is_said_in_the_plan_and_its_check_only_has_to_pass() -> None:
    outcome = narrowed(plan(), Narrow(version=1, drop=(2,)), 2)
    assert isinstance(outcome, Plan)
    assert outcome.no_test_because == NO_TEST
    assert [one.expect for one in outcome.checks] == [Expectation.PASSES]
    assert "No test of the plan will show the defect any more." in lost(plan(), outcome)


def test_tests_alone_do_not_mend_what_they_show() -> None:
    outcome = narrowed(plan(), Narrow(version=1, keep=(2,)), 2)
    assert isinstance(outcome, Refused) and "Only tests would be left" in outcome.reason


def test_a_rule_is_applied_whole() -> None:
    rule = {"kind": "literal", "pattern": "a", "replacement": "b", "paths": ["**"]}
    by_rule = [one | {"tools": [], "who": "rule", "rule": {"places": 1, "result": "0" * 64}} for one in STEPS[:1]]
    second = step(2, "change", "b.py", tools=[], who="rule", rule={"places": 1, "result": "1" * 64})
    outcome = narrowed(plan(steps=[*by_rule, second], rule=rule), Narrow(version=1, keep=(1,)), 2)
    assert isinstance(outcome, Refused) and "one rule, whole" in outcome.reason


@given(st.sets(st.integers(1, 4), min_size=1, max_size=3))
def test_nothing_is_in_the_rest_that_was_not_in_the_whole_and_dropping_twice_is_dropping_once(keep: set[int]) -> None:
    left = made(keep=tuple(sorted(keep)))
    found = difference(WHOLE, left)
    assert {one.id for one in left.steps} == keep
    assert not found.steps_added and not found.steps_changed and not found.checks_added and not found.criteria_added
    assert left.paths() <= WHOLE.paths() and not found.limits and not found.moved
    assert made(drop=tuple(sorted({1, 2, 3, 4} - keep))) == left
    named = {one for criterion in left.acceptance or () for one in criterion.steps}
    assert named <= keep
