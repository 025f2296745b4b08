"""What machines that watch are told: whether deliveries can be recorded here, and whether their work goes on at once.

A load balancer takes away who is not ready, and then nobody records what GitHub sends. So only the ledger decides that;
a broker that takes no bells is told beside it.
"""

import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime

from app.core.redact import redact
from app.ledger import open_ledger
from app.ledger.errors import LedgerError

BROKER_SECONDS = 2.5
"""How long the broker may take to answer. Whoever asks may wait for no more than five seconds, and often does."""

FRESH_SECONDS = 1.0
"""So long one answer is for all who ask: everybody may ask, and each look writes to the ledger."""

READY = "ready\n"


@dataclass(frozen=True, slots=True)
class Standing:
    """The answer: its status and its words, of which the first is `ready`, `degraded` or why it is neither."""

    status: int
    words: str


class Readiness:
    """Looks when it is asked, at most once a second. Both are a sentence of what is wrong, empty where nothing is."""

    def __init__(self, ledger: Callable[[], str], broker: Callable[[], str]) -> None:
        self._ledger = ledger
        self._broker = broker
        self._asked: _Asked | None = None
        self._lock = threading.Lock()
        self._last = (0.0, Standing(503, ""))

    def now(self) -> Standing:
        """503 where nothing can be recorded now, else 200; `degraded` where recorded work waits for the broker."""
        with self._lock:
            at, last = self._last
            if not last.words or time.monotonic() - at > FRESH_SECONDS:
                last = self._look()
                self._last = (time.monotonic(), last)
            return last

    def _look(self) -> Standing:
        if self._asked is None or self._asked.answered.is_set():
            self._asked = _Asked(self._broker)
        asked, until = self._asked, time.monotonic() + BROKER_SECONDS
        if trouble := self._ledger():
            return Standing(503, f"{redact(trouble)}\n")
        asked.answered.wait(max(until - time.monotonic(), 0.0))
        trouble = asked.trouble
        if not trouble:
            return Standing(200, READY)
        words = "Deliveries are recorded. What they lead to waits until the broker takes bells again."
        return Standing(200, f"degraded\n{words}\n{redact(trouble)}\n")


class _Asked:
    """One question to the broker, put in a thread of its own: it may take longer than anybody waits."""

    def __init__(self, broker: Callable[[], str]) -> None:
        self.answered = threading.Event()
        self.trouble = f"The broker takes no bells: it did not answer within {BROKER_SECONDS} s."
        self._broker = broker
        threading.Thread(target=self._ask, name="readiness", daemon=True).start()

    def _ask(self) -> None:
        self.trouble = self._broker()
        self.answered.set()


def ledger_trouble(url: str) -> str:
    """Why nothing could be recorded now, as a sentence; empty when the database has this version's schema and something
    was recorded in it."""
    try:
        with closing(open_ledger(url)) as ledger:
            ledger.prove(datetime.now(UTC))
    except LedgerError as trouble:
        return str(trouble)
    return ""
