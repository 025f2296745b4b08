"""A run whose broker is lost again and again, whose workers are killed, and whose bells ring twice: nothing is lost,
nothing is done twice. Cases QU-01, QU-02 and QU-03, with the product's own processes, PostgreSQL and a real Redis.
"""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.core.belts import Belt, EffectKind
from app.core.run import Built, Proposed, Published
from app.ledger.outcomes import EffectView
from app.queue import Doorbell, make_celery
from app.settings import QueueSettings
from tests.conftest import leave_out
from tests.fakes import services
from tests.fakes.ears import Owed
from tests.fakes.greeting import FILES, PLAN, calls, planning, script
from tests.fakes.household import REPO
from tests.fakes.machines import PATIENCE_SECONDS, World, over_the_network, processes_of
from tests.fakes.troubled_redis import TroubledRedis

pytestmark = [pytest.mark.needs_userns, pytest.mark.slow, pytest.mark.timeout(0)]

SLOW_START = planning({**calls(("list_files", {})), "delay": 3.0}, calls(("submit_plan", PLAN)))
SLOW_CHECK = FILES | {"Makefile": "test:\n\tsleep 4; sh tests/test_greet.sh\n"}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[TroubledRedis]:
    try:
        made = TroubledRedis(tmp_path)
    except services.NotHere as absent:
        leave_out(str(absent))
        raise
    yield made
    made.end()


def test_whatever_becomes_of_the_broker_and_the_workers_a_run_is_done_once_and_to_its_end(
    make_world: Callable[..., World], postgres_url: str, broker: TroubledRedis, tmp_path: Path
) -> None:
    world = make_world(postgres_url, script(SLOW_START), files=SLOW_CHECK)
    control, settings = world.control, QueueSettings(broker.started.url, tmp_path)
    world.env["CELERY_BROKER_URL"] = broker.started.url
    with over_the_network(world) as machines:
        world.until(world.ready)

        # Nobody can ring when the label comes; it is stored, and beat's bells find it.
        with broker.down():
            control.label(REPO, 1, "countersign", "mira")
            world.until(world.state)

        # The planner is killed in the middle of its work, as by the kernel; another one resumes it.
        world.until(lambda: world.model.requests)
        killed = machines.running.pop("planner")
        killed.kill()
        assert killed.wait(PATIENCE_SECONDS) == -signal.SIGKILL
        machines.begin("planner")
        world.until(lambda: isinstance(state := world.state(), Proposed) and state.proposal.comment_id)
        assert attempts(world, EffectKind.DRAFT_PLAN) == 2

        # Its bell rings again and again while the plan is carried out, and a second worker hears it.
        machines.begin("executor", "another executor")
        control.comment(REPO, 1, "/approve", "mira")
        world.until(lambda: held(world, EffectKind.EXECUTE))
        control.fault("POST .*/pulls$", mode="delay", seconds_after=30.0)
        again = 0
        while held(world, EffectKind.EXECUTE):
            again += broker.gives_again(settings)
            time.sleep(0.3)
        assert again > 2
        assert attempts(world, EffectKind.EXECUTE) == 1
        assert [one.purpose for one in world.ledger.mints()].count(EffectKind.EXECUTE) == 1

        # Emptied and cut off while the draft is opened; and the publisher, told to stop, cannot end that in time. What
        # it wrote is found by the next one once its lease is over.
        world.until(lambda: control.pulls(REPO))
        broker.client.flushall()
        broker.cut()
        assert isinstance(world.state(), Built)
        stuck = machines.running.pop("publisher")
        stuck.terminate()
        assert stuck.wait(PATIENCE_SECONDS) == 1
        assert isinstance(world.state(), Built)
        machines.begin("publisher")
        world.until(lambda: isinstance(world.state(), Published))
        world.until(world.at_rest)
        world.has_one_of_everything()

        # A snapshot of long ago brings every bell back.
        before = len(writes(world))
        bell = Doorbell(make_celery(settings))
        bell.ring(Owed(one.belt, one.id) for one in effects(world))
        world.until(lambda: not any(broker.client.llen(belt.value) for belt in Belt))
        time.sleep(1)
        world.until(world.at_rest)
        assert len(writes(world)) == before
        world.has_one_of_everything()
    assert processes_of(world.folder) == []


def effects(world: World) -> tuple[EffectView, ...]:
    view = world.ledger.run(world.ledger.runs()[0].id)
    return tuple(view.effects) if view else ()


def attempts(world: World, kind: EffectKind) -> int:
    return next(one.attempts for one in effects(world) if one.effect.kind is kind)


def held(world: World, kind: EffectKind) -> bool:
    return any(one.effect.kind is kind and one.lease_until is not None for one in effects(world))


def writes(world: World) -> list[str]:
    """What was written at GitHub, by its path."""
    reads = ("/access_tokens", "/installation/token", "/git-upload-pack", "/graphql")
    asked = world.control.journal()
    return [one["path"] for one in asked if one["method"] != "GET" and not one["path"].endswith(reads)]
