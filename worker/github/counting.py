"""How many requests this process sent to GitHub, and how many GitHub says are left."""

import threading
from collections.abc import Mapping


class Asked:
    """Counts since it was last asked; any thread may count."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._remaining: int | None = None

    def note(self, headers: Mapping[str, str]) -> None:
        """A request was answered. `x-ratelimit-remaining` is the installation's (github-facts 163)."""
        left = headers.get("x-ratelimit-remaining", "")
        with self._lock:
            self._count += 1
            if left.isascii() and left.isdigit():
                self._remaining = int(left) if self._remaining is None else min(self._remaining, int(left))

    def taken(self) -> tuple[int, int | None]:
        """Requests, and the fewest that were left, since this was called last."""
        with self._lock:
            taken, self._count, self._remaining = (self._count, self._remaining), 0, None
        return taken


ASKED = Asked()
"""Of this process."""
