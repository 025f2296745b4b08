"""Every process is told to stop with work in hand: it finishes it or hands it over, within a bound, and nothing stays.

A lease lasts ten minutes here, longer than these stories: whatever goes on, was given back.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from app.core.belts import Belt
from app.core.run import Built, Proposed, Published
from tests.fakes.greeting import FILES, PLAN, calls, planning, script
from tests.fakes.household import REPO
from tests.fakes.machines import PATIENCE_SECONDS, Machines, World, over_the_network, processes_of
from tests.fakes.processes import children, told_of_each
from tests.fakes.services import is_running
from worker.box.processes import Process
from worker.ending import LAST_SECONDS

pytestmark = [pytest.mark.needs_userns, pytest.mark.slow, pytest.mark.timeout(0)]

SLOW_START = planning({**calls(("list_files", {})), "delay": LAST_SECONDS}, calls(("submit_plan", PLAN)))
SLOW_CHECK = FILES | {"Makefile": "test:\n\tsleep 3; sh tests/test_greet.sh\n"}


class Household:
    """The product's processes, and what one looks at when one of them is told to stop."""

    def __init__(self, world: World, machines: Machines) -> None:
        self.world, self.machines = world, machines

    def stops(self, name: str, *more: signal.Signals, status: int = 0) -> None:
        """It is told to stop, and `more` besides, and ends with this status and with all that was below it."""
        process = self.machines.running.pop(name)
        below = children(process.pid)
        process.terminate()
        for number in more:
            time.sleep(0.3)
            os.kill(process.pid, number)
        assert process.wait(PATIENCE_SECONDS) == status, self.world.told()
        # The kernel ends them with it, which takes it a moment.
        self.world.until(lambda: not any(is_running(pid) for pid in below))

    def was_given_back(self, belt: Belt) -> None:
        """Nobody holds it, it can be claimed now, and it says why."""
        (debt,) = (one for one in self.world.ledger.debts() if one.belt is belt)
        assert debt.lease_until is None and "told to stop" in debt.why
        assert debt.effect_id in self.world.ledger.owed(belt, datetime.now(UTC))

    def proposed(self) -> int:
        """The plan stands on the issue; the comment's id."""

        def told() -> int | None:
            state = self.world.state()
            return state.proposal.comment_id if isinstance(state, Proposed) else None

        self.world.until(told)
        return told() or 0


@pytest.fixture
def household(make_world: Callable[..., World], postgres_url: str, redis_url: str) -> Iterator[Household]:
    world = make_world(postgres_url, script(SLOW_START), files=SLOW_CHECK)
    world.env |= {"CELERY_BROKER_URL": redis_url, "COUNTERSIGN_LEASE_SECONDS": "600"}
    with over_the_network(world) as machines:
        world.until(world.ready)
        yield Household(world, machines)
    assert processes_of(world.folder) == []


def runs_a_box(process: Process) -> bool:
    below = set(children(process.pid))
    return any(pid in below and b"bwrap" in words for pid, words in told_of_each("cmdline"))


def test_whoever_is_told_to_stop_finishes_or_hands_over_and_the_run_goes_on_at_once(household: Household) -> None:
    world, machines, control = household.world, household.machines, household.world.control
    control.label(REPO, 1, "countersign", "mira")

    # The planner, in a call of a model that takes longer than it has: broken off, and given back.
    world.until(lambda: world.model.requests)
    household.stops("planner")
    household.was_given_back(Belt.PLANNER)
    machines.begin("planner")
    household.proposed()

    # The mint, while a token for watching lives.
    world.until(lambda: [one for one in control.tokens() if not one["revoked"]])
    household.stops("mint")
    assert all(one["revoked"] for one in control.tokens())
    machines.begin("mint")

    # The executor, with a box open. Told twice it does not wait.
    control.comment(REPO, 1, "/approve", "mira")
    world.until(lambda: runs_a_box(machines.running["executor"]))
    household.stops("executor", signal.SIGINT, signal.SIGTERM)
    household.was_given_back(Belt.EXECUTOR)
    control.fault("POST .*/pulls$", mode="delay", seconds_after=3.0)
    machines.begin("executor")

    # The publisher, between a write and its record: it finishes.
    world.until(lambda: control.pulls(REPO))
    assert isinstance(world.state(), Built)
    household.stops("publisher")
    assert isinstance(world.state(), Published)
    machines.begin("publisher")
    household.stops("beat", status=-signal.SIGTERM)
    world.until(world.at_rest)
    world.has_one_of_everything()
