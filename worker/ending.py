"""The end of a belt's process: what it has in hand is finished, or handed over to another worker, within a bound.

Told to stop, it goes on for a few seconds with what it has begun. What has not ended then is broken off and given
back, so that another worker takes it up at once; told again, that is done without waiting. What does not let itself
be broken off ends with the process. Then the belts that write nothing outside give it back for it. Of the publisher
that would be untrue while a request of its may still be under way at GitHub: its lease runs out by itself.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from worker.evidence.trace import Trace

DRAIN_SECONDS = 4.0
"""How long a belt that was told to stop may go on with what it has begun."""

LAST_SECONDS = 8.0
"""After so long its process ends, whatever it does. Less than what those who supervise it leave to it."""

GIVING_BACK_SECONDS = 1.0
"""Of which so long may be used for giving back, by the process itself, what did not end."""

REASON = "The process that was at it was told to stop; another one goes on with it."

_LOG = logging.getLogger("countersign.ending")


@dataclass(slots=True)
class Ending:
    """What one belt's process has in hand, and how that is brought to an end."""

    writes_outside: bool = True
    begun: bool = False
    """Once it is, nothing new is taken up."""
    _handing_over: bool = False
    _in_hand: dict[int, tuple[Trace, Callable[[], object]]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @contextmanager
    def minding(self, trace: Trace, give_back: Callable[[], object]) -> Iterator[None]:
        """While the block runs, its work is broken off when the end has come; `give_back` gives back its claim."""
        with self._lock:
            self._in_hand[id(trace)] = (trace, give_back)
            late = self._handing_over
        if late:
            trace.hand_over(REASON)
        try:
            yield
        finally:
            with self._lock:
                self._in_hand.pop(id(trace), None)

    def stop(self) -> None:
        """The process comes to its end within `LAST_SECONDS`; a second call shortens that. Returns at once."""
        with self._lock:
            again, self.begun = self.begun, True
        if again:
            self.break_off()
            return
        for seconds, act in ((DRAIN_SECONDS, self.break_off), (LAST_SECONDS - GIVING_BACK_SECONDS, self._at_last)):
            timer = threading.Timer(seconds, act)
            timer.daemon = True
            timer.start()

    def break_off(self) -> None:
        """What is in hand is broken off and given back, and nothing new is taken up. The process itself goes on."""
        with self._lock:
            self.begun = self._handing_over = True
            traces = [trace for trace, _ in self._in_hand.values()]
        for trace in traces:
            trace.hand_over(REASON)

    def _at_last(self) -> None:
        with self._lock:
            left = [give_back for _, give_back in self._in_hand.values()]
        _LOG.error("the process ends with %d pieces of work that did not end", len(left))
        if not self.writes_outside:
            giving = threading.Thread(target=lambda: [give_back() for give_back in left], daemon=True)
            giving.start()
            giving.join(GIVING_BACK_SECONDS)
        os._exit(1)
