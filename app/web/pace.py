"""How often one address may try to come in: whoever guesses is slowed down, and everybody else is not."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from fastapi import Request

from app.web.viewers import NotAdmitted

MOST_ADDRESSES = 10_000


@dataclass(slots=True)
class Pace:
    """At most `tries` within `seconds` from one address. Behind a proxy that is everybody's together."""

    tries: int = 30
    seconds: float = 60.0
    clock: Callable[[], float] = time.monotonic
    _seen: OrderedDict[str, deque[float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, request: Request) -> None:
        """One more try, as a route's dependency. Raises `NotAdmitted` (429) for one too many."""
        address = request.client.host if request.client else ""
        now = self.clock()
        with self._lock:
            times = self._seen.setdefault(address, deque())
            self._seen.move_to_end(address)
            if len(self._seen) > MOST_ADDRESSES:
                self._seen.popitem(last=False)
            while times and times[0] <= now - self.seconds:
                times.popleft()
            if len(times) >= self.tries:
                wait = {"retry-after": str(int(times[0] + self.seconds - now) + 1)}
                raise NotAdmitted(429, "That were too many tries. Wait a minute.", headers=wait)
            times.append(now)
