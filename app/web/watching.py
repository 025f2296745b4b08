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

ANSWER_SECONDS = 2.5
"""How long ledger and broker may take to answer. Whoever asks may wait for no more than five seconds."""

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
        self._ledger = _Asking(ledger, "The ledger can record nothing")
        self._broker = _Asking(broker, "The broker takes no bells")
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
        until = time.monotonic() + ANSWER_SECONDS
        ledger, broker = self._ledger.asked(), self._broker.asked()
        if trouble := ledger.told(until):
            return Standing(503, f"{redact(trouble)}\n")
        trouble = broker.told(until)
        if not trouble:
            return Standing(200, READY)
        words = "Deliveries are recorded. What they lead to waits until the broker takes bells again."
        return Standing(200, f"degraded\n{words}\n{redact(trouble)}\n")


class _Asking:
    """Asks one question again and again, and never twice at a time: it may take longer than anybody waits."""

    def __init__(self, question: Callable[[], str], words: str) -> None:
        self._question = question
        self._silent = f"{words}: it did not answer within {ANSWER_SECONDS} s."
        self._asked: _Asked | None = None

    def asked(self) -> "_Asked":
        """The question that waits for its answer, or a new one."""
        if self._asked is None or self._asked.answered.is_set():
            self._asked = _Asked(self._question, self._silent)
        return self._asked


class _Asked:
    """One question, put in a thread of its own."""

    def __init__(self, question: Callable[[], str], silent: str) -> None:
        self.answered = threading.Event()
        self._trouble = silent
        self._question = question
        threading.Thread(target=self._ask, name="readiness", daemon=True).start()

    def told(self, until: float) -> str:
        """The trouble, as a sentence; empty where there is none. `until` is monotonic."""
        self.answered.wait(max(until - time.monotonic(), 0.0))
        return self._trouble

    def _ask(self) -> None:
        try:
            self._trouble = self._question()
        except Exception as error:
            self._trouble = f"That could not be asked: {error}"
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
