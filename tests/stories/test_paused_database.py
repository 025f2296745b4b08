"""A database that stands still in the middle of a run, for longer than anybody waits: every process gets over it by
itself, and the run comes to its one end. With the product's own processes and a PostgreSQL that is stopped."""

from collections.abc import Callable

import httpx
import pytest

from app.core.run import Proposed, Published
from tests.fakes import services
from tests.fakes.greeting import PLAN, calls, planning, script
from tests.fakes.household import REPO
from tests.fakes.machines import World, over_the_network, processes_of

pytestmark = [pytest.mark.needs_userns, pytest.mark.slow, pytest.mark.timeout(0)]

SLOW_START = planning({**calls(("list_files", {})), "delay": 3.0}, calls(("submit_plan", PLAN)))
WITH_A_LEDGER = ("planner", "publisher", "executor", "mint")


def test_a_run_comes_to_its_end_after_its_database_stood_still_in_its_midst(
    make_world: Callable[..., World], own_postgres: services.Started
) -> None:
    with services.fresh_database(own_postgres) as url:
        world = make_world(url, script(SLOW_START))
        control = world.control

        def heard_of_it() -> bool:
            logs = {name: (world.logs / f"{name}.log").read_text("utf-8", "replace") for name in WITH_A_LEDGER}
            return all("The database does not answer" in log for log in logs.values())

        with over_the_network(world):
            world.until(world.ready)
            control.label(REPO, 1, "countersign", "mira")
            world.until(lambda: world.model.requests)
            with services.paused(own_postgres), httpx.Client(trust_env=False, timeout=60) as client:
                world.until(heard_of_it)
                assert client.get(f"{world.web_url}/readyz").status_code == 503
                assert client.get(f"{world.web_url}/healthz").status_code == 200
            world.until(world.ready)
            world.until(lambda: isinstance(state := world.state(), Proposed) and state.proposal.comment_id)
            control.comment(REPO, 1, "/approve", "mira")
            world.until(lambda: isinstance(world.state(), Published))
            world.until(world.at_rest)
            world.has_one_of_everything()
        world.ledger.close()
        assert processes_of(world.folder) == []
