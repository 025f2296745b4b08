"""Steps are dropped from a plan by code: by a command, or by a tick that is taken off its comment."""

from collections.abc import Callable

import pytest

from app.core.belts import Belt
from app.core.run import Approved, Closed, Proposed, Published
from tests.fakes.greeting import FILES, PLAN, script, submitting
from tests.fakes.story import Story

Making = Callable[..., Story]
POLICY = ".github/countersign.yml"
PASSES = submitting(checks=[{"name": "make test", "expect": "passes"}], no_test_because="The test is there already.")
README = {"id": 3, "kind": "change", "path": "README.md", "intent": "Say hello there.", "done_when": "It says so."}
THREE = submitting(
    steps=[*PLAN["steps"], README],
    acceptance=[*PLAN["acceptance"], {"id": 3, "words": "The page says hello as well.", "steps": [3]}],
    budget={"files": 3},
)


def proposed(make_story: Making, **files: str) -> Story:
    """A plan of three steps is on offer: the word, its test, and the page."""
    story = make_story(script(THREE), FILES | files)
    story.away.add(Belt.EXECUTOR)
    story.mira.labels()
    story.plan_is_read()
    return story


def rejected(story: Story) -> None:
    story.mira.says("/reject")
    story.away.clear()
    story.ends(Closed, "rejected by mira")


def test_a_maintainer_approves_some_steps_and_is_asked_about_what_is_left(make_story: Making) -> None:
    story = proposed(make_story)
    asked = len(story.model.requests)
    story.mira.says("/approve steps 1,2")
    second = story.plan_is_read(2)
    for words in (
        "What differs from version 1",
        "step dropped: change `README.md` (Say hello there.)",
        "no longer promised: The page says hello as well.",
        "No longer promised: The page says hello as well.",
        "Step 3 of version 1, which was dropped: change README.md",
    ):
        assert words in second["body"], second["body"]
    assert "**3. Change**" not in second["body"]
    assert isinstance(story.state(), Proposed)
    assert len(story.model.requests) == asked, "no model has a part in it"
    story.mira.says("/approve")
    assert isinstance(story.state(), Approved)
    story.mira.says("/cancel")
    story.away.clear()
    story.ends(Closed, "cancelled by mira")


@pytest.mark.needs_userns
def test_where_policy_says_so_what_is_left_is_approved_with_the_same_word(make_story: Making) -> None:
    story = proposed(make_story, **{POLICY: "approve: {dropped_steps: approve}\n"})
    story.away.clear()
    story.mira.says("/approve steps 1-2")
    story.next_comment("### Plan, version 2", "step dropped: change `README.md`")
    assert "README" not in str(story.draft()["body"]).partition("**Evidence")[0]
    assert story.view().state.proposal.version == 2  # type: ignore[union-attr]
    story.ends(Published, "Draft pull request")


def test_an_approval_of_the_rest_is_void_when_its_comment_is_edited_before_the_work(make_story: Making) -> None:
    story = proposed(make_story, **{POLICY: "approve: {dropped_steps: approve}\n"})
    word = story.mira.says("/approve steps 1,2")
    story.next_comment("### Plan, version 2")
    assert isinstance(story.state(), Approved), story.said()
    story.mira.edits(word, "/approve steps 1,3")
    story.away.clear()
    story.crank()
    story.next_comment("The approval does not stand", "The comment was edited after it was written")
    rejected(story)


def untick(story: Story, comment: dict[str, object], step: int) -> str:
    """The comment's whole text as GitHub has it, with a step's box empty."""
    body = next(one["body"] for one in story.control.comments("acme/greet", 1) if one["id"] == comment["id"])
    assert f"- [x] **{step}." in body
    return str(body).replace(f"- [x] **{step}.", f"- [ ] **{step}.")


def test_a_tick_that_is_taken_off_makes_a_version_without_the_step_that_waits(make_story: Making) -> None:
    story = make_story(script(THREE), FILES | {POLICY: "approve: {dropped_steps: approve}\n"})
    story.away.add(Belt.EXECUTOR)
    story.mira.labels()
    first = story.plan_is_read()
    story.mira.edits(first["id"], untick(story, first, 3))
    second = story.plan_is_read(2)
    assert "step dropped: change `README.md`" in second["body"]
    assert story.hidden(first["id"]) and isinstance(story.state(), Proposed)
    story.max.edits(first["id"], untick(story, first, 2))
    story.next_comment("@max", "That was on the comment of version 1", "Version 2 stands below")
    rejected(story)


def test_a_tick_taken_off_by_somebody_who_may_not_approve_is_answered_and_counts_again_when_it_is_back(
    make_story: Making,
) -> None:
    story = make_story(script(THREE), FILES | {POLICY: "approve: {role: maintain}\n"})
    story.away.add(Belt.EXECUTOR)
    story.mira.labels()
    first = story.plan_is_read()
    whole = untick(story, first, 3).replace("- [ ] **3.", "- [x] **3.")
    story.max.edits(first["id"], untick(story, first, 3))
    story.next_comment("@max", "write permission", "Tick it again")
    story.mira.says("/approve")
    story.next_comment("@mira", "The plan comment was edited")
    story.max.edits(first["id"], whole)
    story.mira.says("/approve")
    assert isinstance(story.state(), Approved), story.said()
    story.mira.says("/cancel")
    story.away.clear()
    story.ends(Closed, "cancelled by mira")


def test_steps_that_the_plan_cannot_do_without_are_not_dropped(make_story: Making) -> None:
    story = proposed(make_story)
    story.mira.says("/approve steps 2")
    story.next_comment("The revision could not be made", "No check is to fail before and pass after")
    story.mira.says("/approve steps 1,2,3")
    story.next_comment("Every step of the plan is among these")
    story.mira.says("/approve steps 9")
    story.next_comment("The plan has no step 9")
    story.rita.says("/approve steps 1")
    story.next_comment("@rita", "read permission")
    story.mira.says("/approve step one")
    story.next_comment("is not a command I follow", "`/approve steps 1,3`")
    rejected(story)


@pytest.mark.parametrize("deed", ["edits", "deletes"])
def test_a_plan_comment_that_is_changed_otherwise_is_said_at_once(make_story: Making, deed: str) -> None:
    story = proposed(make_story)
    comment = story.view().state.proposal.comment_id  # type: ignore[union-attr]
    story.max.edits(comment, "Nothing.") if deed == "edits" else story.max.deletes(comment)
    story.next_comment("by max, so the plan cannot be approved", "`/refresh`")
    rejected(story)


def test_a_plan_comment_that_is_changed_after_the_approval_voids_it_aloud(make_story: Making) -> None:
    story = proposed(make_story)
    story.mira.says("/approve")
    assert isinstance(story.state(), Approved)
    story.max.edits(story.state().proposal.comment_id, "Nothing.")
    story.next_comment("The approval does not stand", "The plan's comment was changed by max")
    rejected(story)
