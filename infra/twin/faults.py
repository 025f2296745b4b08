"""Faults on demand: what the next calls that match are answered instead of, or after, the truth."""

import re
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Mode = Literal["instead", "after", "drop", "drop-after", "delay", "meanwhile"]
MODES: tuple[Mode, ...] = ("instead", "after", "drop", "drop-after", "delay", "meanwhile")


@dataclass
class Fault:
    """Which requests (`METHOD /path` searched with a regular expression), how many or until when, and what happens.

    `instead` answers without doing; `after` does the work and then answers this; `drop` closes the connection before
    the work, `drop-after` after it; `delay` answers truly but waits `seconds_before` the work or `seconds_after` it;
    `meanwhile` does the work, then the control calls of `deeds` (each a name and its values), then answers truly.
    """

    pattern: str
    mode: Mode = "instead"
    status: int = 502
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    seconds_before: float = 0.0
    seconds_after: float = 0.0
    skip: int = 0
    times: int | None = 1
    until: float | None = None
    deeds: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    name: str = ""
    hits: int = 0


class Faults:
    """The faults waiting to happen, under a lock of their own; they last by the twin's clock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: list[Fault] = []

    def add(self, fields: dict[str, Any]) -> Fault:
        """Arm a fault from plain JSON; `seconds` limits it in time. ValueError for an unknown mode or pattern."""
        seconds = fields.pop("seconds", None)
        fault = Fault(**fields)
        if fault.mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}")
        re.compile(fault.pattern)
        if seconds is not None:
            fault.until = self._clock() + float(seconds)
            fault.times = fields.get("times")
        fault.name = fault.name or f"{fault.mode} {fault.status}"
        with self._lock:
            self._waiting.append(fault)
        return fault

    def clear(self) -> None:
        """Disarm all."""
        with self._lock:
            self._waiting.clear()

    def take(self, method: str, path: str) -> Fault | None:
        """The first fault that matches this request, used up by one; control calls never match."""
        with self._lock:
            now = self._clock()
            self._waiting = [fault for fault in self._waiting if _alive(fault, now)]
            for fault in self._waiting:
                if not re.search(fault.pattern, f"{method} {path}"):
                    continue
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.hits += 1
                if fault.times is not None:
                    fault.times -= 1
                return fault
            return None

    def waiting(self) -> list[dict[str, Any]]:
        """The armed faults as plain JSON."""
        with self._lock:
            return [asdict(fault) for fault in self._waiting]


def _alive(fault: Fault, now: float) -> bool:
    return (fault.times is None or fault.times > 0) and (fault.until is None or now < fault.until)
