"""A belt's ears: its Celery worker, told to stop by signals, and looked at from inside whether it still hears.

A worker of Celery's can stay connected and take nothing any more after Redis was away (celery/celery#8030, #8091,
#10205). Nobody outside can tell it from an idle one. So a thread asks the broker itself: where bells wait, threads are
free and none of it is taken, the process ends as if it had been told to, and whoever supervises it starts it again.
"""

import logging
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

from app.core.belts import Belt
from app.queue.bells import SWEEP, WORK

if TYPE_CHECKING:
    from celery import Celery  # type: ignore[import-untyped]

DEAF_SECONDS = 90.0
"""How long bells may wait before ears that are free. Beyond what Celery takes to connect again after a long outage."""

LOOKS = 6
"""How often it is looked within that time."""

STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ears:
    """What a belt does with its bells, in how many threads. `stopping` is called from a thread of its own each time
    that the process is told to stop; it must return at once."""

    belt: Belt
    threads: int
    work: Callable[[int], None]
    sweep: Callable[[str], None]
    stopping: Callable[[], None]
    deaf_seconds: float = DEAF_SECONDS


def listen(celery: "Celery", ears: Ears) -> int:
    """Hears the belt's bells until SIGTERM, SIGINT or SIGHUP, or until it turns out to be deaf; then takes none any
    more and returns the exit code once what was begun has ended."""
    from celery.exceptions import CPendingDeprecationWarning, SecurityWarning  # type: ignore[import-untyped]
    from celery.signals import setup_logging  # type: ignore[import-untyped]

    # Whoever answers this keeps Celery from handlers of its own, through which lines would go as they are.
    setup_logging.connect(_logs_are_set_up, weak=False)
    # It warns root of messages that run code, and ours are ids in JSON; and of a setting that is made on purpose.
    for needless in (SecurityWarning, CPendingDeprecationWarning):
        warnings.simplefilter("ignore", needless)
    hearing = _Hearing()
    celery.task(name=WORK)(hearing.noticing(lambda effect_id: ears.work(int(effect_id))))
    celery.task(name=SWEEP)(hearing.noticing(ears.sweep))
    worker = _worker_class(celery, ears.stopping)(
        pool="threads",
        concurrency=ears.threads,
        queues=[ears.belt.value],
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        loglevel="WARNING",
        hostname=f"{ears.belt}@countersign",
        quiet=True,
    )
    threading.Thread(target=_mind, args=(celery, ears, hearing), name="hearing", daemon=True).start()
    worker.start()
    for number in STOPS:
        # Python's own end gives them back their usual meaning, and one that is told again would end by the signal.
        signal.signal(number, signal.SIG_IGN)
    return int(worker.exitcode or 0)


def _logs_are_set_up(**told: object) -> None:
    """By the process, before it listens."""


def _worker_class(celery: "Celery", stopping: Callable[[], None]) -> Any:
    class Worker(celery.Worker):  # type: ignore[misc]
        def install_platform_tweaks(self, worker: object) -> None:
            """Celery's own handlers end what is at work on a second signal, and start the program anew on SIGHUP."""
            _on_stop(stopping)

    return Worker


def _on_stop(stopping: Callable[[], None]) -> None:
    """The signal reaches `stopping` by a pipe, so that it is heard where the main thread hangs."""
    from celery.worker import state  # type: ignore[import-untyped]

    def told(number: int, frame: FrameType | None) -> None:
        state.should_stop = 0

    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in STOPS:
        signal.signal(number, told)

    def pass_on() -> None:
        while number := os.read(read, 1):
            if number[0] in STOPS:
                stopping()

    threading.Thread(target=pass_on, name="signals", daemon=True).start()


@dataclass(slots=True)
class _Hearing:
    """How much was heard, and how many threads are busy with it."""

    heard: int = 0
    busy: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def noticing(self, task: Callable[[Any], None]) -> Callable[[Any], None]:
        def heard(argument: Any) -> None:
            with self._one():
                task(argument)

        return heard

    @contextmanager
    def _one(self) -> Iterator[None]:
        with self._lock:
            self.heard += 1
            self.busy += 1
        try:
            yield
        finally:
            with self._lock:
                self.busy -= 1


def _mind(celery: "Celery", ears: Ears, hearing: _Hearing) -> None:
    """Ends the process once it is deaf. What a deaf one has in hand comes to its end first."""
    deaf, heard = 0, hearing.heard
    while True:
        time.sleep(ears.deaf_seconds / LOOKS)
        if hearing.heard != heard or hearing.busy or not _waiting(celery, ears.belt):
            deaf, heard = 0, hearing.heard
            continue
        deaf += 1
        if deaf >= LOOKS:
            log.error("Bells for the %s wait and are not heard: this process ends, to be started again.", ears.belt)
            os.kill(os.getpid(), signal.SIGTERM)


def _waiting(celery: "Celery", belt: Belt) -> int:
    """How many bells wait at the broker, asked over a connection of its own; 0 where it does not answer."""
    try:
        with celery.connection_for_write() as connection:
            return int(connection.default_channel.queue_declare(belt.value, durable=True).message_count)
    except Exception as trouble:
        log.debug("The broker could not be asked for waiting bells: %r", trouble)
        return 0
