"""The issue, the repository or the installation is locked, moves or goes: each has its outcome, and nothing is lost."""

from datetime import timedelta

import pytest

from app.core.belts import Belt
from app.core.run import Approved, Built, Closed, ClosedReason, Proposed, Published
from tests.fakes.household import REPO
from tests.fakes.story import Story


def offered(story: Story) -> None:
    """A plan is on offer and was read."""
    story.mira.labels()
    story.plan_is_read()


def is_over(story: Story, words: str) -> None:
    """The run ended where there is no place left to say it; the run's page does."""
    state = story.state()
    assert isinstance(state, Closed) and state.reason is ClosedReason.CANCELLED and words in state.words, state
    assert story.ledger.debts() == ()
    story.ended = True


def test_what_is_owed_to_a_locked_issue_waits_and_is_said_when_it_is_unlocked(story: Story) -> None:
    story.control.lock_issue(REPO, 1, "mira")
    story.mira.labels()
    assert story.said() == []
    assert {debt.kind for debt in story.ledger.debts()} == {"say"}
    assert all("locked" in debt.why for debt in story.ledger.debts())
    story.control.unlock_issue(REPO, 1, "mira")
    story.crank()
    story.plan_is_read()
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_an_issue_that_is_transferred_ends_its_run_and_nothing_follows_it(story: Story) -> None:
    offered(story)
    story.control.add_repo("acme/other", [], collaborators={"mira": "maintain"})
    story.control.transfer_issue(REPO, 1, "acme/other", "mira")
    story.crank()
    is_over(story, "moved to another repository")


def test_an_issue_that_is_deleted_ends_its_run(story: Story) -> None:
    offered(story)
    story.control.set_permission(REPO, "mira", "admin")
    story.control.delete_issue(REPO, 1, "mira")
    story.crank()
    is_over(story, "The issue was deleted.")


def test_a_repository_that_is_archived_ends_its_runs(story: Story) -> None:
    offered(story)
    story.control.change_repo(REPO, archived=True)
    story.crank()
    is_over(story, "The repository was archived.")


def test_a_repository_that_is_archived_without_our_being_told_ends_the_run_at_its_next_step(story: Story) -> None:
    story.away.add(Belt.PLANNER)
    story.mira.labels()
    story.control.treat_deliveries("drop", "repository", "archived")
    story.control.change_repo(REPO, archived=True)
    story.away.clear()
    story.wait_out()
    state = story.state()
    assert isinstance(state, Closed) and "archived" in state.words, state
    assert story.ledger.debts() == ()
    story.ended = True


def test_a_repository_that_is_deleted_ends_its_runs(story: Story) -> None:
    offered(story)
    run = story.view().id
    story.control.delete_repo(REPO)
    story.crank()
    view = story.ledger.run(run)
    assert view is not None and isinstance(view.state, Closed) and view.state.words == "The repository was deleted."
    assert story.ledger.debts() == ()
    story.ended = True


@pytest.mark.parametrize("how", ["uninstalled", "taken out"])
def test_an_app_that_is_taken_away_ends_its_runs(story: Story, how: str) -> None:
    offered(story)
    if how == "uninstalled":
        story.control.uninstall("acme")
    else:
        story.control.choose_repos("acme", [])
    story.crank()
    is_over(story, "The App was uninstalled." if how == "uninstalled" else "taken from the App's installation")


@pytest.mark.needs_userns
def test_a_suspended_installation_waits_and_goes_on_when_that_is_lifted(story: Story) -> None:
    offered(story)
    story.away.add(Belt.EXECUTOR)
    story.mira.says("/approve")
    assert isinstance(story.state(), Approved)
    story.control.suspend("acme")
    story.away.clear()
    story.crank()
    assert {debt.kind for debt in story.ledger.debts()} == {"execute"}
    assert all("suspended" in debt.why for debt in story.ledger.debts())
    story.control.unsuspend("acme")
    story.crank()
    story.ends(Published, "Draft pull request")


@pytest.mark.needs_userns
def test_a_repository_that_is_renamed_is_worked_on_under_its_new_name(story: Story) -> None:
    offered(story)
    story.control.change_repo(REPO, name="hello")
    story.control.comment("acme/hello", 1, "/approve", "mira")
    story.crank()
    (pull,) = story.control.pulls("acme/hello")
    assert pull["head"]["repo"]["full_name"] == "acme/hello"
    view = story.ledger.run(story.ledger.runs()[0].id)
    assert view is not None and isinstance(view.state, Published)
    assert story.ledger.debts() == ()
    story.ended = True


@pytest.mark.needs_userns
def test_a_repository_that_was_renamed_without_our_being_told_is_published_to_under_its_new_name(story: Story) -> None:
    offered(story)
    story.away.add(Belt.EXECUTOR)
    story.mira.says("/approve")
    story.away = {Belt.PUBLISHER}
    story.crank()
    assert isinstance(story.state(), Built)
    run = story.view().id
    story.control.treat_deliveries("drop", "repository", "renamed")
    story.control.change_repo(REPO, name="hello")
    story.away.clear()
    story.wait_out()
    (pull,) = story.control.pulls("acme/hello")
    view = story.ledger.run(run)
    assert view is not None and isinstance(view.state, Published) and view.state.pull.number == pull["number"]
    status = [one["body"] for one in story.control.comments("acme/hello", 1) if "Countersign** ·" in one["body"]]
    assert len(status) == 1 and "Draft pull request" in status[0]
    assert story.ledger.debts() == ()
    story.ended = True


def test_a_label_that_is_deleted_from_the_repository_cancels_what_is_not_approved(story: Story) -> None:
    offered(story)
    story.control.delete_label(REPO, "countersign", "mira")
    story.ends(Closed, "Ended (cancelled)", "The label was deleted from the repository")


def test_a_label_that_is_deleted_after_the_approval_changes_nothing(story: Story) -> None:
    story.away.add(Belt.EXECUTOR)
    offered(story)
    story.mira.says("/approve")
    story.control.delete_label(REPO, "countersign", "mira")
    story.crank()
    assert isinstance(story.state(), Approved)
    story.mira.says("/cancel")
    story.away.clear()
    story.ends(Closed, "cancelled by mira")


def test_a_label_that_is_renamed_goes_on_as_it_was(story: Story) -> None:
    """The run that waits is not disturbed, and the label under its new name triggers, ends and cancels as before."""
    offered(story)
    story.control.rename_label(REPO, "countersign", "ai-plan", "mira")
    story.crank()
    assert isinstance(story.state(), Proposed)
    story.control.label(REPO, 1, "bug", "mira")
    story.control.delete_label(REPO, "bug", "mira")
    story.crank()
    assert isinstance(story.state(), Proposed)
    story.mira.unlabels("ai-plan")
    story.read_status("The label was taken off by mira")
    story.mira.labels("ai-plan")
    story.next_comment("### Plan, version 1")
    state = story.state()
    assert (state.request.label, state.request.renamed_from) == ("ai-plan", "countersign")
    story.control.rename_label(REPO, "ai-plan", "planned", "mira")
    story.control.delete_label(REPO, "planned", "mira")
    story.ends(Closed, "Ended (cancelled)", "The label was deleted from the repository")


def test_a_label_that_is_renamed_before_it_is_looked_at_is_still_there(story: Story) -> None:
    story.away.add(Belt.PUBLISHER)
    story.mira.labels()
    story.control.treat_deliveries("drop", "label", "edited")
    story.control.rename_label(REPO, "countersign", "ai-plan", "mira")
    story.away.clear()
    story.crank()
    story.plan_is_read()
    story.mira.unlabels("ai-plan")
    story.ends(Closed, "The label was taken off by mira")


def test_words_wait_for_the_permission_to_say_them(story: Story) -> None:
    offered(story)
    granted = {"contents": "write", "issues": "write", "pull_requests": "write"}
    story.control.set_installation_permissions("acme", granted | {"issues": "read"})
    story.mira.says("/reject")
    for _ in range(8):
        story.pass_time(timedelta(minutes=10))
        story.crank()
    owed = {one.kind: one.why for one in story.ledger.debts()}
    assert owed.keys() == {"say", "react"} and all("lacks issues: write" in why for why in owed.values())
    story.control.set_installation_permissions("acme", granted)
    story.wait_out()
    story.ends(Closed, "Ended (rejected)")
