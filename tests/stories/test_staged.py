"""Staged runs: everything is done but the last write, and what would have been written is shown."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from app.core.belts import Belt
from app.core.run import Approved, Closed, ClosedReason, Proposed, Published
from app.shown.whole import whole
from tests.fakes.greeting import FILES
from tests.fakes.story import REPO, Story

pytestmark = pytest.mark.needs_userns

POLICY = ".github/countersign.yml"
STAGED = {**FILES, POLICY: "mode: staged\n"}


def could_write(story: Story) -> list[dict[str, str]]:
    """Permissions of every token that GitHub ever cut and that could change contents or pull requests' code."""
    every = [one["permissions"] for one in story.control.tokens()]
    return [one for one in every if one.get("contents") == "write" or one.get("workflows") == "write"]


def test_all_is_done_but_the_last_write_which_is_shown_and_made_once_the_policy_lets_it(
    make_story: Callable[..., Story],
) -> None:
    story = make_story(files=STAGED)
    story.mira.labels()
    story.plan_is_read()
    assert any("this run is staged, and no branch or pull request is made" in one for one in story.said())
    story.mira.says("/approve")
    story.read_status("Ended (staged)", "nothing was written", "mode: live", "`/retry` opens the draft")
    assert could_write(story) == [] and story.writes_to_github() == []
    assert story.control.pulls(REPO) == [] and list(story.control.branches(REPO)) == ["main"]
    ended = story.state()
    assert isinstance(ended, Closed) and ended.reason is ClosedReason.STAGED
    shown = whole(story.ledger, ended.request.run)
    assert shown is not None and shown.unwritten is not None and shown.unwritten.staged is not None
    staged, told = shown.unwritten.staged, on_the_command_line(story)
    assert staged.base_branch == "main" and staged.body.startswith("Fixes #1") and staged.obstacles == ()
    for words in (staged.branch, *staged.messages[0].splitlines(), staged.title, "Fixes #1", '+echo "hello $name"'):
        assert words in told, words
    # Asked for under the same policy it is refused; under another one the same work is written.
    story.mira.says("/retry")
    story.next_comment("still says `mode: staged`", "mode: live")
    calls = len(story.model.requests)
    story.control.push_commit(REPO, "main", {POLICY: "mode: live\n"}, as_login="mira")
    assert could_write(story) == []
    story.mira.says("/retry")
    pull = story.draft()
    assert (pull["head"]["ref"], pull["title"]) == (staged.branch, staged.title)
    assert len(story.model.requests) == calls
    story.ends(Published, "Draft pull request")


def on_the_command_line(story: Story) -> str:
    """What `countersign show` says of the run."""
    words = [sys.executable, "-m", "app.cli", "show", story.view().id]
    env = {"DATABASE_URL": story.env["DATABASE_URL"]}
    return subprocess.run(words, env=env, check=True, capture_output=True, text=True, timeout=60).stdout


def test_a_policy_that_becomes_staged_after_the_approval_voids_it_before_anything_is_written(story: Story) -> None:
    story.mira.labels()
    story.plan_is_read()
    story.away = {Belt.PUBLISHER}
    story.mira.writes("/approve")
    story.away = {Belt.EXECUTOR}
    story.crank()
    assert isinstance(story.state(), Approved)
    story.control.push_commit(REPO, "main", {POLICY: "mode: staged\n"}, as_login="mira")
    story.away = set()
    story.crank()
    assert could_write(story) == []
    story.next_comment("`mode: staged` now", "nothing may be written")
    story.ends(Proposed)


def test_a_rule_that_would_refuse_the_branch_is_told(make_story: Callable[..., Story]) -> None:
    story = make_story(files=STAGED)
    story.control.do("add_rule", repo=REPO, pattern="countersign/*", type="creation", parameters=None)
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/approve")
    told = on_the_command_line(story)
    assert "would be refused: Nobody may create the branch" in told
    assert could_write(story) == []
    story.ends(Closed, "Ended (staged)")

