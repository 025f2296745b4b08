"""The record of every request: when, what, how it ended and with which token's reach; never a token itself."""

import threading
from dataclasses import asdict, dataclass
from typing import Any


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


@dataclass(frozen=True)
class Act:
    """Something that a person did by hand: when, who, what, and the values given."""

    at: float
    login: str
    deed: str
    values: dict[str, Any]


class Journal:
    """Requests in the order in which they were *received*, and what people did; kept in memory, under its own lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[Entry] = []
        self._acts: list[Act] = []
        self._next = 1

    def ticket(self) -> int:
        """The number of a request that has just arrived."""
        with self._lock:
            number = self._next
            self._next += 1
            return number

    def add(self, entry: Entry) -> None:
        """Keep an entry."""
        with self._lock:
            self._entries.append(entry)

    def add_act(self, act: Act) -> None:
        """Keep what a person did."""
        with self._lock:
            self._acts.append(act)

    def entries(self) -> list[dict[str, Any]]:
        """All requests as plain JSON, by arrival."""
        with self._lock:
            return [asdict(entry) for entry in sorted(self._entries, key=lambda entry: entry.number)]

    def acts(self) -> list[dict[str, Any]]:
        """All acts as plain JSON, oldest first."""
        with self._lock:
            return [asdict(act) for act in self._acts]
