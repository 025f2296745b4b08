"""Who says yes, to what, and how: an approval is of exactly one plan, by a person with the right, while both stand.

The executor is away in most of these stories: what counts is whether its work became due.
"""

import json
from datetime import timedelta

import pytest

from app.core.belts import Belt
from app.core.digest import short
from app.core.run import Approved, Closed, Proposed, Published
from tests.fakes.story import REPO, Story

SECOND = timedelta(seconds=1)


@pytest.fixture
def proposed(story: Story) -> Story:
    """A plan was posted and read; the executor is away."""
    story.away.add(Belt.EXECUTOR)
    story.mira.labels()
    return story


def cancelled(story: Story) -> None:
    """The approved plan is given up, so that the story can end without the executor."""
    assert isinstance(story.state(), Approved), story.said()
    story.mira.says("/cancel")
    story.away.clear()
    story.ends(Closed, "cancelled by mira")


def rejected(story: Story) -> None:
    """Nothing was approved, and the plan is turned down at the end."""
    state = story.state()
    assert isinstance(state, Proposed), story.said()
    assert "execute" not in [one.effect.kind for one in story.view().effects]
    story.mira.says("/reject")
    story.ends(Closed, "rejected by mira")


def digest_of(story: Story) -> str:
    state = story.state()
    assert isinstance(state, Proposed)
    return state.proposal.digest


@pytest.mark.needs_userns
def test_a_thumb_of_a_maintainer_on_the_plan_comment_approves_it(story: Story) -> None:
    story.mira.labels()
    plan = story.plan_is_read()
    story.mira.thumbs_up(plan["id"])
    story.sweep()
    story.crank()
    assert "reaction" in story.draft()["body"] or "👍" in story.draft()["body"]
    story.ends(Published)


def test_a_thumb_of_a_passer_by_approves_nothing_and_is_not_answered(proposed: Story) -> None:
    plan = proposed.plan_is_read()
    proposed.rita.thumbs_up(plan["id"])
    proposed.olga.thumbs_up(plan["id"])
    proposed.sweep()
    proposed.crank()
    assert proposed.kinds().count("thumb_seen") == 2
    assert proposed.unread() == []
    rejected(proposed)


def test_a_thumb_that_is_taken_back_before_it_is_looked_up_does_not_count(proposed: Story) -> None:
    plan = proposed.plan_is_read()
    proposed.mira.thumbs_up(plan["id"])
    proposed.sweep()
    proposed.mira.takes_the_thumb_back(plan["id"])
    proposed.crank()
    proposed.next_comment("@mira", "The reaction is gone")
    rejected(proposed)


@pytest.mark.parametrize("way", ["the thumb is taken back", "the plan's comment is deleted"])
def test_a_thumb_that_goes_while_its_plan_is_carried_out_ends_that(proposed: Story, way: str) -> None:
    plan = proposed.plan_is_read()
    proposed.away.add(Belt.EXECUTOR)
    proposed.mira.thumbs_up(plan["id"])
    proposed.sweep()
    proposed.crank()
    proposed.read_status("is being carried out")
    proposed.sweep()
    proposed.crank()
    assert isinstance(proposed.state(), Approved)
    if way == "the thumb is taken back":
        proposed.mira.takes_the_thumb_back(plan["id"])
    else:
        proposed.control.treat_deliveries("drop", "issue_comment", "deleted")
        proposed.max.deletes(plan["id"])
    proposed.sweep()
    proposed.away.clear()
    proposed.crank()
    proposed.next_comment("mira", "not on the plan's comment any more", "Approve the plan again")
    assert isinstance(proposed.state(), Proposed) and "steps_done" not in proposed.kinds()
    proposed.mira.says("/cancel")
    proposed.ends(Closed, "Ended (cancelled)")


def test_where_nothing_happens_a_thumb_is_looked_for_less_often(proposed: Story) -> None:
    def looks() -> int:
        proposed.sweep()
        return sum("graphql" in one["path"] for one in proposed.control.journal())

    proposed.plan_is_read()
    first = looks()
    assert looks() == first + 1
    proposed.pass_time(timedelta(hours=2))
    assert looks() == first + 2
    assert looks() == first + 2
    proposed.rita.says("I had not thought of that.")
    assert looks() == first + 3
    rejected(proposed)


def test_a_thumb_on_a_plan_comment_that_was_edited_after_it_does_not_count(proposed: Story) -> None:
    plan = proposed.plan_is_read()
    proposed.mira.thumbs_up(plan["id"])
    proposed.pass_time(2 * SECOND)
    proposed.control.treat_deliveries("drop", "issue_comment", "edited")
    proposed.max.edits(plan["id"], "### Plan, version 1\n\nTrust me.")
    proposed.sweep()
    proposed.crank()
    proposed.next_comment("@mira", "comment was edited after the reaction was given")
    rejected(proposed)


def test_a_plan_comment_that_was_edited_cannot_be_approved(proposed: Story) -> None:
    plan = proposed.plan_is_read()
    proposed.max.edits(plan["id"], plan["body"].replace("hello", "hullo"))
    proposed.next_comment("changed by max")
    proposed.mira.says("/approve")
    proposed.next_comment("@mira", "edited after it was posted", "/revise")
    rejected(proposed)


def test_a_plan_comment_that_was_deleted_withdraws_the_offer(proposed: Story) -> None:
    plan = proposed.plan_is_read()
    proposed.max.deletes(plan["id"])
    proposed.next_comment("deleted by max")
    proposed.mira.says(f"/approve {short(digest_of(proposed))}")
    proposed.next_comment("@mira", "was deleted", "/revise")
    rejected(proposed)


def test_a_plan_comment_that_was_hidden_withdraws_the_offer(proposed: Story) -> None:
    plan = proposed.plan_is_read()
    proposed.theo.hides(plan["id"])
    proposed.mira.says("/approve")
    proposed.next_comment("@mira", "was hidden", "/revise")
    rejected(proposed)


def test_the_right_digest_approves(proposed: Story) -> None:
    proposed.plan_is_read()
    proposed.mira.says(f"/approve `{short(digest_of(proposed))}`")
    cancelled(proposed)


def test_another_digest_is_refused_and_the_right_one_named(proposed: Story) -> None:
    proposed.plan_is_read()
    proposed.mira.says("/approve 0123456789ab")
    proposed.next_comment("@mira", "is not the digest of the newest plan", short(digest_of(proposed)))
    rejected(proposed)


def test_a_digest_that_is_too_short_is_refused_with_the_one_to_use(proposed: Story) -> None:
    proposed.plan_is_read()
    proposed.mira.says(f"/approve {digest_of(proposed)[:5]}")
    proposed.next_comment("@mira", "too short to name a plan", short(digest_of(proposed)))
    rejected(proposed)


def test_an_approval_of_an_older_version_is_void_once_a_newer_one_stands(proposed: Story) -> None:
    proposed.plan_is_read()
    older = short(digest_of(proposed))
    proposed.mira.says("/revise say it in one line")
    proposed.plan_is_read(2)
    proposed.max.says(f"/approve {older}")
    proposed.next_comment("@max", "is not the digest of the newest plan", short(digest_of(proposed)))
    rejected(proposed)


def test_an_approval_that_is_looked_up_when_a_newer_version_stands_does_not_count_for_it(proposed: Story) -> None:
    """The word was for version 1; version 2 comes while GitHub is being asked."""
    proposed.plan_is_read()
    proposed.mira.says("/revise say it in one line")
    proposed.plan_is_read(2)
    plan = digest_of(proposed)
    proposed.control.fault("GET .*/collaborators/max/permission", status=500)
    proposed.max.says("/approve")
    proposed.mira.says("/revise once more")
    proposed.plan_is_read(3)
    assert digest_of(proposed) != plan
    proposed.wait_out()
    proposed.next_comment("@max", "newer version of the plan stands")
    rejected(proposed)


@pytest.mark.parametrize(
    "words",
    [
        "> /approve\n\nnot yet, please",
        "On Tuesday 4 March 2025 at 10:12 olga wrote:\n> /approve\n\n/approve\n",
        "```\n/approve\n```",
        "    /approve",
    ],
    ids=["quoted", "answered by mail", "in a code block", "indented"],
)
def test_a_command_that_is_only_repeated_is_none(proposed: Story, words: str) -> None:
    """Case AP-01."""
    proposed.plan_is_read()
    proposed.mira.says(words)
    assert "command_given" not in proposed.kinds()
    rejected(proposed)


def test_only_permission_counts_and_not_what_github_calls_the_person(proposed: Story) -> None:
    """Case AP-02: outsider and reader are refused, once each; a writer approves; no answer is no authority."""
    proposed.plan_is_read()
    for _ in range(3):
        proposed.olga.says("/approve")
        proposed.rita.says("/approve")
    proposed.next_comment("@olga", "has read permission here", "takes write")
    proposed.next_comment("@rita", "has read permission here", "takes write")
    proposed.control.fault("GET .*/collaborators/mira/permission", status=500, times=5)
    proposed.mira.says("/approve")
    proposed.wait_out()
    proposed.next_comment("authority could be found", "Nothing was allowed")
    assert isinstance(proposed.state(), Proposed)
    proposed.max.says("/approve")
    cancelled(proposed)


@pytest.mark.parametrize(
    "words",
    ["/approve\r\n", "\n\n/approve   \n", "/approve\n<!-- sync:root -->", "/Approve\u200b"],
    ids=["carriage return", "blank lines", "hidden trailer", "invisible letter"],
)
def test_what_a_person_cannot_see_does_not_spoil_a_command(proposed: Story, words: str) -> None:
    """Case AP-03."""
    proposed.plan_is_read()
    proposed.mira.says(words)
    cancelled(proposed)


@pytest.mark.parametrize("words", ["/aprove", "/approve if the tests pass"])
def test_a_command_that_is_not_quite_one_is_answered_with_the_right_form(proposed: Story, words: str) -> None:
    """Case AP-03."""
    proposed.plan_is_read()
    proposed.mira.says(words)
    proposed.next_comment("@mira", "is not a command I follow", "Did you mean `/approve`?")
    rejected(proposed)


def test_two_commands_at_once_are_none(proposed: Story) -> None:
    proposed.plan_is_read()
    proposed.mira.says("/approve\n/reject")
    proposed.next_comment("@mira", "/approve and /reject")
    rejected(proposed)


@pytest.mark.needs_userns
def test_two_maintainers_approve_in_one_moment_and_one_draft_is_opened(story_on_each_database: Story) -> None:
    """Case AP-04."""
    story = story_on_each_database
    story.mira.labels()
    story.plan_is_read()
    story.mira.writes("/approve")
    story.max.writes("/approve")
    story.control.settle()
    first = next(one for one in story.control.deliveries() if one["event"] == "issue_comment")
    story.control.redeliver(first["id"])
    story.crank()
    story.next_comment("already approved by")
    assert story.kinds().count("command_given") == 2
    assert [one.effect.kind for one in story.view().effects].count("execute") == 1
    assert len(story.control.branches(REPO)) == 2
    story.draft()
    story.ends(Published)


def test_an_old_approval_that_is_delivered_once_more_is_not_of_the_next_run_s_plan(proposed: Story) -> None:
    """Nobody has read the new plan, whatever guid the old comment comes under."""
    story = proposed
    story.plan_is_read()
    story.mira.says("/approve")
    payload = story.last_delivery("issue_comment", "created")
    story.mira.says("/cancel")
    story.read_status("cancelled by mira")
    story.mira.unlabels()
    story.pass_time(2 * SECOND)
    story.mira.labels()
    story.plan_is_read()
    assert story.deliver("issue_comment", json.dumps(payload).encode()) == 202
    story.crank()
    outcomes = {one.outcome for one in story.ledger.deliveries()}
    assert "ignored: It happened before the label was set for this run." in outcomes
    assert isinstance(story.state(), Proposed) and "command_given" not in story.kinds()
    story.away.clear()
    story.mira.says("/reject")
    story.ends(Closed, "rejected by mira")
