"""Drafts and plans of which the run did not hear: whoever made one died, or never heard GitHub's last answer."""

from collections.abc import Callable

import pytest

from app.core.belts import Belt
from app.core.branches import branch_name
from app.core.facts import DraftUnsettled
from app.core.run import Built, Closed, ClosedReason, Published
from app.ledger.outcomes import DebtView
from tests.fakes.mortal import GITHUB, MortalStory, Point
from tests.fakes.story import REPO
from tests.stories.test_packs import NO_MODEL, replace_form
from tests.stories.test_storm import PAGES

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")

BRANCH, PULL = 6, 7
"""Which write makes the branch, and which the pull request: after two questions of the mint's that are sent as a write
is, a blob, a tree and a commit."""


@pytest.fixture
def story(make_story: Callable[..., MortalStory]) -> MortalStory:
    """A change is built, and its draft is owed. No model has a part in it, and no box."""
    form = replace_form("helo", "hello")
    story = make_story(files=PAGES, issue=form, furnishing=NO_MODEL, kind=MortalStory)
    story.mira.labels("countersign:replace")
    story.plan_is_read()
    story.mira.writes("/approve")
    story.control.settle()
    while not isinstance(story.state(), Built):
        story.does(story.ledger.debts()[0])
    return story


def opening(story: MortalStory) -> DebtView:
    return next(one for one in story.ledger.debts() if one.kind == "open_draft")


def dies(story: MortalStory, after: int) -> None:
    """The publisher, after so many of its writes to GitHub."""
    assert story.dies_in(opening(story), Point(Belt.PUBLISHER, GITHUB, after, after=True))


def name(story: MortalStory) -> str:
    view = story.view()
    assert isinstance(view.state, Built)
    return branch_name(1, view.id, view.state.proposal.digest)


def test_rejected_in_the_moment_in_which_the_draft_was_being_opened_by_a_publisher_that_died(
    story: MortalStory,
) -> None:
    dies(story, PULL)
    story.mira.says("/reject")
    assert isinstance(story.state(), Closed) and story.draft()["draft"]
    story.wait_out()
    number = story.draft()["number"]
    story.next_comment("Draft pull request #", f"{number} of plan", "Close it if it is not wanted")
    [token] = [one for one in story.ledger.mints() if one.purpose == "find_draft"]
    assert token.permissions == {"metadata": "read", "contents": "read", "pull_requests": "read"}
    story.ends(Closed, "Ended (rejected)", f"(pull request #{number})")
    assert story.kinds().count("draft_found") == 1


def test_rejected_when_the_dead_publisher_had_made_the_branch_alone(story: MortalStory) -> None:
    branch = name(story)
    dies(story, BRANCH)
    story.mira.says("/reject")
    story.wait_out()
    assert story.control.pulls(REPO) == [] and branch in story.control.branches(REPO)
    story.next_comment(branch, "has no pull request", "Delete it")
    story.ends(Closed, "Ended (rejected)", f"/compare/{branch.replace('/', '%2F')}")


def test_what_was_not_begun_outside_or_is_somebody_elses_bothers_nobody(story: MortalStory) -> None:
    story.control.push_commit(REPO, name(story), {"README.md": "mine"}, as_login="max")
    dies(story, BRANCH - 1)
    story.mira.says("/reject")
    story.wait_out()
    [find] = [one for one in story.view().effects if one.effect.kind == "find_draft"]
    assert find.outcome == "nothing was left behind"
    story.ends(Closed, "Ended (rejected)")


def test_an_approval_that_is_found_void_after_the_death_does_not_hide_the_draft(story: MortalStory) -> None:
    state = story.state()
    assert isinstance(state, Built)
    dies(story, PULL)
    story.mira.deletes(state.approval.source_id)
    story.wait_out()
    assert "approval_voided" in story.kinds()
    story.next_comment("approv")
    state = story.state()
    assert isinstance(state, Closed) and state.reason is ClosedReason.CANCELLED
    number = story.draft()["number"]
    story.ends(Closed, "in the moment in which the approval ended", f"(pull request #{number})")


def test_a_draft_that_was_given_up_although_it_was_opened_is_named(story: MortalStory) -> None:
    story.control.fault("POST .*/pulls$", mode="drop-after")
    story.control.fault("POST .*/git/", status=500, skip=5, times=99)
    story.wait_out()
    number = story.draft()["number"]
    assert "effect_abandoned" in story.kinds()
    story.next_comment("Draft pull request #", f"{number} of plan")
    story.ends(Closed, "Ended (failed)", f"(pull request #{number})")


def test_where_it_cannot_be_looked_for_it_is_said_where_to_look(story: MortalStory) -> None:
    branch = name(story)
    dies(story, PULL)
    story.mira.says("/reject")
    story.control.fault("GET .*/pulls", status=403, body='{"message": "Not for you."}', times=99)
    story.wait_out()
    story.next_comment("could not be found out", f"begins with `{branch}`")
    story.ends(Closed, "Ended (rejected)")


def test_while_the_same_plan_is_to_be_opened_anew_that_takes_up_what_stands_and_nothing_more_is_said(
    story: MortalStory,
) -> None:
    state, draft = story.state(), opening(story)
    assert isinstance(state, Built)
    dies(story, PULL)
    unsettled = DraftUnsettled(at=story.now(), plan_digest=state.proposal.digest, key=draft.key)
    story.ledger.record(story.view().id, unsettled)
    find = next(one for one in story.ledger.debts() if one.kind == "find_draft")
    story.does(find)
    waits = next(one for one in story.ledger.debts() if one.kind == "find_draft")
    assert waits.available_at is not None and "is being opened" in waits.why
    story.wait_out()
    assert "draft_found" not in story.kinds()
    story.ends(Published, f"#{story.draft()['number']}")


def test_a_plan_whose_publisher_died_over_its_comment_is_hidden_once_another_version_stands(
    make_story: Callable[..., MortalStory],
) -> None:
    form = replace_form("helo", "hello")
    story = make_story(files=PAGES, issue=form, furnishing=NO_MODEL, kind=MortalStory)
    story.away = {Belt.PUBLISHER}
    story.mira.labels("countersign:replace")
    story.away = set()
    while not (owed := [one for one in story.ledger.debts() if one.key == "plan-comment:1"]):
        story.does(story.ledger.debts()[0])
    assert story.dies_in(owed[0], Point(Belt.PUBLISHER, GITHUB, 1, after=True))
    story.mira.says("/refresh")
    story.wait_out()
    first, second = story.next_comment("### Plan, version 1"), story.plan_is_read(2)
    assert story.hidden(first["id"]) and not story.hidden(second["id"])
    story.mira.says("/reject")
    story.ends(Closed, "Ended (rejected)")
