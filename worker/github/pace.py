"""The pause between writes that create content, shared by all connections of one installation in this process."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Pace:
    """Lets one write at a time through, each at least `gap` seconds after the last one ended."""

    def __init__(self, gap: float) -> None:
        self.gap = gap
        self._lock = threading.Lock()
        self._last: float | None = None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Waits for this write's turn; the gap counts from where the block is left."""
        with self._lock:
            if self._last is not None:
                time.sleep(max(0.0, self._last + self.gap - time.monotonic()))
            try:
                yield
            finally:
                self._last = time.monotonic()


_paces: dict[tuple[str, int, float], Pace] = {}
_paces_lock = threading.Lock()


def pace_of(api_url: str, installation_id: int, gap: float) -> Pace:
    """The one pace of this process for an API, an installation and a gap in seconds."""
    key = (api_url.rstrip("/"), installation_id, gap)
    with _paces_lock:
        return _paces.setdefault(key, Pace(gap))
