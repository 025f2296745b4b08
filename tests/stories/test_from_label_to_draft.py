"""From a label to a draft pull request: the main story, as the people in it see it."""

import pytest

from app.core.run import Published
from tests.fakes.household import REPO, House

pytestmark = pytest.mark.needs_userns


def test_a_maintainer_labels_reads_the_plan_approves_and_finds_a_draft(house: House) -> None:
    house.control.label(REPO, 1, "countersign", "mira")
    house.crank()
    plan = house.plan_comment()
    assert "/approve" in plan["body"]
    house.control.comment(REPO, 1, "/approve", "mira")
    house.crank()
    assert isinstance(house.state(), Published), house.said()
    (pull,) = house.control.pulls(REPO)
    assert pull["draft"] is True
    assert pull["body"].startswith("Fixes #1")
    files = house.control.branch_files(REPO, pull["head"]["ref"])
    assert b'echo "hello $name"' in files["greet.sh"]
    house.assert_at_rest()
