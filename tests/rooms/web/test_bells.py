"""Doorbells for real: a Celery worker and beat in processes of their own, over folders and over Redis."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from app.core.belts import Belt
from app.queue import SWEEP, WORK, Doorbell, Ringer, broker_trouble, make_celery
from app.queue.folders import FolderTransport
from app.queue.redis import BellQoS
from app.settings import QueueSettings
from tests.fakes.ears import SWEEP_SECONDS, Owed, ear
from tests.rooms.web.conftest import wait_until


@pytest.fixture(params=["folders", "redis"])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> QueueSettings:
    url = "filesystem://" if request.param == "folders" else request.getfixturevalue("redis_url")
    return QueueSettings(url, tmp_path / "state", SWEEP_SECONDS)


@pytest.fixture
def folders(tmp_path: Path) -> QueueSettings:
    return QueueSettings("filesystem://", tmp_path)


def test_a_ring_is_heard_by_its_belt_alone_and_a_sweep_that_came_too_late_by_nobody(broker: QueueSettings) -> None:
    celery = make_celery(broker)
    bell = Doorbell(celery)
    celery.send_task(SWEEP, args=["planner"], queue="planner", expires=-1)
    bell.ring([Owed(Belt.PLANNER, 2**40), Owed(Belt.EXECUTOR, 5), Owed(Belt.PLANNER, 7)])
    bell.sweep(Belt.PLANNER)
    with ear(broker, "planner") as hears:
        wait_until(lambda: len(hears.heard()) == 3)
        bell.ring([Owed(Belt.PLANNER, 8)])
        wait_until(lambda: len(hears.heard()) == 4)
        # Bells of one moment may be heard in any order.
        assert sorted(hears.heard()[:3], key=str) == [[SWEEP, "planner"], [WORK, 2**40], [WORK, 7]]
        assert hears.heard()[3:] == [[WORK, 8]]


def test_beat_rings_the_sweep_of_every_belt(broker: QueueSettings) -> None:
    with ear(broker, "beat"), make_celery(broker).connection_for_read() as connection:
        for belt in Belt:
            for _ in range(2):
                assert rung(connection.default_channel, belt) == (SWEEP, belt.value)


def rung(channel: Any, belt: Belt) -> tuple[str, object]:
    """The next bell of a belt, once there is one: its task and its argument."""
    taken: list[Any] = []

    def take() -> bool:
        taken.append(channel.basic_get(belt.value, no_ack=True))
        return taken[-1] is not None

    wait_until(take)
    return taken[-1].headers["task"], json.loads(taken[-1].body)[0][0]


def test_a_broker_that_answers_is_no_trouble(broker: QueueSettings) -> None:
    assert broker_trouble(make_celery(broker)) == ""


def test_a_broker_that_is_away_is_named_and_a_ring_neither_raises_nor_hangs(tmp_path: Path) -> None:
    celery = make_celery(QueueSettings("redis://127.0.0.1:1/0", tmp_path))
    began = time.monotonic()
    Doorbell(celery).ring([Owed(Belt.PLANNER, 1)])
    assert "takes no bells" in broker_trouble(celery)
    assert time.monotonic() - began < 8


def test_a_folder_that_cannot_be_written_is_trouble_and_a_ring_does_not_raise(
    folders: QueueSettings, caplog: pytest.LogCaptureFixture
) -> None:
    celery = make_celery(folders)
    messages = folders.data_dir / "queue" / "messages"
    messages.rmdir()
    messages.write_text("in the way")
    Doorbell(celery).ring([Owed(Belt.PLANNER, 1)])
    assert "was not rung" in caplog.text
    assert broker_trouble(celery)


def test_many_readers_take_each_message_once_and_never_see_half_of_one(folders: QueueSettings) -> None:
    bell = Doorbell(make_celery(folders))
    ids = range(1, 301)
    taken: list[int] = []
    done = threading.Event()

    def read() -> None:
        celery = make_celery(folders)
        with celery.connection_for_read() as connection:
            channel = connection.default_channel
            while True:
                ended = done.is_set()
                message = channel.basic_get("planner")
                if message is not None:
                    channel.basic_ack(message.delivery_tag)
                    taken.extend(json.loads(message.body)[0])
                elif ended:
                    return

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    bell.ring(Owed(Belt.PLANNER, number) for number in ids)
    done.set()
    for reader in readers:
        reader.join()
    assert sorted(taken) == list(ids)
    assert list((folders.data_dir / "queue").rglob("*.msg*")) == []


def test_a_message_that_cannot_be_read_is_dropped_and_the_next_one_is_heard(folders: QueueSettings) -> None:
    celery = make_celery(folders)
    (folders.data_dir / "queue" / "messages" / f"1_{'0' * 32}.planner.msg").write_bytes(b'{"half": ')
    Doorbell(celery).ring([Owed(Belt.PLANNER, 4)])
    with celery.connection_for_read() as connection:
        assert isinstance(connection.transport, FolderTransport)
        message = connection.default_channel.basic_get("planner")
        assert message is not None and json.loads(message.body)[0] == [4]
        connection.default_channel.basic_ack(message.delivery_tag)


def test_a_bell_carries_an_id_and_nothing_else(folders: QueueSettings) -> None:
    celery = make_celery(folders)
    Doorbell(celery).ring([Owed(Belt.PUBLISHER, 41)])
    with celery.connection_for_read() as connection:
        message = connection.default_channel.basic_get("publisher")
        args, kwargs, _ = json.loads(message.body)
        assert (args, kwargs, message.headers["task"]) == ([41], {}, WORK)
        connection.default_channel.basic_ack(message.delivery_tag)


def test_the_ringer_returns_at_once_and_rings_what_waits_before_it_ends(folders: QueueSettings) -> None:
    ringer = Ringer(Doorbell(make_celery(folders)))
    ringer.ring_soon(tuple(Owed(Belt.PLANNER, number) for number in range(20)))
    ringer.ring_soon(())
    ringer.close()
    assert len(list((folders.data_dir / "queue" / "messages").glob("*.planner.msg"))) == 20


def test_the_ringer_never_waits_for_a_broker_that_is_away(tmp_path: Path) -> None:
    ringer = Ringer(Doorbell(make_celery(QueueSettings("redis://127.0.0.1:1/0", tmp_path))))
    began = time.monotonic()
    for number in range(2_000):
        ringer.ring_soon((Owed(Belt.PLANNER, number),))
    assert time.monotonic() - began < 2
    ringer.close(0.2)
    assert time.monotonic() - began < 4


def test_no_queue_is_made_for_a_belt_that_does_not_exist(folders: QueueSettings) -> None:
    celery = make_celery(folders)
    assert {queue.name for queue in celery.conf.task_queues} == {belt.value for belt in Belt}
    assert not celery.conf.task_create_missing_queues


def test_the_sweeps_go_to_each_belt_and_do_not_pile_up_while_nobody_listens(folders: QueueSettings) -> None:
    rung = make_celery(folders).conf.beat_schedule.values()
    assert {(each["options"]["queue"], *each["args"]) for each in rung} == {(belt.value, belt.value) for belt in Belt}
    assert all(each["schedule"] == folders.sweep_seconds for each in rung)
    assert all(each["schedule"] < each["options"]["expires"] <= 60 for each in rung)


@pytest.mark.parametrize(
    ("url", "encrypted"),
    [
        ("redis://127.0.0.1:1/3", False),
        ("rediss://:pw@127.0.0.1:1/3?ssl_cert_reqs=required", True),
        ("sentinel://127.0.0.1:1/3", False),
    ],
)
def test_however_a_redis_is_addressed_a_bell_whose_acknowledgement_fails_is_done_with(
    url: str, encrypted: bool, tmp_path: Path
) -> None:
    with make_celery(QueueSettings(url, tmp_path)).connection_for_write() as connection:
        assert connection.transport.Channel.QoS is BellQoS
        assert (connection.virtual_host, bool(connection.ssl)) == ("3", encrypted)
