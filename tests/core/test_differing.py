"""What differs between two versions of a plan."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.comments.difference import MOST, differs
from app.core.differing import difference
from tests.fakes.plans import plan

STEPS = [one.model_dump(mode="json", exclude_none=True) for one in plan().steps]


def renumbered(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    return [one | {"id": number} for number, one in enumerate(steps, 1)]


def test_a_plan_does_not_differ_from_itself_whatever_its_version_and_numbers() -> None:
    moved = plan(version=2, steps=[one | {"id": one["id"] + 4} for one in STEPS])
    assert difference(plan(), moved).is_empty()
    assert "steps, checks, promises and limits are the same" in differs(plan(), moved)


def test_a_step_in_other_words_on_the_same_path_is_changed_and_another_path_is_another_step() -> None:
    other = plan(steps=renumbered(STEPS[0] | {"intent": "Round first."}, STEPS[1] | {"path": "tests/test_units.py"}))
    found = difference(plan(), other)
    assert [one.intent for one in found.steps_changed] == ["Round first."]
    assert [getattr(one, "path", "") for one in found.steps_added] == ["tests/test_units.py"]
    assert [getattr(one, "path", "") for one in found.steps_dropped] == ["tests/test_sizes.py"]


def test_everything_that_differs_is_said_in_a_line_each() -> None:
    old = plan(constraints=["Keep the name."], acceptance=[{"id": 1, "words": "It is right.", "steps": [1, 2]}])
    new = plan(
        base_commit="c" * 40,
        constraints=["Keep the unit."],
        acceptance=[{"id": 1, "words": "It is *fast*.", "steps": [1, 2]}],
        checks=[{"name": "make test", "argv": ["make", "test"]}],
        hosts=["a.example:443"],
        budget={"usd": "2.00", "calls": 20, "minutes": 10, "files": 3, "lines": 60},
    )
    text = differs(old, new)
    for line in (
        "**What differs from version 1**",
        "- check dropped: `pytest`",
        "- check added: `make test`, passes",
        "- no longer promised: It is right.",
        "- promised as well: It is \\*fast\\*.",
        "- constraint dropped: Keep the name.",
        "- constraint added: Keep the unit.",
        "- host added: `a.example:443`",
        "- limit: dollars 1.00 → 2.00",
        "- now on `cccccccccccc`; before on `bbbbbbbbbbbb`",
    ):
        assert line in text


def test_a_check_that_has_to_show_something_else_is_changed() -> None:
    (check,) = plan().checks
    other = plan(checks=[check.model_dump(mode="json") | {"expect": "passes"}], no_test_because="None can.")
    assert "- check changed: `pytest`, passes" in differs(plan(), other)


def test_many_lines_of_one_sort_are_counted() -> None:
    many = plan(steps=renumbered(*STEPS, *(STEPS[0] | {"path": f"src/{n}.py"} for n in range(MOST + 3))))
    assert "- step added: 3 more" in differs(plan(), many)


PATHS = st.lists(st.sampled_from(["a.py", "b.py", "c.py"]), min_size=1, max_size=6)


@given(PATHS, PATHS)
def test_each_step_is_dropped_added_changed_or_the_same(before: list[str], after: list[str]) -> None:
    old = plan(steps=renumbered(*(STEPS[0] | {"path": path, "intent": f"{n % 2}"} for n, path in enumerate(before))))
    new = plan(steps=renumbered(*(STEPS[0] | {"path": path, "intent": f"{n % 3}"} for n, path in enumerate(after))))
    found = difference(old, new)
    gone, came, other = len(found.steps_dropped), len(found.steps_added), len(found.steps_changed)
    assert len(old.steps) - gone == len(new.steps) - came >= other
    back = difference(new, old)
    assert len(back.steps_dropped) == came and len(back.steps_added) == gone
