"""Lint: everything that is wrong with a plan is told, by its sort, and nothing that is right."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.core.lint import Code, Fault, plan_faults, plan_fits
from app.core.policy import Policy
from app.core.shelf import Shelf
from app.core.template import Must, Template
from app.core.verdict import Allowed, Refused
from tests.fakes.plans import plan

STRICT = Shelf().read("bugfix", "1.0.0")
STEPS = [step.model_dump(mode="json", exclude_none=True) for step in plan().steps]
PASSES = [{"name": "pytest", "argv": ["/usr/bin/pytest"]}]


def demanding(*must: Must) -> Template:
    return STRICT.model_copy(update={"must_have": must})


def told(changes: dict[str, Any], template: Template = STRICT, policy: Policy | None = None) -> list[str]:
    return [str(fault) for fault in plan_faults(plan(**changes), template, policy or Policy())]


def criterion(id: int, *steps: int, checks: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"id": id, "words": f"Criterion {id}.", "steps": list(steps), "checks": list(checks)}


def test_every_fault_is_told_at_once_and_the_first_one_is_the_verdict() -> None:
    odd = {"id": 3, "kind": "create", "path": "../x.py", "intent": "i", "done_when": "d"}
    lock = odd | {"id": 4, "path": "poetry.lock"}
    changes = {"steps": [STEPS[0], odd, lock], "hosts": ["a.example:443"], "checks": [], "acceptance": [criterion(1)]}
    faults = plan_faults(plan(**changes), STRICT, Policy(forbidden_paths=("src/*",)))
    assert {fault.code for fault in faults} == {Code.PATH, Code.POLICY, Code.TEST, Code.CHECK, Code.ACCEPTANCE}
    assert [fault.words for fault in faults if fault.code is Code.POLICY][:2] == [
        "poetry.lock is protected (lock file) and the plan does not say that it touches it.",
        "src/sizes.py is forbidden by this repository's policy (`src/*`).",
    ]
    refused = plan_fits(plan(**changes), STRICT, Policy(forbidden_paths=("src/*",)))
    assert isinstance(refused, Refused)
    assert refused.reason == faults[0].words


def test_set_up_commands_are_those_of_the_policy_and_hosts_come_with_them_only() -> None:
    policy = Policy(setup=(("make", "tools"),), hosts=("a.example.test:443",))

    def found(**changes: Any) -> list[str]:
        return [one.words for one in plan_faults(plan(**changes), STRICT, policy) if one.code is Code.POLICY]

    assert found(setup=policy.setup, hosts=policy.hosts) == []
    assert "has no set-up commands" in found(hosts=policy.hosts)[0]
    neither = "neither of the policy nor of a package client"
    assert neither in found(setup=[["make", "other"]])[0] and neither in found(setup=[["npm", "ci"]])[0]
    policy = Policy()
    assert found(setup=[["npm", "ci"], ["python3", "-m", "pip", "install", "x"]], hosts=["a.example.test:443"]) == []
    for words in (["make", "other"], ["sh", "npm"], ["python3", "tools/pip"], ["python3", "-c", "pip"]):
        assert neither in found(setup=[["npm", "ci"], words])[0]


def test_a_fault_says_its_sort() -> None:
    assert str(Fault(Code.TEST, "None.")) == "[regression test] None."


# -- what the plan itself says that it brings about ---------------------------------------------------------------


def test_a_plan_that_covers_what_it_promises_has_no_fault() -> None:
    whole = {"acceptance": [criterion(1, 1, checks=("pytest",)), criterion(2, 2)]}
    assert told(whole, demanding(Must.ACCEPTANCE)) == []
    by_check = {"acceptance": [criterion(1, 1, 2), criterion(2, checks=("pytest",))]}
    assert told(by_check, demanding(Must.ACCEPTANCE)) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "asks for acceptance, and the plan has none"),
        ({"acceptance": [criterion(1, 1, 2), criterion(2)]}, "Acceptance 2: no step and no check covers it."),
        ({"acceptance": [criterion(1, 1, 2, 7)]}, "Acceptance 1: the plan has no step 7."),
        ({"acceptance": [criterion(1, 1, 2, checks=("mypy",))]}, "Acceptance 1: the plan has no check 'mypy'."),
        ({"acceptance": [criterion(1, 2)]}, "Step 1: no criterion of the acceptance names this step (change src/"),
    ],
)
def test_what_is_not_covered_is_told(changes: dict[str, Any], words: str) -> None:
    (fault,) = told(changes, demanding(Must.ACCEPTANCE))
    assert fault.startswith("[acceptance]")
    assert words in fault


def test_a_step_may_say_why_no_criterion_names_it() -> None:
    steps = [STEPS[0] | {"no_criterion_because": "The name has to move first."}, STEPS[1]]
    assert told({"steps": steps, "acceptance": [criterion(1, 2)]}) == []


def test_a_plan_without_acceptance_is_held_to_none_where_the_template_asks_for_none() -> None:
    assert told({}) == []


@pytest.mark.parametrize("ids", [(2, 1), (1, 1)])
def test_criteria_are_numbered_as_steps_are(ids: tuple[int, int]) -> None:
    with pytest.raises(ValidationError, match="acceptance ids must be different and rising"):
        plan(acceptance=[criterion(one, 1, 2) for one in ids])


NUMBERS = st.lists(st.integers(1, 5), max_size=4)
NAMES = st.lists(st.sampled_from(["pytest", "mypy"]), max_size=2)


@given(st.lists(st.tuples(NUMBERS, NAMES), min_size=1, max_size=5), st.sets(st.integers(1, 4)))
def test_faults_of_acceptance_are_exactly_what_is_left_uncovered(
    covered: list[tuple[list[int], list[str]]], excused: set[int]
) -> None:
    steps = [
        {"id": number, "kind": "change", "path": f"src/{number}.py", "intent": "i", "done_when": "d"}
        | ({"no_criterion_because": "It is asked for."} if number in excused else {})
        for number in range(1, 5)
    ]
    acceptance = [criterion(at, *by, checks=tuple(names)) for at, (by, names) in enumerate(covered, 1)]
    made = plan(steps=steps, acceptance=acceptance, budget={**plan().budget.model_dump(), "files": 4})
    faults = [fault.words for fault in plan_faults(made, demanding(), Policy()) if fault.code is Code.ACCEPTANCE]
    expected = sum(not by and not names for by, names in covered)
    expected += sum(len({step for step in by if step > 4}) + ("mypy" in names) for by, names in covered)
    serving = {step for by, _ in covered for step in by}
    expected += len({1, 2, 3, 4} - serving - excused)
    assert len(faults) == len(set(faults)) == expected
    assert isinstance(plan_fits(made, demanding(), Policy()), Allowed) is (expected == 0)


# -- a regression test, or the reason why there is none -----------------------------------------------------------

REASON = {"no_test_because": "The defect is in how the page is printed, which no test here can see."}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"steps": [STEPS[0]], "checks": PASSES, **REASON}, None),
        ({"checks": PASSES, **REASON}, None),
        ({"steps": [STEPS[0]]}, "no step on a test file"),
        ({"checks": PASSES}, "No check is to fail before and pass after"),
        (REASON, "`no_test_because` says that none can"),
    ],
)
def test_a_defect_is_mended_with_a_regression_test_or_with_a_reason(changes: dict[str, Any], words: str | None) -> None:
    faults = told(changes, demanding(Must.REGRESSION_TEST_OR_REASON))
    if words is None:
        assert faults == []
    else:
        assert len(faults) == 1 and faults[0].startswith("[regression test]") and words in faults[0]


def test_a_reason_is_no_way_round_a_template_that_asks_for_the_test() -> None:
    assert len(told({"steps": [STEPS[0]], "checks": PASSES, **REASON})) == 2
