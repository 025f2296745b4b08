"""From a label to a draft pull request: the main story, as the people in it see it."""

import pytest

from app.core.blame import Whose
from app.core.digest import short
from app.core.run import Published
from infra.eval import production
from tests.fakes.story import REPO, Story

pytestmark = pytest.mark.needs_userns


def test_a_maintainer_labels_reads_the_plan_approves_and_finds_a_draft(story_on_each_database: Story) -> None:
    story = story_on_each_database
    story.mira.labels()
    story.read_status("waits for a maintainer")
    plan = story.next_comment("### Plan, version 1", "greet.sh", "make test", "/approve")
    assert story.writes_to_github() == []
    story.mira.says("/approve")
    pull = story.draft()
    assert pull["draft"] is True
    assert pull["body"].startswith("Fixes #1")
    digest = story.view().state.proposal.digest  # type: ignore[union-attr]
    assert short(digest) in plan["body"] and digest in pull["body"]
    files = story.control.branch_files(REPO, pull["head"]["ref"])
    assert b'echo "hello $name"' in files["greet.sh"]
    assert set(files) == {"greet.sh", "tests/test_greet.sh", "Makefile", "README.md"}
    (scores,) = production.scores(story.ledger, 5)
    assert scores.plan is not None and scores.work is not None
    assert (scores.template.split()[0], scores.plan.held, scores.plan.right()) == ("bugfix", 1, None)
    assert (scores.work.done, scores.work.steps, scores.work.outside, scores.work.broken) == (2, 2, 0, ())
    assert scores.work.true == scores.work.claims > 3
    assert (scores.work.value(), scores.blame.whose) == (1.0, Whose.NOBODY)
    story.ends(Published, "Draft pull request", "open for review")
