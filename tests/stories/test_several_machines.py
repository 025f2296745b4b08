"""The product as on several machines: its own processes, PostgreSQL, Redis and a mint on the network."""

from collections.abc import Callable

import pytest

from app.core.missed import ROUND
from app.core.run import Proposed, Published
from tests.fakes.household import REPO
from tests.fakes.machines import World, over_the_network, processes_of

pytestmark = [pytest.mark.needs_userns, pytest.mark.slow]


def label_to_draft(world: World, approve: Callable[[int], object]) -> None:
    """The main story, as the clock runs."""
    world.until(world.ready)
    world.control.label(REPO, 1, "countersign", "mira")
    world.until(lambda: isinstance(state := world.state(), Proposed) and state.proposal.comment_id)
    proposed = world.state()
    assert isinstance(proposed, Proposed) and proposed.proposal.comment_id
    before = len([one for one in world.control.tokens() if one["permissions"].get("contents") == "write"])
    assert before == 0
    approve(proposed.proposal.comment_id)
    world.until(lambda: isinstance(world.state(), Published))
    world.until(world.at_rest)
    (pull,) = world.control.pulls(REPO)
    assert pull["draft"] is True and pull["body"].startswith("Fixes #1")
    assert b"hello" in world.control.branch_files(REPO, pull["head"]["ref"])["greet.sh"]
    writing = [one for one in world.control.tokens() if one["permissions"].get("contents") == "write"]
    assert len(writing) == 1 and writing[0]["repository_ids"] == [pull["base"]["repo"]["id"]]


def test_on_several_machines_with_postgresql_redis_and_a_mint_on_the_network(
    make_world: Callable[..., World], postgres_url: str, redis_url: str
) -> None:
    world = make_world(postgres_url)
    world.env["CELERY_BROKER_URL"] = redis_url
    with over_the_network(world):
        label_to_draft(world, lambda _: world.control.comment(REPO, 1, "/approve", "mira"))
        # The mint looked for missed deliveries from its start.
        assert "/app/hook/deliveries" in {one["path"] for one in world.control.journal()}
        assert world.ledger.due_at(ROUND) is not None
    said = "".join(path.read_text("utf-8", "replace") for path in world.logs.iterdir())
    assert "may not do that in the database" not in said and "Traceback" not in said
    assert processes_of(world.folder) == []
