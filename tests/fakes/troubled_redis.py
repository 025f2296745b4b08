"""A real Redis as a broker, and what can become of it."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from app.queue import make_celery
from app.settings import QueueSettings
from tests.fakes import services


class TroubledRedis:
    """A Redis server of one's own. Each trouble lasts as long as its block."""

    def __init__(self, room: Path) -> None:
        self.room = room
        self.started = services.start_redis(room, os.getpid())
        self.port = int(self.started.url.split(":")[-1].split("/")[0])
        self.client = redis.Redis(port=self.port, socket_timeout=5)

    def set(self, **settings: str) -> None:
        for name, value in settings.items():
            self.client.config_set(name.replace("_", "-"), value)

    def cut(self) -> None:
        """Every connection but this one is cut."""
        self.client.client_kill_filter(_type="normal", skipme=True)

    def end(self) -> None:
        services.end(self.started.keeper)

    def gives_again(self, settings: QueueSettings) -> int:
        """What has not been acknowledged is given to another worker, as any worker does when the visibility time-out
        is over; how many bells there were. Case QU-01."""
        waiting = int(self.client.hlen("unacked"))
        celery = make_celery(settings)
        celery.conf.broker_transport_options = {"visibility_timeout": 0}
        with celery.connection_for_read() as connection:
            connection.default_channel.qos.restore_visible(num=10, interval=1)
        return waiting

    @contextmanager
    def down(self) -> Iterator[None]:
        os.kill(int(self.client.info("server")["process_id"]), signal.SIGKILL)
        services.end(self.started.keeper)
        try:
            yield
        finally:
            self.started = services.start_redis(self.room, os.getpid(), at=self.port)

    @contextmanager
    def paused(self) -> Iterator[None]:
        pid = int(self.client.info("server")["process_id"])
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    @contextmanager
    def full(self) -> Iterator[None]:
        self.set(maxmemory_policy="noeviction", maxmemory="1mb")
        try:
            yield
        finally:
            self.set(maxmemory="0")

    @contextmanager
    def short_of_replicas(self) -> Iterator[None]:
        self.set(min_replicas_to_write="1")
        try:
            yield
        finally:
            self.set(min_replicas_to_write="0")

    @contextmanager
    def read_only(self) -> Iterator[None]:
        self.client.replicaof("127.0.0.1", 1)
        try:
            yield
        finally:
            self.client.replicaof("no", "one")
