"""An amended plan is the plan before with what was asked for, and the difference between the two tells all of it."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.core.amending import Wish, added, amended
from app.core.digest import digest
from app.core.plan import Plan
from app.core.policy import Policy, Protecting
from app.core.template import Size
from tests.fakes.plans import plan

MOST = Size(usd=Decimal(5), calls=100, minutes=60, files=10, lines=500)
CHECK = {"name": "make lint", "argv": ["make", "lint"]}
CRITERION = {"id": 3, "words": "Sizes are right.", "steps": [1, 2]}


def further(number: int, path: str = "src/units.py", kind: str = "change", **more: Any) -> dict[str, Any]:
    return {"id": number, "kind": kind, "path": path, "intent": "Change it too.", "done_when": "It is so.", **more}


def made(before: Plan, policy: Policy | None = None, most: Size = MOST, **wish: Any) -> Plan:
    asked = Wish.model_validate({"step": 2, "why": "It takes more."} | wish)
    return amended(before, asked, before.version + 1, policy or Policy(), most)


_words = st.text("abc -`*", min_size=1, max_size=12)
_steps = st.lists(st.sampled_from(["a.py", "b/c.py", "poetry.lock"]), max_size=3, unique=True).map(
    lambda paths: tuple(further(number, path) for number, path in enumerate(paths, 3))
)
_wishes = st.fixed_dictionaries(
    {
        "why": _words,
        "steps": _steps,
        "checks": st.sampled_from([(), (CHECK,)]),
        "hosts": st.sampled_from([(), ("a.example:443",)]),
        "acceptance": st.lists(_words, max_size=2).map(tuple),
        "instead": st.none() | st.just(further(2, "tests/test_units.py")),
    }
)


@given(_wishes, st.sampled_from([{}, {"acceptance": [CRITERION]}]))
def test_the_difference_holds_exactly_what_was_asked_for(wish: dict[str, Any], more: dict[str, Any]) -> None:
    before = plan(**more)
    after = made(before, **wish)
    found = added(before, after)
    assert (after.version, found.amends.plan, found.amends.step, found.amends.why) == (
        2,
        digest(before),
        2,
        wish["why"],
    )
    assert [step.path for step in found.steps] == [step["path"] for step in wish["steps"]]
    assert len(found.checks) == len(wish["checks"]) and found.hosts == wish["hosts"]
    assert tuple(one.words for one in found.acceptance) == wish["acceptance"]
    assert (found.instead is None) == (wish["instead"] is None)
    assert digest(Plan.model_validate_json(after.model_dump_json(by_alias=True))) == digest(after)


@pytest.mark.parametrize(
    "change",
    [
        {"summary": "Another one."},
        {"base_commit": "e" * 40},
        {"constraints": ("None.",)},
        {"checks": ()},
        {"run": "r-other00000"},
        {"hypothesis": "Another."},
        {"amends": None},
    ],
)
def test_a_plan_that_differs_in_more_than_an_amendment_may_is_not_taken_for_one(change: dict[str, Any]) -> None:
    before = plan()
    after = made(before, steps=[further(3)]).model_copy(update=change)
    with pytest.raises(ValueError, match="amend"):
        added(before, after)


def test_a_step_other_than_the_one_that_asked_stays_as_it_is() -> None:
    before = plan()
    after = made(before, steps=[further(3)])
    other = after.steps[0].model_copy(update={"intent": "Something else."})
    with pytest.raises(ValueError, match="more than an amendment may"):
        added(before, after.model_copy(update={"steps": (other, *after.steps[1:])}))
    with pytest.raises(ValueError, match="more than an amendment may"):
        added(before, after.model_copy(update={"steps": after.steps[:1]}))


def test_the_limits_grow_with_the_steps_and_never_beyond_what_is_allowed() -> None:
    before = plan()
    assert made(before, checks=[CHECK]).budget == before.budget
    after = made(before, steps=[further(3), further(4, "new.py", "create")])
    assert (after.budget.usd, after.budget.calls, after.budget.lines, after.budget.files) == ("2.00", 40, 120, 5)
    tight = made(before, most=MOST.model_copy(update={"usd": Decimal("1.50"), "calls": 25}), steps=[further(3)])
    assert (tight.budget.usd, tight.budget.calls, tight.budget.minutes) == ("1.50", 25, 15)
    below = made(before, most=MOST.model_copy(update={"usd": Decimal("0.50"), "lines": 10}), steps=[further(3)])
    assert (below.budget.usd, below.budget.lines) == ("1.00", 60)


def test_protected_paths_of_further_steps_are_named_by_code() -> None:
    policy = Policy(protected=Protecting(paths=("src/",)))
    after = made(plan(protected_paths=["src/sizes.py"]), policy, steps=[further(3), further(4, "poetry.lock")])
    assert after.protected_paths == ("src/sizes.py", "poetry.lock", "src/units.py")


def test_further_steps_serve_what_will_be_true_besides_or_say_why_they_are_there() -> None:
    bare = made(plan(), steps=[further(3)], why="x" * 3_000)
    words = bare.steps[2].no_criterion_because
    assert words is not None and words.startswith("An amendment asks for it: xxx") and len(words) == 600
    serving = made(plan(acceptance=[CRITERION]), steps=[further(3)], checks=[CHECK], acceptance=["More is true."])
    assert serving.acceptance is not None
    new = serving.acceptance[1]
    assert (new.id, new.steps, new.checks) == (4, (3,), ("make lint",))
    assert serving.steps[2].no_criterion_because is None
    alone = made(plan(), acceptance=["It rounds up."])
    assert alone.acceptance is not None and alone.acceptance[0].steps == (2,)


def test_what_is_no_plan_is_refused_and_an_empty_wish_is_seen() -> None:
    with pytest.raises(ValidationError, match="hosts"):
        made(plan(), hosts=["not a host"])
    with pytest.raises(ValidationError, match="nobody would see"):
        made(plan(), why="a\u200bb")
    with pytest.raises(ValidationError, match="rising"):
        made(plan(), steps=[further(2)])
    assert Wish(step=1, why="x").asks_for_nothing()
    assert not Wish(step=1, why="x", acceptance=("y",)).asks_for_nothing()


def test_an_amendment_can_be_amended() -> None:
    second = made(made(plan(), steps=[further(3)]), steps=[further(4, "c.py")])
    assert second.version == 3 and second.amends is not None
    assert second.amends.plan == digest(made(plan(), steps=[further(3)]))


def test_what_further_checks_take_to_prepare_comes_behind_what_was_approved() -> None:
    before = plan(setup=[["npm", "ci"]], hosts=["a.example:443"])
    after = made(before, checks=[CHECK], setup=[["npm", "ci"], ["go", "mod", "download"]], hosts=["b.example:443"])
    assert added(before, after).setup == (("go", "mod", "download"),)
    other = after.model_copy(update={"setup": (("go", "mod", "download"), ("npm", "ci"))})
    with pytest.raises(ValueError, match="more than an amendment may"):
        added(before, other)
