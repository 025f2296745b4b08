"""One commit in all, or one for each step: each with its own change on top of the former, and found again."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from app.core.run import Published
from tests.fakes.greeting import FILES, mending, script, stepping
from tests.fakes.story import REPO, Story
from tests.stories.test_executing import approved, replace

pytestmark = pytest.mark.needs_userns

Making = Callable[..., Story]
POLICY = ".github/countersign.yml"


def commits(story: Story) -> list[dict[str, Any]]:
    """The commits of our branch behind the base, the oldest first."""
    base, found = story.control.branches(REPO)["main"], []
    at = story.control.branches(REPO)[story.draft()["head"]["ref"]]
    while at != base:
        found.insert(0, story.control.do("commit", repo=REPO, name=at))
        (parent,) = found[0]["parents"]
        at = parent["sha"]
    return found


def test_each_step_and_each_repair_is_a_commit_of_its_own_where_the_policy_says_so(make_story: Making) -> None:
    """The answer to the new branch is lost; what is there is adopted."""
    misspelt = stepping(1, replace("greet.sh", "helo", "hullo"))
    files = FILES | {POLICY: "commit_for_each: step\ncommits: conventional\n"}
    story = make_story(script(misspelt, mending(1, replace("greet.sh", "hullo", "hello"))), files)
    story.control.fault("POST .*/git/refs", mode="drop-after")
    approved(story, "countersign")
    story.wait_out()
    made = commits(story)
    messages = [one["commit"]["message"] for one in made]
    assert [one.splitlines()[0] for one in messages] == [
        "fix: Spell the word",
        "fix: Test the whole greeting",
        "fix: Mend what the steps left, repair 1",
    ]
    assert "Step 1 of plan version 1, for issue 1." in messages[0] and "Repair 1 of plan version 1" in messages[2]
    assert all("Plan-Digest: " in one and "Approved-By: mira" in one for one in messages)
    trees = [story.control.branch_files(REPO, name) for name in ("main", *(one["sha"] for one in made))]
    changed = [{path for path in after if after[path] != before[path]} for before, after in pairwise(trees)]
    assert changed == [{"greet.sh"}, {"tests/test_greet.sh"}, {"greet.sh"}]
    assert all(commit["commit"]["verification"]["verified"] for commit in made)
    posted = [one for one in story.writes_to_github() if one["path"].endswith("/git/commits")]
    assert len(posted) == 3
    story.ends(Published)


def test_one_commit_holds_everything_where_the_policy_says_nothing(make_story: Making) -> None:
    story = make_story(files=FILES | {POLICY: "commits: plain\n"})
    approved(story, "countersign")
    (only,) = commits(story)
    assert only["commit"]["message"].startswith("greet.sh says hello with both letters\n")
    assert story.draft()["changed_files"] == 2
    story.ends(Published)
