"""What people do while nobody receives is found afterwards and done once, in whatever order it comes."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from app.core.belts import Belt
from app.core.run import Approved, Closed, Proposed, Published
from app.ledger.copying import Copied, back_up, restore
from tests.fakes.story import REPO, Story
from worker.rereading import Rereading


def received(story: Story) -> Counter[str]:
    """How often GitHub got an answer to each delivery that a run follows."""
    told = [one for one in story.control.deliveries() if one["event"] in ("issues", "issue_comment")]
    return Counter(one["guid"] for one in told if one["status"] == "OK")


def test_what_was_said_while_nobody_received_is_done_once_when_somebody_does(story_on_each_database: Story) -> None:
    story = story_on_each_database
    story.away.add(Belt.EXECUTOR)
    story.web_is_away()
    story.mira.labels()
    story.catch_up(rounds=2)
    assert story.ledger.runs() == ()
    story.web_is_there()
    story.catch_up(rounds=3)
    story.plan_is_read()
    story.web_is_away()
    story.mira.says("/approve")
    story.max.says("/approve")
    story.pass_time(timedelta(hours=2))
    story.web_is_there()
    story.catch_up(rounds=4)
    story.next_comment("already approved by")
    assert isinstance(story.state(), Approved)
    assert story.kinds().count("command_given") == 2
    assert set(received(story).values()) == {1} and story.ledger.missing() == ()
    assert len(story.ledger.runs()) == 1
    story.mira.says("/cancel")
    story.away.clear()
    story.ends(Closed, "cancelled by mira")


ISSUE_1 = f"/repos/{REPO}/issues/1"


# -- what GitHub itself lost ----------------------------------------------------------------------------------------


@pytest.fixture
def unheard(story: Story) -> Story:
    """A plan was posted and read; from now on GitHub loses every delivery. The executor is away."""
    story.away.add(Belt.EXECUTOR)
    story.mira.labels()
    story.plan_is_read()
    for event in ("issues", "issue_comment", "pull_request"):
        story.control.treat_deliveries("drop", event=event, times=None)
    return story


def test_a_command_that_was_never_delivered_is_read_and_followed_once(unheard: Story) -> None:
    unheard.mira.says("/approve")
    assert isinstance(unheard.state(), Proposed)
    for _ in range(2):
        unheard.reads_again()
    assert isinstance(unheard.state(), Approved)
    assert unheard.kinds().count("command_given") == 1
    # The delivery comes after all: the comment was told of.
    lost = [one for one in unheard.control.deliveries() if one["status"] == "lost" and one["action"] == "created"]
    for one in lost:
        unheard.control.redeliver(one["id"])
    unheard.crank()
    assert "/approve" in {one["request"]["payload"]["comment"]["body"] for one in lost}
    assert unheard.kinds().count("command_given") == 1
    unheard.mira.says("/cancel")
    unheard.away.clear()
    unheard.reads_again()
    unheard.ends(Closed, "cancelled by mira")


def test_nobody_commands_by_being_read_who_could_not_by_a_delivery(unheard: Story) -> None:
    edited = unheard.mira.says("not yet")
    unheard.pass_time(timedelta(seconds=2))
    unheard.mira.edits(edited, "/approve")
    unheard.rita.says("/approve")
    unheard.max.says("> /approve")
    unheard.reads_again()
    unheard.next_comment("rita has read permission")
    assert isinstance(unheard.state(), Proposed)
    assert unheard.kinds().count("command_given") == 1
    unheard.away.clear()
    unheard.mira.says("/reject")
    unheard.reads_again()
    unheard.ends(Closed, "rejected by mira")


ENDS = {
    "taken off": ("The label was taken off", lambda story: story.mira.unlabels()),
    "closed": ("The issue was closed", lambda story: story.mira.closes_the_issue()),
}


@pytest.mark.parametrize("how", ENDS)
def test_an_issue_that_ended_unheard_ends_its_run(unheard: Story, how: str) -> None:
    words, happens = ENDS[how]
    happens(unheard)
    assert isinstance(unheard.state(), Proposed)
    for _ in range(2):
        unheard.reads_again()
    unheard.away.clear()
    unheard.ends(Closed, words)


def test_an_edit_that_was_never_heard_of_is_said_once(unheard: Story) -> None:
    unheard.olga.edits_the_issue(body="Something else.")
    # A limit is waited out, and then the same issue is read.
    unheard.control.fault("GET .*/issues/1$", status=429, headers={"Retry-After": "60"})
    process = Rereading(unheard.shops[Belt.PUBLISHER], unheard.watch)
    asked = []
    for seconds in (0, 30, 31):
        unheard.pass_time(timedelta(seconds=seconds))
        process.look(unheard.now())
        asked.append([one["path"] for one in unheard.control.journal() if one["caller"] != "app"].count(ISSUE_1))
    assert [count - asked[0] for count in asked] == [0, 0, 1]
    unheard.reads_again()
    unheard.next_comment("The issue was edited after this plan was made")
    unheard.mira.says("/reject")
    unheard.reads_again()
    unheard.away.clear()
    unheard.ends(Closed, "rejected by mira")


@pytest.mark.needs_userns
def test_a_pull_request_that_ended_unheard_ends_its_run(story: Story) -> None:
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/approve")
    number = story.draft()["number"]
    assert isinstance(story.state(), Published)
    story.control.treat_deliveries("drop", event="pull_request", times=None)
    story.reads_again()
    assert isinstance(story.state(), Published)
    story.control.close_issue(REPO, number, "mira")
    for _ in range(2):
        story.reads_again()
    story.ends(Closed, "was closed without a merge")


# -- an older copy of the ledger ------------------------------------------------------------------------------------


def comments(story: Story) -> list[tuple[int, str]]:
    return [(one["id"], one["user"]["login"]) for one in story.control.comments(REPO, 1)]


@pytest.mark.needs_userns
def test_after_an_older_copy_was_restored_what_was_done_since_is_found_and_not_done_again(
    story: Story, tmp_path: Path
) -> None:
    story.mira.labels()
    story.plan_is_read()
    copy, restored = tmp_path / "a copy", f"sqlite:///{tmp_path / 'restored.db'}"
    assert isinstance(back_up(story.env["DATABASE_URL"], copy), Copied)
    story.pass_time(timedelta(minutes=1))
    story.mira.says("/approve")
    story.max.says("/approve")
    story.next_comment("already approved by")
    draft, said = story.draft(), comments(story)
    assert isinstance(restore(copy, restored, story.now()), Copied)
    story.moves_to(restored)
    assert isinstance(story.state(), Proposed)
    story.catch_up(rounds=3)
    assert story.kinds().count("command_given") == 2
    story.reads_again()
    state = story.state()
    assert isinstance(state, Published) and state.pull.number == draft["number"]
    assert story.kinds().count("command_given") == 2
    assert comments(story) == said
    assert [one["number"] for one in story.control.pulls(REPO)] == [draft["number"]]
    assert len(story.control.branches(REPO)) == 2
    assert story.ledger.debts() == ()
    story.stop_mint()
    assert [one for one in story.control.tokens() if not one["revoked"]] == []
    # The ledger knows of the second approval alone: the usual end would take the first write for too early.
    story.ended = True
