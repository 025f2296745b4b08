"""A plan is made anew and shows what differs; a run that expired or failed is taken up again, not lost."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from app.core.belts import Belt
from app.core.run import Approved, Closed, Proposed, Published
from tests.fakes.greeting import GREET, PLAN, STEP_1, calls, planning, script, submitting
from tests.fakes.story import REPO, Story

Making = Callable[..., Story]
OTHER = submitting(about=("The plan before",), constraints=["The default name goes."])


def rejected(story: Story) -> None:
    story.mira.says("/reject It can wait.\nUntil spring.")
    story.away.clear()
    story.ends(Closed, "The plan was rejected by mira: It can wait. Until spring.", "Setting the label again")


def test_a_refreshed_plan_stands_on_the_newest_commit_and_shows_what_differs(make_story: Making) -> None:
    story = make_story(script(OTHER))
    story.mira.labels()
    first = story.plan_is_read()
    story.control.push_commit(REPO, "main", {"README.md": "# greet, anew\n"})
    story.rita.says("/refresh")
    story.next_comment("@rita", "read permission")
    story.mira.says("/refresh")
    second = story.plan_is_read(2)
    assert "What differs from version 1" in second["body"] and "; before on `" in second["body"]
    assert "constraint added: The default name goes." in second["body"]
    assert "constraint dropped: The default name stays." in second["body"]
    assert story.hidden(first["id"])
    rejected(story)


def test_a_plan_is_stale_when_what_it_touches_changed_and_comes_back_refreshed(make_story: Making) -> None:
    """Case PL-02, first way."""
    story = make_story(script(OTHER))
    story.away.add(Belt.EXECUTOR)
    story.mira.labels()
    story.plan_is_read()
    story.control.push_commit(REPO, "main", {"greet.sh": f"{GREET}\n# The end.\n"})
    story.mira.says("/approve")
    story.next_comment("@mira", "The plan is stale: greet.sh changed on its branch", "`/refresh`")
    story.mira.says("/refresh")
    story.plan_is_read(2)
    story.mira.says("/approve")
    assert isinstance(story.state(), Approved)
    story.mira.says("/cancel")
    story.away.clear()
    story.ends(Closed, "cancelled by mira")


def test_an_approval_is_void_when_what_it_touches_changed_before_the_work_began(story: Story) -> None:
    story.away.add(Belt.EXECUTOR)
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/approve")
    assert isinstance(story.state(), Approved)
    story.control.push_commit(REPO, "main", {"greet.sh": f"{GREET}\n# The end.\n"})
    story.away.clear()
    story.crank()
    story.next_comment("The approval does not stand", "The plan is stale: greet.sh changed", "`/refresh`")
    assert story.shown_to("executor") == []
    rejected(story)


def test_a_plan_that_expired_is_made_anew_with_one_command(make_story: Making) -> None:
    story = make_story(script(OTHER))
    story.mira.labels()
    story.plan_is_read()
    story.pass_time(timedelta(days=8))
    story.sweep()
    story.crank()
    story.read_status("Ended (expired)", "`/refresh` makes a plan anew")
    story.mira.says("/approve")
    story.next_comment("@mira", "This run has ended (expired)", "`/refresh` makes a plan anew")
    story.mira.says("/approve")
    story.rita.says("/refresh")
    story.next_comment("@rita", "read permission")
    story.mira.says("/refresh")
    third = story.plan_is_read(3)
    assert "What differs from version 1" in third["body"]
    assert isinstance(story.state(), Proposed)
    story.pass_time(timedelta(days=8))
    story.sweep()
    story.ends(Closed, "Ended (expired)")


def test_a_run_that_another_one_follows_is_not_taken_up_again(make_story: Making) -> None:
    story = make_story(script(submitting(about=("A maintainer",))))
    story.mira.labels()
    story.plan_is_read()
    story.pass_time(timedelta(days=8))
    story.sweep()
    story.crank()
    story.read_status("Ended (expired)")
    story.away = {Belt.PUBLISHER, Belt.PLANNER}
    story.mira.writes("/refresh")
    story.crank()
    story.mira.unlabels()
    story.mira.labels()
    story.away = set()
    story.crank()
    assert len([one for one in story.ledger.runs() if one.open]) == 1
    story.next_comment("### Plan, version 1")
    rejected(story)


def test_planning_that_failed_is_tried_again(make_story: Making) -> None:
    fails = planning(calls(("give_up", {"reason": "I see nothing."})))
    story = make_story({"name": "fails", "parts": [fails]})
    story.mira.labels()
    story.read_status("Ended (failed)", "I see nothing.", "`/retry` tries again what failed")
    story.rita.says("/retry")
    story.next_comment("@rita", "to try again takes write permission")
    story.max.says("/retry")
    story.read_status("Ended (failed)", "I see nothing.")
    assert [kind for kind in story.kinds() if kind == "plan_not_possible"] == ["plan_not_possible"] * 2
    story.ends(Closed, "Ended (failed)")


@pytest.mark.needs_userns
def test_work_that_failed_is_tried_again_under_the_approval_that_stands(make_story: Making) -> None:
    fails_once = STEP_1 | {"turns": [{"error": 400, "message": "Not today."}, *STEP_1["turns"]]}
    story = make_story(script(fails_once))
    story.mira.labels()
    story.plan_is_read()
    story.max.says("/approve")
    story.read_status("Ended (failed)", "`/retry` tries again what failed")
    story.theo.says("/retry")
    story.next_comment("@theo", "triage permission")
    story.mira.says("/retry")
    assert "approved by max" in story.draft()["body"]
    story.ends(Published, "Draft pull request")


def test_work_is_not_tried_again_when_its_approval_is_over(make_story: Making) -> None:
    story = make_story(script({"role": "executor", "step": 1, "turns": [calls(("cannot", {"reason": "Odd."}))]}))
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/approve")
    story.read_status("Ended (failed)")
    story.pass_time(timedelta(days=8))
    story.mira.says("/retry")
    story.next_comment("@mira", "The approval does not stand any more. Its time is over.", "`/refresh`")
    story.ends(Closed, "Ended (failed)")


def test_where_nothing_failed_there_is_nothing_to_try_again(story: Story) -> None:
    story.away.add(Belt.EXECUTOR)
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/retry")
    story.next_comment("Nothing has failed here.")
    story.mira.says("/answer yes")
    story.next_comment("The planner asks nothing now.")
    story.mira.says("/approve")
    assert isinstance(story.state(), Approved)
    story.mira.says("/refresh")
    story.next_comment("The plan was approved already.")
    story.mira.says("/cancel")
    story.away.clear()
    story.ends(Closed, "cancelled by mira")


QUESTION = "Which spelling does the school of greeting want?"
ASKS = planning(calls(("ask_author", {"questions": [QUESTION]})))


@pytest.mark.parametrize("who", ["olga", "max"])
def test_the_author_or_a_maintainer_answers_the_question(make_story: Making, who: str) -> None:
    answered = planning(calls(("submit_plan", PLAN)), about=("two letters l",))
    story = make_story(script(answered, ASKS))
    story.mira.labels()
    story.next_comment("@olga", QUESTION)
    story.rita.says("/answer three")
    story.next_comment("@rita", "read permission")
    getattr(story, who).says("/answer It has\ntwo letters l.")
    story.plan_is_read(2)
    rejected(story)
