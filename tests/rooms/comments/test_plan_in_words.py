"""What the plan comment says of acceptance, quotes, tests that are not there, and money."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from app.comments import plan as plan_comment
from app.comments.markdown import split
from app.core.plan import Plan
from tests.fakes.plans import plan
from tests.rooms.comments.test_words import HOSTILE, PROPOSAL

READER = MarkdownIt("commonmark", {"html": True})
URL = "https://github.test/acme/sizes"
STEPS = [step.model_dump(mode="json", exclude_none=True) for step in plan().steps]


def shown(**changes: Any) -> str:
    return plan_comment.render(plan(**changes), PROPOSAL, URL)


def test_what_will_be_true_is_said_with_the_steps_and_checks_that_see_to_it() -> None:
    acceptance = [
        {"id": 1, "words": "999999 is 1.0 MB.", "steps": [1, 2], "checks": ["pytest", "pytest"]},
        {"id": 2, "words": "Other sizes stay.", "steps": [], "checks": ["pytest"]},
        {"id": 3, "words": "It is documented.", "steps": [1]},
    ]
    text = shown(acceptance=acceptance)
    assert "**What will be true then**\n\n1. 999999 is 1.0 MB. (steps 1, 2; shown by `pytest`)" in text
    assert "2. Other sizes stay. (shown by `pytest`)\n3. It is documented. (step 1)" in text
    assert text.index("What will be true then") < text.index("**Steps**")


def test_a_plan_without_acceptance_says_nothing_of_it() -> None:
    assert "What will be true" not in shown()


def test_a_step_that_serves_no_criterion_says_why() -> None:
    steps = [STEPS[0] | {"no_criterion_because": "The name moves first."}, STEPS[1]]
    assert "  - serves none of the above: The name moves first." in shown(steps=steps)


def test_a_missing_regression_test_is_said_among_the_checks() -> None:
    text = shown(no_test_because="No test here can see a page.")
    assert "- **no regression test**: No test here can see a page." in text
    assert text.index("no regression test") > text.index("**Checks**")


COSTS = [
    ("repository", 9, "the middle half of 9 past runs of this kind of work in this repository (1,200 files here)."),
    ("similar", 5, "the middle half of 5 past runs of this kind of work in repositories of a similar size"),
    ("template", 5, "the middle half of 5 past runs of this kind of work, in repositories of other sizes"),
]


@pytest.mark.parametrize(("basis", "runs", "words"), COSTS)
def test_the_range_says_what_it_rests_on(basis: str, runs: int, words: str) -> None:
    estimate = {"low": "0.12", "high": "0.40", "basis": basis, "runs": runs, "files": 1_200}
    text = shown(estimate=estimate)
    assert f"Estimated cost: $0.12 to $0.40, {words}" in text
    assert "A part of them cost more" not in text
    over = shown(estimate=estimate | {"high": "1.01"})
    assert "A part of them cost more than the limit of this plan." in over


def test_without_history_the_usual_budget_is_said_and_not_a_range() -> None:
    estimate = {"low": "0.00", "high": "2.00", "basis": "budget", "runs": 0, "files": 1}
    text = shown(estimate=estimate)
    assert "Estimated cost: up to $2.00, what this kind of work usually gets; too few plans" in text
    assert "(1 file here)" in text
    assert "past runs" not in text


def quoting(quote: str) -> list[dict[str, Any]]:
    return [{"path": "src/sizes.py", "start": 3, "end": 5, "shows": "Here.", "quote": quote}]


def test_a_quote_stands_below_its_place_in_a_block_of_its_own() -> None:
    text = shown(evidence=quoting("if size > 1:\n    return `x`"))
    assert "): Here.\n  ```\n  if size > 1:\n      return `x`\n  ```\n" in text


def blocks(markdown: str) -> list[str]:
    return [token.content for token in READER.parse(markdown) if token.type == "fence"]


SEEN = st.text(alphabet=st.sampled_from(list("`~ab \n#-@")), min_size=1, max_size=80)


@given(SEEN.filter(lambda text: text.strip("\n ")))
def test_a_quote_stays_in_its_block_whatever_it_is(quote: str) -> None:
    before, after = shown(), shown(evidence=quoting(quote))
    assert len(blocks(after)) == len(blocks(before)) + 1
    assert blocks(after)[1:] == blocks(before)


def test_a_quote_that_is_cut_between_comments_leaves_no_block_open() -> None:
    many = quoting("\n".join(f"line {n}" for n in range(60))) * 40
    parts = split(shown(evidence=many), 1_000)
    assert len(parts) > 5
    for part in parts:
        assert "After." in [token.content for token in READER.parse(f"{part}\n\nAfter.") if token.type == "inline"]


def hostile() -> Plan:
    return plan(
        acceptance=[{"id": 1, "words": HOSTILE, "steps": [1, 2]}],
        no_test_because=HOSTILE,
        evidence=quoting(HOSTILE),
        steps=[STEPS[0] | {"no_criterion_because": HOSTILE}, STEPS[1]],
    )


def test_nothing_of_it_is_live() -> None:
    text = plan_comment.render(hostile(), PROPOSAL, URL)
    tokens = [child for token in READER.parse(text) for child in token.children or []]
    assert not {"html_inline", "image"} & {token.type for token in tokens}
    assert {token.attrs["href"] for token in tokens if token.type == "link_open"} == {
        f"{URL}/blob/{'b' * 40}/src/sizes.py#L3-L5"
    }
    said = "".join(token.content for token in tokens if token.type == "text")
    assert "@mira" not in said and "#12" not in said
