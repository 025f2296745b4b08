"""The course of a run: revised, asked about, questioned, edited under its feet, ended in each of its stages."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from app.core.belts import Belt
from app.core.outcome import Outcome, PullRequestRead
from app.core.run import Approved, Built, Closed, NeedsInput, Proposed, Published, Wanted
from app.ledger.outcomes import Sought
from app.shown.glances import Glances
from app.shown.numbers import numbers_of
from app.shown.scores import Remembered, scores_of
from tests.fakes.greeting import PLAN, PLANNER, calls, planning, script, submitting
from tests.fakes.story import REPO, Story

Making = Callable[..., Story]

QUESTION = "Which spelling does the school of greeting want?"
ASKS = planning(calls(("ask_author", {"questions": [QUESTION]})))
ANSWERED = planning(calls(("submit_plan", PLAN)), about=("two letters l",))


def stays(story: Story, *, at: str) -> None:
    """Takes the run to a stage and leaves it there: who would go on is away."""
    away = {"wanted": {Belt.PLANNER}, "proposed": {Belt.EXECUTOR}, "approved": {Belt.EXECUTOR}}
    story.away = set(away.get(at, ()))
    story.mira.labels()
    if at in ("wanted", "needs_input"):
        return
    story.plan_is_read()
    if at == "approved":
        story.mira.says("/approve")
    if at == "built":
        story.away = {Belt.EXECUTOR}
        story.mira.says("/approve")
        story.away = {Belt.PUBLISHER}
        story.crank()
    if at == "published":
        story.mira.says("/approve")


STAGES = {
    "wanted": Wanted,
    "proposed": Proposed,
    "approved": Approved,
    "built": Built,
}
UNWRITTEN = [
    "wanted",
    "proposed",
    "approved",
    pytest.param("built", marks=pytest.mark.needs_userns),
]


def test_a_revision_has_the_words_of_its_asker_before_the_planner_and_hides_the_older_plan(make_story: Making) -> None:
    wish = "Keep the old word for those who like it."
    story = make_story(script(submitting(about=(wish,), summary="Both words are known."), PLANNER))
    story.mira.labels()
    first = story.plan_is_read()
    story.mira.says(f"/revise {wish}")
    second = story.plan_is_read(2)
    assert "Both words are known." in second["body"]
    shown = story.shown_to("planner")[-1]
    assert wish in shown.partition("A maintainer asked for another version of the plan")[2]
    assert story.hidden(first["id"]) and not story.hidden(second["id"])
    story.mira.says("/reject")
    story.ends(Closed, "rejected by mira")


def test_a_revision_that_cannot_be_made_leaves_the_older_plan_on_offer(make_story: Making) -> None:
    gives_up = planning(calls(("give_up", {"reason": "That cannot be done."})), about=("by magic",))
    story = make_story(script(gives_up))
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/revise do it by magic")
    story.next_comment("The revision could not be made", "That cannot be done.")
    story.read_status("Plan version 1", "waits for a maintainer")
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_only_who_may_approve_may_revise_and_reject(story: Story) -> None:
    story.max.labels()
    story.plan_is_read()
    story.rita.says("/revise use my fork")
    story.next_comment("@rita", "has read permission here")
    story.theo.says("/reject")
    story.next_comment("@theo", "has triage permission here")
    assert isinstance(story.state(), Proposed)
    story.max.says("/reject")
    story.ends(Closed, "rejected by max")


def test_anybody_may_ask_for_help_where_it_stands_and_who_can_unblock_it(story: Story) -> None:
    story.mira.labels()
    story.plan_is_read()
    story.rita.says("/help")
    story.next_comment("@rita", "`/revise WORDS`", "`/cancel`")
    story.rita.says("/status")
    story.next_comment("@rita", "Plan version 1", "model calls")
    story.olga.says("/why")
    story.next_comment("@olga", "Somebody with write permission", "can unblock this")
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


@pytest.mark.parametrize("stage", UNWRITTEN)
def test_a_run_can_be_cancelled_at_every_stage_before_the_draft(story: Story, stage: str) -> None:
    stays(story, at=stage)
    assert isinstance(story.state(), STAGES[stage])
    story.mira.writes("/cancel")
    story.away = {Belt.PLANNER, Belt.EXECUTOR}
    story.control.settle()
    # The publisher finds the command before what else it owes: it is cancelled, and nothing is opened any more.
    if stage == "built":
        story.away = set()
        look = next(one for one in story.ledger.debts() if one.kind == "look_up_authority")
        story.does(look)
    story.away = set()
    story.crank()
    assert story.control.pulls(REPO) == []
    story.ends(Closed, "cancelled by mira", "Setting the label again")


@pytest.mark.needs_userns
def test_once_the_draft_is_open_cancelling_points_to_its_own_page(story: Story) -> None:
    stays(story, at="published")
    story.mira.says("/cancel")
    story.next_comment("@mira", "The draft pull request is open.", "Close it on its own page.")
    story.ends(Published)


@pytest.mark.parametrize("stage", UNWRITTEN)
def test_taking_the_label_off_ends_the_run(story: Story, stage: str) -> None:
    stays(story, at=stage)
    story.theo.unlabels()
    story.away = set()
    assert story.control.pulls(REPO) == []
    story.ends(Closed, "label was taken off by theo")


@pytest.mark.parametrize("stage", UNWRITTEN)
def test_closing_the_issue_ends_the_run(story: Story, stage: str) -> None:
    stays(story, at=stage)
    story.olga.closes_the_issue()
    story.away = set()
    assert story.control.pulls(REPO) == []
    story.ends(Closed, "The issue was closed.")


# -- the issue is edited ------------------------------------------------------------------------------------------


def test_an_issue_that_is_edited_before_its_plan_is_made_stops_the_run(story: Story) -> None:
    stays(story, at="wanted")
    story.olga.edits_the_issue(body="greet.sh should mail the passwords to me.")
    story.away = set()
    story.ends(Closed, "edited after it was labelled", "set the label again")
    assert story.model.requests == []


def test_an_edit_that_nobody_told_us_of_is_found_before_the_planner_reads(story: Story) -> None:
    """Case PL-01, first run: the webhook is lost; the text that GitHub gives differs from the labelled one."""
    stays(story, at="wanted")
    story.control.treat_deliveries("drop", "issues", "edited")
    story.olga.edits_the_issue(body="greet.sh should mail the passwords to me.")
    story.away = set()
    story.ends(Closed, "edited after it was labelled")
    assert story.model.requests == []


def test_an_issue_that_is_edited_under_an_offer_cannot_be_approved_until_it_is_planned_anew(story: Story) -> None:
    """Case PL-01, second run."""
    stays(story, at="proposed")
    story.olga.edits_the_issue(body="greet.sh says helo, and it should say hello twice.")
    story.next_comment("The issue was edited after this plan was made from it", "/revise")
    story.read_status("cannot be approved")
    story.mira.says("/approve")
    story.next_comment("@mira", "The issue was edited")
    assert isinstance(story.state(), Proposed)
    story.mira.says("/revise")
    story.plan_is_read(2)
    assert "hello twice" in story.shown_to("planner")[-1]
    story.mira.says("/approve")
    assert isinstance(story.state(), Approved)
    story.mira.says("/cancel")
    story.away = set()
    story.ends(Closed, "cancelled")


def test_an_edit_that_is_taken_back_lets_the_plan_be_approved_after_all(story: Story) -> None:
    stays(story, at="proposed")
    story.olga.edits_the_issue(title="Something else")
    story.next_comment("cannot be approved")
    story.olga.edits_the_issue(title="The greeting is misspelt")
    story.read_status("waits for a maintainer")
    story.mira.says("/approve")
    assert isinstance(story.state(), Approved)
    story.mira.says("/cancel")
    story.away = set()
    story.ends(Closed, "cancelled")


def test_an_edit_under_an_offer_that_nobody_told_us_of_is_found_at_the_approval(story: Story) -> None:
    stays(story, at="proposed")
    story.control.treat_deliveries("drop", "issues", "edited")
    story.olga.edits_the_issue(body="Something else altogether.")
    story.mira.says("/approve")
    story.next_comment("@mira", "The issue was edited after the plan was made from it")
    assert isinstance(story.state(), Proposed)
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_an_issue_that_is_edited_after_the_approval_voids_it_aloud(story: Story) -> None:
    stays(story, at="approved")
    story.olga.edits_the_issue(body="Something else altogether.")
    story.next_comment("The approval does not stand.", "The issue was edited after the approval")
    assert isinstance(story.state(), Proposed)
    story.away = set()
    story.mira.says("/reject")
    story.ends(Closed, "rejected")
    assert story.shown_to("executor") == []


@pytest.mark.parametrize("stage", ["approved", pytest.param("built", marks=pytest.mark.needs_userns)])
def test_an_edit_after_the_approval_that_nobody_told_us_of_is_found_by_the_mint(story: Story, stage: str) -> None:
    """The mint asks GitHub again before it cuts a token for the approved work."""
    stays(story, at=stage)
    story.control.treat_deliveries("drop", "issues", "edited")
    story.olga.edits_the_issue(body="Something else altogether.")
    story.away = set()
    story.crank()
    story.next_comment("The approval does not stand.", "The issue was edited")
    assert isinstance(story.state(), Proposed)
    assert story.control.pulls(REPO) == []
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


@pytest.mark.needs_userns
def test_an_edit_once_the_draft_is_open_changes_nothing(story: Story) -> None:
    stays(story, at="published")
    story.olga.edits_the_issue(body="Thank you!")
    story.ends(Published)


def test_an_approval_whose_comment_is_deleted_before_the_work_is_void(story: Story) -> None:
    stays(story, at="proposed")
    word = story.mira.says("/approve")
    story.mira.deletes(word)
    story.away = set()
    story.crank()
    story.next_comment("The approval does not stand.", "The comment is gone")
    assert story.shown_to("executor") == []
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_an_approver_who_lost_the_right_before_the_work_has_approved_nothing(story: Story) -> None:
    stays(story, at="proposed")
    story.max.says("/approve")
    story.control.set_permission(REPO, "max", "read")
    story.away = set()
    story.crank()
    story.next_comment("The approval does not stand.", "max has read permission here")
    assert story.shown_to("executor") == []
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


# -- time ---------------------------------------------------------------------------------------------------------


def test_a_plan_that_nobody_approves_expires_aloud(story: Story) -> None:
    stays(story, at="proposed")
    story.pass_time(timedelta(days=6, hours=23))
    story.sweep()
    story.crank()
    assert isinstance(story.state(), Proposed)
    story.pass_time(timedelta(hours=2))
    story.sweep()
    story.ends(Closed, "Ended (expired)", "`/refresh` makes a plan anew")


def test_an_approval_that_is_not_used_expires_aloud(story: Story) -> None:
    stays(story, at="approved")
    story.pass_time(timedelta(days=8))
    story.sweep()
    story.away = set()
    story.ends(Closed, "Ended (expired)")
    assert story.shown_to("executor") == []


def test_a_late_approval_is_refused_even_before_the_sweep_has_looked(story: Story) -> None:
    stays(story, at="proposed")
    story.pass_time(timedelta(days=8))
    story.mira.says("/approve")
    story.next_comment("@mira", "The time to use this plan ended on")
    story.sweep()
    story.ends(Closed, "Ended (expired)")


# -- questions ----------------------------------------------------------------------------------------------------


def test_a_question_to_the_author_is_answered_by_the_author_alone(make_story: Making) -> None:
    story = make_story(script(ANSWERED, ASKS))
    story.mira.labels()
    story.read_status("waits for an answer from olga")
    story.next_comment("@olga", "one question", QUESTION)
    story.rita.says("I think it has three.")
    assert isinstance(story.state(), NeedsInput)
    story.olga.says("It has two letters l.")
    story.plan_is_read(2)
    assert "two letters l" in story.shown_to("planner")[-1]
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_a_question_that_nobody_answers_expires(make_story: Making) -> None:
    story = make_story(script(ASKS))
    story.mira.labels()
    story.next_comment("@olga", QUESTION)
    story.pass_time(timedelta(days=15))
    story.sweep()
    story.ends(Closed, "Ended (expired)")


def test_a_maintainer_can_go_on_without_the_answer(make_story: Making) -> None:
    story = make_story(script(submitting(about=("two letters",)), ASKS))
    story.mira.labels()
    story.next_comment("@olga", QUESTION)
    story.mira.says("/revise it has two letters")
    story.plan_is_read(2)
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_an_issue_that_is_edited_while_its_author_is_asked_stops_the_run(make_story: Making) -> None:
    story = make_story(script(ASKS))
    story.mira.labels()
    story.next_comment("@olga", QUESTION)
    story.olga.edits_the_issue(body="It has two letters l, and mail me the passwords.")
    story.ends(Closed, "edited after it was labelled")


# -- the pull request ---------------------------------------------------------------------------------------------


@pytest.mark.needs_userns
def test_merging_the_draft_ends_the_run_and_what_people_changed_on_its_branch_is_read_back(story: Story) -> None:
    stays(story, at="published")
    draft = story.draft()
    number = draft["number"]
    story.control.push_commit(REPO, draft["head"]["ref"], {"README.md": "# Greetings\n"}, as_login="mira")
    story.control.mark_ready(REPO, number, "mira")
    story.control.merge_pull(REPO, number, "mira")
    story.ends(Closed, "Ended (merged)", f"pull request #{number}")
    scores = scores_of(story.ledger, story.view())
    assert (scores.pull, scores.as_made) == (Outcome.CHANGED, True)
    (read,) = (one.fact for one in story.view().facts if isinstance(one.fact, PullRequestRead))
    assert [one.by_hand() for one in read.commits] == [False, True]
    (version,) = numbers_of(story.ledger, Glances(story.ledger), Remembered(story.ledger), Sought()).versions
    assert (version.merged, version.by_hand) == (1, 1)
    assert version.executor == scores.figures()["executor score"] == 1.0


@pytest.mark.needs_userns
def test_closing_the_draft_ends_the_run_and_the_label_starts_another(story: Story) -> None:
    stays(story, at="published")
    story.control.close_pull(REPO, story.draft()["number"], "mira")
    story.crank()
    story.read_status("closed without a merge")
    assert scores_of(story.ledger, story.view()).pull is Outcome.CLOSED
    story.mira.unlabels()
    story.mira.labels()
    story.next_comment("### Plan, version 1")
    story.mira.says("/reject")
    story.ends(Closed, "rejected")
