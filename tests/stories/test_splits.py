"""An issue that is too much for one plan: the planner says how it could be cut, and a person opens the pieces."""

from collections.abc import Callable
from typing import Any

import pytest

from app.core.run import Closed, ClosedReason, Proposed
from tests.fakes.greeting import PLANNER, calls, planning, script
from tests.fakes.story import REPO, Story

Making = Callable[..., Story]

FIRST = {"title": "Spell the greeting", "covers": "Only `greet.sh`. @max knows it, see #7.", "after": []}
SECOND = {"title": "Translate the greeting", "covers": "A language as second argument.", "after": [1]}
SPLIT: dict[str, Any] = {"reason": "Spelling and translating are two changes.", "pieces": [FIRST, SECOND]}


def splitting(**changes: Any) -> dict[str, Any]:
    return planning(calls(("too_large", SPLIT | changes)))


def test_a_split_is_proposed_as_texts_to_copy_and_nothing_is_opened(make_story: Making) -> None:
    story = make_story(script(splitting()))
    story.mira.labels()
    words = ("Too much for one plan: 2 smaller issues", "**1. Spell the greeting**", "**2. Translate the greeting**")
    body = story.next_comment(*words, "Part 2 of 2 of #1. To be done after part 1", "`countersign` on each")["body"]
    assert "@max" not in body and "#7" not in body
    assert len(story.control.issues(REPO)) == 1
    assert "plan_drafted" not in story.kinds()
    state = story.state()
    assert isinstance(state, Closed) and state.reason is ClosedReason.TOO_LARGE
    story.ends(Closed, "Ended (too large)", "Spelling and translating are two changes.", "1 model calls")


def test_a_piece_that_is_opened_and_labelled_is_a_run_of_its_own(make_story: Making) -> None:
    story = make_story(script(planning(calls(("too_large", SPLIT)), *PLANNER["turns"])))
    story.mira.labels()
    story.next_comment("Too much for one plan")
    number = story.mira.opens_an_issue("Spell the greeting", "Only `greet.sh`.\n\nPart 1 of 2 of #1.")
    story.mira.labels(number=number)
    story.next_comment("### Plan, version 1")
    story.read_status("waits for a maintainer", number=number)
    story.mira.says("/reject", number)
    story.read_status("rejected", number=number)
    story.ends(Closed, "Ended (too large)")


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ([FIRST], "at least 2 items"),
        ([SECOND, FIRST], "piece 1 waits for 1, which is none of the pieces before it"),
        ([FIRST, SECOND | {"title": "spell the  greeting"}], "two pieces have the same title"),
    ],
)
def test_a_split_that_cannot_be_done_in_order_goes_back(
    make_story: Making, pieces: list[dict[str, Any]], words: str
) -> None:
    wrong = calls(("too_large", SPLIT | {"pieces": pieces}))
    story = make_story(script(planning(wrong, calls(("too_large", SPLIT), when=[words]))))
    story.mira.labels()
    story.next_comment("**1. Spell the greeting**")
    story.ends(Closed, "Ended (too large)")


def test_a_wish_that_is_too_much_leaves_the_older_plan_on_offer(make_story: Making) -> None:
    story = make_story(script(planning(*PLANNER["turns"], calls(("too_large", SPLIT)))))
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/revise and translate it as well")
    story.next_comment("Too much for one plan: 2 smaller issues")
    story.next_comment("The revision could not be made", "two changes", "the older version stays on offer")
    story.ends(Proposed, "waits for a maintainer")
