"""The record of every request: when, what, how it ended and with which token's reach; never a token itself."""

from dataclasses import asdict, dataclass
from typing import Any

from infra.twin.state import World


@dataclass(frozen=True)
class Entry:
    """One request as it was answered. `status` is 0 when the connection was dropped."""

    number: int
    at: float
    method: str
    path: str
    query: str
    status: int
    caller: str
    token: str | None
    permissions: dict[str, str] | None
    repository_ids: list[int] | None
    fault: str | None
    body_bytes: int


class Journal:
    """Entries in the order in which the requests were *received*; kept in memory."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._entries: list[Entry] = []
        self._next = 1

    def ticket(self) -> int:
        """The number of a request that has just arrived."""
        with self._world.lock:
            number = self._next
            self._next += 1
            return number

    def add(self, entry: Entry) -> None:
        """Keep an entry."""
        with self._world.lock:
            self._entries.append(entry)

    def entries(self) -> list[dict[str, Any]]:
        """All entries as plain JSON, by arrival."""
        with self._world.lock:
            return [asdict(entry) for entry in sorted(self._entries, key=lambda entry: entry.number)]
