"""Primary rate limits per installation, as headers and as a refusal (github-facts 163-166)."""

from dataclasses import dataclass

from infra.twin.state import World
from infra.twin.wire import Refused

HOUR = 3600


@dataclass
class Window:
    """What one caller has used until `reset` (seconds since 1970)."""

    used: int
    reset: int


class Rates:
    """Counts requests in hours; `limit` may be set low to see the refusal."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._windows: dict[str, Window] = {}
        self.limit = 5000

    def window(self, key: str) -> Window:
        """The present window of a caller."""
        now = int(self._world.seconds())
        window = self._windows.get(key)
        if window is None or window.reset <= now:
            window = self._windows[key] = Window(0, now + HOUR)
        return window

    def count(self, key: str) -> None:
        """Use one request; 403 when none is left."""
        window = self.window(key)
        if window.used >= self.limit:
            refusal = Refused(403, f"API rate limit exceeded for {key}.")
            refusal.headers = self.headers(key)
            raise refusal
        window.used += 1

    def give_back(self, key: str) -> None:
        """A 304 costs nothing (github-facts 40)."""
        self.window(key).used -= 1

    def headers(self, key: str) -> dict[str, str]:
        """The `X-RateLimit-*` headers."""
        window = self.window(key)
        return {
            "X-RateLimit-Limit": str(self.limit), "X-RateLimit-Remaining": str(self.limit - window.used),
            "X-RateLimit-Used": str(window.used), "X-RateLimit-Reset": str(window.reset),
            "X-RateLimit-Resource": "core",
        }
