"""What can become of a Redis broker, and afterwards every ear hears again: a worker, beat and a web process on one.

Cases QU-01 and QU-03. The ledger's part, that nothing is done twice however often a bell rings, is told in
the stories.
"""

import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from app.core.belts import Belt
from app.queue import SWEEP, Doorbell, make_celery
from app.settings import QueueSettings, web_settings
from tests.conftest import leave_out
from tests.fakes import services
from tests.fakes.ears import EARS, SWEEP_SECONDS, TAKES_A_WHILE, Ear, Owed, ear
from tests.fakes.troubled_redis import TroubledRedis
from tests.rooms.web.conftest import SECRET, Door, labeled, running, wait_until

BOUND_SECONDS = 5.0
"""GitHub waits ten seconds for an answer."""


class Room:
    """Who rings and who hears."""

    def __init__(self, broker: TroubledRedis, settings: QueueSettings, hears: Ear, door: Door) -> None:
        self.broker, self.ear, self.door = broker, hears, door
        self.bell = Doorbell(make_celery(settings))
        self.number = 0

    def is_labelled(self) -> None:
        """A delivery comes: it is stored, answered with 2xx and within the bound, whatever becomes of the broker."""
        self.number += 1
        stored, began = self.door.recorded(), time.monotonic()
        payload = labeled()
        answer = self.door.post("issues", payload | {"issue": payload["issue"] | {"number": self.number}})
        assert answer.status_code // 100 == 2
        assert time.monotonic() - began < BOUND_SECONDS
        assert self.door.recorded() == stored + 1

    def ready(self) -> httpx.Response:
        return self.door.client.get(f"{self.door.url}/readyz")

    def all_hear(self) -> None:
        """A bell that is rung now is heard by the worker, the next of beat's as well; and the web process is ready."""
        assert self.ear.process.poll() is None, self.ear.log.read_text()[-3000:]
        self.number += 1
        number, sweeps = self.number, self.ear.heard().count([SWEEP, "publisher"])

        def heard() -> bool:
            # One that was rung while Celery still looked at a dead connection is lost, as any bell may be.
            self.bell.ring([Owed(Belt.PUBLISHER, number)])
            until = time.monotonic() + 1
            while time.monotonic() < until and number not in self.ear.works():
                time.sleep(0.02)
            return number in self.ear.works()

        wait_until(heard)
        wait_until(lambda: self.ear.heard().count([SWEEP, "publisher"]) > sweeps)
        wait_until(lambda: self.ready().text == "ready\n")


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory, empty_ledger: Path) -> Iterator[Room]:
    folder = tmp_path_factory.mktemp("troubles")
    shutil.copy(empty_ledger, folder / "ledger.db")
    try:
        broker = TroubledRedis(folder)
    except services.NotHere as absent:
        leave_out(str(absent))
        raise
    settings = QueueSettings(broker.started.url, folder, SWEEP_SECONDS)
    env = {"GITHUB_WEBHOOK_SECRET": SECRET, "COUNTERSIGN_DATA_DIR": str(folder)}
    web = web_settings(env | {"CELERY_BROKER_URL": broker.started.url})
    with ExitStack() as stack:
        stack.callback(broker.end)
        hears = stack.enter_context(ear(settings, "publisher"))
        stack.enter_context(ear(settings, "beat"))
        yield Room(broker, settings, hears, stack.enter_context(running(web)))


TROUBLES = {
    "down": "refused",
    "paused": "did not answer",
    "full": "maxmemory",
    "short_of_replicas": "NOREPLICAS",
    "read_only": "read only",
}
"""And what `/readyz` says then."""


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_broker_that_takes_nothing_is_told_and_holds_nobody_up_and_later_everybody_hears(
    room: Room, trouble: str
) -> None:
    room.all_hear()
    # What is at work when it begins ends meanwhile, and cannot be acknowledged.
    heard = room.ear.works().count(TAKES_A_WHILE)
    room.bell.ring([Owed(Belt.PUBLISHER, TAKES_A_WHILE)] * EARS)
    wait_until(lambda: room.ear.works().count(TAKES_A_WHILE) == heard + EARS)
    with getattr(room.broker, trouble)():
        room.is_labelled()
        began = time.monotonic()
        # Whoever took it away from GitHub for this would lose what it records.
        wait_until(lambda: room.ready().text != "ready\n")
        told = room.ready()
        assert told.status_code == 200 and told.text.startswith("degraded\n") and TROUBLES[trouble] in told.text
        assert time.monotonic() - began < 2 * BOUND_SECONDS
        time.sleep(2.5)
    room.all_hear()


def test_connections_that_are_cut_five_times_in_three_seconds_leave_no_ear_deaf(room: Room) -> None:
    room.all_hear()
    for _ in range(5):
        room.bell.ring([Owed(Belt.PUBLISHER, TAKES_A_WHILE)])
        room.broker.cut()
        time.sleep(0.6)
    room.is_labelled()
    room.all_hear()


def test_an_emptied_broker_is_rung_as_before(room: Room) -> None:
    room.all_hear()
    room.bell.ring([Owed(Belt.EXECUTOR, 1)])
    room.broker.client.flushall()
    room.is_labelled()
    room.all_hear()


def test_a_snapshot_brings_old_bells_back_and_new_ones_are_heard_beside_them(room: Room) -> None:
    room.all_hear()
    os.kill(room.ear.process.pid, signal.SIGSTOP)
    room.bell.ring(Owed(Belt.PUBLISHER, number) for number in range(5001, 5011))
    room.broker.client.save()
    os.kill(room.ear.process.pid, signal.SIGCONT)
    wait_until(lambda: room.ear.works().count(5010) == 1)
    with room.broker.down():
        pass
    wait_until(lambda: room.ear.works().count(5010) == 2)
    room.all_hear()


class Lossy:
    """A way to the broker on which everything goes through but, once `deaf`, what a worker hears by."""

    def __init__(self, port: int) -> None:
        self.deaf = False
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._port))
            threading.Thread(target=self._pass, args=(near, far), daemon=True).start()
            threading.Thread(target=self._pass, args=(far, near), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while said := source.recv(65_536):
                if not (self.deaf and b"BRPOP" in said):
                    target.sendall(said)
            target.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.mark.slow
def test_a_worker_that_is_connected_and_takes_nothing_any_more_ends_to_be_started_again(
    redis_server: services.Started, redis_url: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        way = Lossy(int(redis_server.url.split(":")[-1].split("/")[0]))
        stack.callback(way.close)
        number = redis_url.rpartition("/")[2]
        settings = QueueSettings(way.url.removesuffix("0") + number, tmp_path, SWEEP_SECONDS)
        bell = Doorbell(make_celery(settings))
        deaf = stack.enter_context(ear(settings, "planner", deaf_seconds=3.0))
        bell.ring([Owed(Belt.PLANNER, 1)])
        wait_until(lambda: deaf.works() == [1])
        # With nothing to hear it stays.
        time.sleep(4)
        way.deaf = True
        assert deaf.process.poll() is None
        bell.ring(Owed(Belt.PLANNER, number) for number in range(2, 6))
        wait_until(lambda: deaf.process.poll() is not None)
        assert ["stop", ""] in deaf.heard() and 5 not in deaf.works()
        way.deaf = False
        another = stack.enter_context(ear(settings, "planner"))
        wait_until(lambda: 5 in another.works())


def test_a_broker_folder_that_is_gone_is_made_anew(tmp_path: Path) -> None:
    settings = QueueSettings("filesystem://", tmp_path / "state", SWEEP_SECONDS)
    bell = Doorbell(make_celery(settings))
    with ear(settings, "planner") as hears, ear(settings, "beat"):
        bell.ring([Owed(Belt.PLANNER, 1)])
        wait_until(lambda: hears.works() == [1])
        shutil.rmtree(settings.data_dir / "queue")
        bell.ring([Owed(Belt.PLANNER, 2)])
        wait_until(lambda: hears.works() == [1, 2])
        sweeps = hears.heard().count([SWEEP, "planner"])
        wait_until(lambda: hears.heard().count([SWEEP, "planner"]) > sweeps)
