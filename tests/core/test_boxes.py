"""The boxes of a plan comment: what is ticked, and whether anything else was touched."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from app.comments import plan as plan_comment
from app.core.boxes import Boxes, read_boxes
from app.core.run import Proposal
from tests.fakes import plans

NOW = datetime(2026, 3, 3, 12, tzinfo=UTC)
PROPOSAL = Proposal(
    version=1,
    digest="d" * 64,
    base_branch="main",
    base_commit=plans.BASE,
    issue_digest=plans.ISSUE,
    drafted_at=NOW,
    expires_at=NOW + timedelta(days=7),
)
STEPS = [one.model_dump(mode="json", exclude_none=True) for one in plans.plan().steps]


def posted(**changes: object) -> str:
    return plan_comment.render(plans.plan(**changes), PROPOSAL, "https://github.test/acme/sizes")


def test_each_step_has_a_box_that_is_ticked_when_it_is_posted() -> None:
    text = posted()
    assert text.count("- [x] **") == 2
    assert read_boxes(text) == Boxes(text, ())


def test_a_tick_that_is_taken_off_names_its_step_and_nothing_else_is_touched() -> None:
    text = posted()
    changed = text.replace("- [x] **2.", "- [ ] **2.").replace("\n", "\r\n")
    assert read_boxes(changed) == Boxes(text, (2,))


def test_what_only_looks_like_a_box_is_none() -> None:
    quote = "- [ ] **1. Change** the world"
    steps = [STEPS[0] | {"intent": quote, "constraints": [quote]}, STEPS[1] | {"done_when": f"x\n{quote}"}]
    text = posted(
        summary=f"x\n{quote}",
        steps=steps,
        risks=[quote],
        evidence=[{"path": "a.py", "start": 1, "end": 1, "shows": quote, "quote": quote}],
    )
    assert read_boxes(text) == Boxes(text, ())
    fenced = f"```\n{quote}\n```"
    assert read_boxes(fenced) == Boxes(fenced, ())


@given(st.sets(st.integers(1, 2)), st.text(max_size=60))
def test_any_boxes_are_told_apart_from_any_words(empty: set[int], words: str) -> None:
    text = posted(summary="".join(ch for ch in words if ch.isprintable()).strip() or "x")
    changed = text
    for step in empty:
        changed = changed.replace(f"- [x] **{step}.", f"- [ ] **{step}.")
    assert read_boxes(changed) == Boxes(text, tuple(sorted(empty)))
