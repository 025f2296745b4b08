"""The planner's score, on plans and ends of planning whose right scores are known."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.plan_score import Gold, PlanEnding, Planned, PlanScore, is_relevant, score_plan
from tests.fakes.plans import plan

GOLD = Gold(files=frozenset({"src/sizes.py"}), tests=frozenset({"tests/test_sizes.py"}), lines=12)
MADE = Planned(ending=PlanEnding.PLAN, turns=3)
PYTEST = {"name": "pytest", "argv": ["pytest"], "expect": "passes"}


def steps(*paths: str) -> list[dict[str, Any]]:
    return [
        {"id": number, "kind": "change", "path": path, "intent": "i", "done_when": "d"}
        for number, path in enumerate(paths, 1)
    ]


def scored(told: Planned = MADE, gold: Gold | None = GOLD, **changes: Any) -> PlanScore:
    return score_plan(told, plan(**changes) if told.ending is PlanEnding.PLAN else None, gold)


def test_a_plan_that_names_the_known_change_and_its_test_is_right_and_scores_1() -> None:
    one = scored()
    assert (one.found, one.missed, one.extra) == (("src/sizes.py",), (), ())
    assert (one.held, one.relevant, one.room, one.turns) == (1, 1, True, 3)
    assert (one.right(), one.value(), one.faults()) == (True, 1.0, ())


@pytest.mark.parametrize(
    ("changes", "value", "fault"),
    [
        ({"steps": steps("src/other.py")}, 0, "missed src/sizes.py"),
        ({"steps": steps("src/sizes.py", "src/other.py")}, (1 + 0.5) / 2, ""),
        ({"checks": [PYTEST | {"paths": ["docs/test_docs.py"]}]}, 2 / 3, "no check of the plan runs a test"),
        ({"checks": [PYTEST | {"name": "ruff"}]}, 2 / 3, "no check of the plan runs a test"),
        ({"budget": {"usd": "1", "calls": 9, "minutes": 9, "files": 3, "lines": 11}}, 2 / 3, "does not fit in the pla"),
    ],
)
def test_what_is_missing_or_too_much_costs_its_part(changes: dict[str, Any], value: float, fault: str) -> None:
    one = scored(**changes)
    assert one.value() == pytest.approx(value)
    assert one.right() is (not fault)
    assert fault in " ".join(one.faults())


def test_citations_that_do_not_hold_are_told_and_counted() -> None:
    one = scored(MADE.model_copy(update={"held": 0}))
    assert (one.evidence, one.held, one.value()) == (1, 0, pytest.approx(2 / 3))
    assert one.faults() == ("1 of 1 citations do not hold",)


@pytest.mark.parametrize(
    ("ending", "unclear", "right", "value"),
    [
        (PlanEnding.QUESTION, True, True, 1.0),
        (PlanEnding.QUESTION, False, False, 0.0),
        (PlanEnding.PLAN, True, False, 0.0),
        (PlanEnding.NONE, False, False, 0.0),
        (PlanEnding.SPLIT, False, False, 0.0),
        (PlanEnding.NONE, True, False, 0.0),
    ],
)
def test_a_question_is_right_where_the_issue_is_unclear_and_only_there(
    ending: PlanEnding, unclear: bool, right: bool, value: float
) -> None:
    one = scored(Planned(ending=ending), GOLD.model_copy(update={"unclear": unclear}))
    assert (one.right(), one.value(), bool(one.faults())) == (right, value, not right)


def test_a_run_of_production_tells_only_what_it_knows_by_itself() -> None:
    one = scored(MADE.model_copy(update={"plans_refused": 2}), None)
    assert (one.right(), one.value(), one.faults(), one.found) == (None, None, (), None)
    assert (one.evidence, one.held, one.plans_refused) == (1, 1, 2)


@pytest.mark.parametrize(
    ("name", "paths", "relevant"),
    [
        ("pytest", (), True),
        ("make test", (), True),
        ("tox", (), True),
        ("ruff", (), False),
        ("pytest", ("tests/test_sizes.py::test_roll",), True),
        ("pytest", ("tests/",), True),
        ("pytest", ("src/test_sizes.py",), True),
        ("pytest", ("tests/test_other.py",), False),
        ("pytest", ("test",), False),
    ],
)
def test_a_check_is_relevant_where_it_runs_the_unseen_tests_or_tests_beside_the_change(
    name: str, paths: tuple[str, ...], relevant: bool
) -> None:
    (check,) = plan(checks=[PYTEST | {"name": name, "paths": paths}]).checks
    assert is_relevant(check, GOLD) is relevant


PATHS = st.sets(st.sampled_from([f"src/{name}.py" for name in "abcdefg"]), min_size=1)


@given(planned=PATHS, gold=PATHS)
def test_found_missed_and_extra_share_out_all_files_and_only_the_whole_is_1(planned: set[str], gold: set[str]) -> None:
    one = scored(gold=GOLD.model_copy(update={"files": frozenset(gold)}), steps=steps(*sorted(planned)))
    assert one.found is not None and one.missed is not None and one.extra is not None
    assert {*one.found, *one.missed} == gold
    assert {*one.found, *one.extra} == planned
    value = one.value()
    assert value is not None and 0 <= value <= 1
    assert (one.recall == one.precision == 1) == (planned == gold)
    more = scored(gold=GOLD.model_copy(update={"files": frozenset(gold)}), steps=steps(*sorted(planned | gold)))
    assert (more.recall or 0) >= (one.recall or 0)
