"""Live pages: server-sent events that say that something changed; what changed is read by asking for the page again.

However many look on, the ledger is asked once a second, by four look-ups in indexes for all runs that are looked at;
with nobody looking on it is not asked at all. Who missed something while away is told of it by `Last-Event-ID`.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from fastapi import Response
from starlette.types import Receive, Scope, Send

from app.ledger.errors import LedgerError
from app.ledger.store import Ledger

EVERY_RUN = ""
"""What is looked at where it is a list and no single run."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often what is asked and said, in seconds, and how many may look on at once in one process."""

    asked: float = 1.0
    heartbeat: float = 15.0
    longest: float = 60.0
    """After so long a connection is ended. The browser comes again by itself and is admitted anew, so that no stream
    goes on for longer than this behind a session that ended or access that was lost."""
    again: float = 3.0
    """How long a browser is told to wait before it comes again."""
    most: int = 128


PACE = Pace()


@dataclass(slots=True)
class _Told:
    mark: str
    goes_on: bool = True


@dataclass(slots=True)
class Pulse:
    """What changed last, of all that is looked at. Belongs to one event loop."""

    ledger: Ledger
    pace: Pace = PACE
    _watched: Counter[str] = field(default_factory=Counter)
    _marks: dict[str, _Told] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _asking: "asyncio.Task[None] | None" = None

    def is_full(self) -> bool:
        """True while nobody more can be let in."""
        return self._watched.total() >= self.pace.most

    async def events(self, run: str, seen: str) -> AsyncIterator[str]:
        """The stream for one who looks at this run, or at every run, and has seen it as of the mark `seen`."""
        self._watched[run] += 1
        try:
            if self._asking is None or self._asking.done():
                self._asking = asyncio.create_task(self._ask())
            yield f"retry: {self.pace.again * 1000:.0f}\n\n"
            while True:
                told = self._marks.get(run)
                if told is not None and told.mark != seen:
                    seen = told.mark
                    yield f"id: {seen}\nevent: changed\ndata: {seen}\n\n"
                if told is not None and not told.goes_on:
                    yield "event: end\ndata: it has ended\n\n"
                    return
                if not await self._change():
                    yield ": still here\n\n"
        finally:
            self._watched[run] -= 1
            if not self._watched[run]:
                del self._watched[run]
                self._marks.pop(run, None)

    async def _change(self) -> bool:
        try:
            await asyncio.wait_for(self._changed.wait(), self.pace.heartbeat)
        except TimeoutError:
            return False
        return True

    async def _ask(self) -> None:
        """Asks while anybody looks on. A ledger that does not answer is asked again; nothing is said meanwhile."""
        while self._watched:
            with suppress(LedgerError):
                self._take(await asyncio.to_thread(self._read, tuple(self._watched)))
            await asyncio.sleep(self.pace.asked)

    def _read(self, watched: tuple[str, ...]) -> Mapping[str, _Told]:
        runs = [run for run in watched if run != EVERY_RUN]
        found = {run: _Told(*told) for run, told in (self.ledger.marks(runs) if runs else {}).items()}
        if EVERY_RUN in watched:
            found[EVERY_RUN] = _Told(self.ledger.newest_change())
        return found

    def _take(self, found: Mapping[str, _Told]) -> None:
        news = {run: told for run, told in found.items() if run in self._watched and self._marks.get(run) != told}
        if news:
            self._marks.update(news)
            self._changed.set()
            self._changed = asyncio.Event()


class EventStream(Response):
    """The answer that goes on until the run ends, the client leaves or the longest time is over."""

    def __init__(self, pulse: Pulse, run: str, seen: str) -> None:
        super().__init__()
        self._pulse, self._run, self._seen = pulse, run, seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
            # A proxy that gathers output would hold every event back.
            (b"x-accel-buffering", b"no"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        telling = asyncio.create_task(self._tell(send))
        leaving = asyncio.create_task(_left(receive))
        _, still = await asyncio.wait(
            (telling, leaving), timeout=self._pulse.pace.longest, return_when=asyncio.FIRST_COMPLETED
        )
        for task in still:
            task.cancel()
        await asyncio.gather(*still, return_exceptions=True)
        if telling.done() and not telling.cancelled() and (error := telling.exception()):
            raise error
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(self, send: Send) -> None:
        events = self._pulse.events(self._run, self._seen)
        try:
            async for event in events:
                await send({"type": "http.response.body", "body": event.encode(), "more_body": True})
        finally:
            await events.aclose()  # type: ignore[attr-defined]


async def _left(receive: Receive) -> None:
    message: Any = {"type": ""}
    while message["type"] != "http.disconnect":
        message = await receive()


