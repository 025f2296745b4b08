"""A plan that is too long for one comment is bound whole: each of its comments must stand when it is approved."""

from typing import Any

import pytest

from app.core.belts import Belt
from app.core.run import Approved, Closed, Proposed
from tests.fakes.greeting import script, submitting
from tests.fakes.story import Story
from tests.stories.conftest import MakeStory

# Each blank-separated sign takes four letters to write without being live, so that the comment gets long.
LONG = ["< " * 290] * 28


def proposed(make_story: MakeStory) -> tuple[Story, list[dict[str, Any]]]:
    """The long plan stands in several comments, all of them read."""
    story = make_story(script(submitting(risks=LONG, constraints=LONG, out_of_scope=LONG)))
    story.away.add(Belt.EXECUTOR)
    story.mira.labels()
    parts = [story.next_comment("### Plan, version 1", "more comments below")]
    while further := [one for one in story.unread() if "&lt;" in one["body"]]:
        parts.append(story.next_comment())
        assert parts[-1]["id"] == further[0]["id"]
    assert len(parts) > 1
    return story, parts


def test_it_is_approved_while_all_of_it_stands(make_story: MakeStory) -> None:
    story, _ = proposed(make_story)
    story.mira.says("/approve")
    assert isinstance(story.state(), Approved), story.said()
    story.mira.says("/cancel")
    story.away.clear()
    story.ends(Closed, "cancelled by mira")


@pytest.mark.parametrize("deed", ["edited", "deleted"])
def test_an_approval_of_a_plan_whose_last_part_was_changed_is_refused(make_story: MakeStory, deed: str) -> None:
    story, parts = proposed(make_story)
    if deed == "edited":
        story.control.edit_comment(parts[-1]["id"], "Nothing more.", "mira")
    else:
        story.control.delete_comment(parts[-1]["id"], "mira")
    story.crank()
    story.next_comment("by mira, so the plan cannot be approved")
    story.mira.says("/approve")
    assert isinstance(story.state(), Proposed)
    story.next_comment(f"The plan comment was {deed}")
    story.mira.says("/reject")
    story.away.clear()
    story.ends(Closed, "rejected by mira")
