"""The Celery application and its doorbells: one queue per belt, ids only, every ring bounded in time."""

import logging
import queue
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from app.core.belts import Belt
from app.settings import QueueSettings

if TYPE_CHECKING:
    from celery import Celery  # type: ignore[import-untyped]

WORK = "countersign.work"
"""Task with one argument, the id of an effect that is owed."""

SWEEP = "countersign.sweep"
"""Task with one argument, the belt that should look for what is owed and was not heard."""

REACH_SECONDS = 2.0
"""How long a ring may take to reach the broker, and how long each of its answers may take."""

VISIBILITY_SECONDS = 2 * 60 * 60
"""When Redis gives an unacknowledged message to another worker: beyond any effect, since leases decide, not bells."""

PROBE = "probe"
"""Queue in which it is tried whether the broker takes messages; nobody listens."""

OUR_TRANSPORTS = {
    "redis": "app.queue.redis:BellTransport",
    "rediss": "app.queue.redis:BellTransport",
    "sentinel": "app.queue.redis:SentinelBellTransport",
}

WAITING_RINGS = 1_000
"""How many rings may wait for a slow broker before further ones are left to the sweep."""

log = logging.getLogger(__name__)


class Owed(Protocol):
    """What can be rung for."""

    @property
    def belt(self) -> Belt: ...
    @property
    def effect_id(self) -> int: ...


def make_celery(settings: QueueSettings) -> "Celery":
    """The Celery application for ringing, for beat and for the workers.

    A worker of belt B listens with `-Q B`, and with `--without-gossip --without-mingle --without-heartbeat`: the
    workers of different belts have nothing to tell one another, and mingling costs a second at start.
    """
    from celery import Celery

    celery = Celery("countersign", set_as_current=False)
    celery.conf.update(_plain_conf(), **_broker_conf(settings), beat_schedule=_schedule(settings.sweep_seconds))
    return celery


def _plain_conf() -> dict[str, Any]:
    from kombu.entity import Queue

    queues = tuple(Queue(belt.value, routing_key=belt.value) for belt in Belt)  # type: ignore[no-untyped-call]
    return {
        "task_queues": queues,
        "task_create_missing_queues": False,
        "task_default_queue": Belt.PUBLISHER.value,
        "task_acks_late": True,
        "task_ignore_result": True,
        "task_serializer": "json",
        "accept_content": ["json"],
        "result_backend": None,
        "worker_prefetch_multiplier": 1,
        "worker_enable_remote_control": False,
        "worker_send_task_events": False,
        # Leases decide who goes on, whatever becomes of the connection over which a bell came.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_hijack_root_logger": False,
        "enable_utc": True,
    }


def _broker_conf(settings: QueueSettings) -> dict[str, Any]:
    from kombu.transport import TRANSPORT_ALIASES

    # By its scheme, so that the rest of an address keeps the meaning that kombu gives it.
    TRANSPORT_ALIASES.update(OUR_TRANSPORTS)
    conf: dict[str, Any] = {
        "broker_url": settings.broker_url,
        "broker_connection_timeout": REACH_SECONDS,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        # A Redis that is read-only, full or short of replicas refuses what a worker asks, and that ends the worker;
        # it is to try again instead.
        "broker_channel_error_retry": True,
        "broker_pool_limit": 2,
        "task_publish_retry": False,
    }
    if settings.broker_url.startswith("filesystem:"):
        from app.queue.folders import options

        conf["broker_url"] = "filesystem://localhost"  # kombu warns where no host is named
        conf["broker_transport"] = "app.queue.folders:FolderTransport"
        conf["broker_transport_options"] = options(settings.data_dir / "queue")
    elif settings.broker_url.startswith(("redis:", "rediss:")):
        conf["broker_transport_options"] = {
            "visibility_timeout": VISIBILITY_SECONDS,
            "socket_timeout": 2 * REACH_SECONDS,
            "socket_connect_timeout": REACH_SECONDS,
            "socket_keepalive": True,
            "health_check_interval": 25,
            "max_retries": 0,
        }
    return conf


def _schedule(seconds: float) -> dict[str, Any]:
    # An unheard sweep is worth nothing once later ones are rung: they do not pile up while a worker is away.
    return {
        f"sweep-{belt}": {
            "task": SWEEP,
            "schedule": seconds,
            "args": (belt.value,),
            "options": {"queue": belt.value, "expires": max(3 * seconds, 5.0)},
        }
        for belt in Belt
    }


def ring_sweeps(celery: "Celery") -> None:
    """Beat: rings every belt's sweep at its interval until the process is ended. The schedule is kept in memory.

    A signal ends it at once, as it ends any program. Celery's own program for this turns a signal into an
    exception, which can be lost in the middle of a ring; and there is nothing here to put in order first.
    """
    from celery.beat import Scheduler, Service  # type: ignore[import-untyped]

    Service(celery, scheduler_cls=Scheduler).start()


class Doorbell:
    """Rings belts. Never raises: a ring that fails is logged and left to the sweep."""

    def __init__(self, celery: "Celery") -> None:
        self._celery = celery

    def ring(self, rings: Iterable[Owed]) -> None:
        """Every belt that owes one of these was told, or a line in the log says why not.

        After one that failed the rest are not tried: each might take its whole time to fail as well.
        """
        for owed in rings:
            if not self._send(WORK, owed.belt, owed.effect_id):
                return

    def sweep(self, belt: Belt) -> None:
        """The belt was told to look for itself, or a line in the log says why not."""
        self._send(SWEEP, belt, belt.value)

    def _send(self, task: str, belt: Belt, argument: int | str) -> bool:
        try:
            self._celery.send_task(task, args=[argument], queue=belt.value, retry=False, ignore_result=True)
        except Exception as trouble:
            log.warning("The %s was not rung (%s %s); the sweep will find it. %r", belt, task, argument, trouble)
            return False
        return True


class Ringer:
    """Rings from a thread of its own, so that nobody waits for the broker."""

    def __init__(self, doorbell: Doorbell) -> None:
        self._doorbell = doorbell
        self._waiting: queue.Queue[tuple[Owed, ...] | None] = queue.Queue(WAITING_RINGS)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ringer", daemon=True)
        self._thread.start()

    def ring_soon(self, rings: tuple[Owed, ...]) -> None:
        """These will be rung shortly; returns at once. With too many waiting they are left to the sweep."""
        if not rings:
            return
        try:
            self._waiting.put_nowait(rings)
        except queue.Full:
            log.warning("Too many rings wait for the broker; %d are left to the sweep.", len(rings))

    def close(self, seconds: float = REACH_SECONDS) -> None:
        """What waits is rung, for at most `seconds`; the rest is left to the sweep."""
        with suppress(queue.Full):
            self._waiting.put(None, timeout=seconds)
            self._thread.join(seconds)
        self._over.set()

    def _run(self) -> None:
        while (rings := self._waiting.get()) is not None and not self._over.is_set():
            self._doorbell.ring(rings)


def broker_trouble(celery: "Celery") -> str:
    """Why no bell could be rung now, as a sentence; empty when the broker took a message and gave it back."""
    try:
        with celery.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, interval_step=0, timeout=REACH_SECONDS)
            channel = connection.default_channel
            channel.queue_declare(PROBE, durable=True)
            # One that is full or read-only answers, and takes nothing.
            channel.basic_publish(channel.prepare_message("", content_type="text/plain"), "", PROBE)
            while channel.basic_get(PROBE, no_ack=True) is not None:
                pass
    except Exception as trouble:
        return f"The broker takes no bells: {type(trouble).__name__}: {trouble}"
    return ""


def bells_waiting(celery: "Celery") -> dict[str, int]:
    """How many bells the broker holds for each belt; nothing where it does not answer."""
    found: dict[str, int] = {}
    try:
        with celery.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, interval_step=0, timeout=REACH_SECONDS)
            for belt in Belt:
                declared = connection.default_channel.queue_declare(belt.value, durable=True)
                found[belt.value] = int(declared.message_count)
    except Exception as trouble:
        log.debug("The broker could not be asked for waiting bells: %r", trouble)
    return found
