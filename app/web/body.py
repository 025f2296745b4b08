"""The body of a delivery while it comes in: counted, signed as it passes, and held only within bounds.

What a stranger sends is held before its signature can be known, so memory is bounded over all requests together:
each may hold a little, and only a few at a time may hold more.
"""

import asyncio
import hashlib
import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much and how long a delivery may be."""

    body_bytes: int = 25 * 1024 * 1024
    """GitHub sends no payload over 25 MB (github-facts 13)."""
    small_bytes: int = 64 * 1024
    """What each request may hold without waiting for a seat. Most deliveries are smaller."""
    middle_bytes: int = 1024 * 1024
    middle_bodies: int = 32
    """How many requests may hold more than a small body at the same time, up to a middle one."""
    large_bodies: int = 2
    """How many requests may hold more than a middle body at the same time."""
    seconds: float = 10.0
    """From the request's head to the body's end, waiting included; GitHub itself gives up after 10 s (12)."""
    answer_seconds: float = 9.0
    """From the request's head to its answer, whatever the ledger does: sooner than GitHub gives up."""
    linger_seconds: float = 2.0
    """How long a refused body is read on, unkept, so that its sender gets to see the answer."""
    linger_bytes: int = 1024 * 1024
    """How much of it is read on at most."""


LIMITS = Limits()


class TooLarge(Exception):
    """The body is over the limit."""


class TooSlow(Exception):
    """The body did not end within its time."""


class NoRoom(Exception):
    """Too many large bodies are coming in at once; the same delivery would be taken later."""


class Gone(Exception):
    """The sender closed the connection before the body's end."""


@dataclass(slots=True)
class Intaken:
    """A whole body, and its HMAC-SHA256 under each accepted secret, as ASCII hex."""

    body: bytes
    signatures: tuple[bytes, ...]


@dataclass(slots=True)
class BodyReader:
    """Reads bodies for one process; its seats are shared by all requests."""

    secrets: tuple[bytes, ...]
    limits: Limits = LIMITS
    _middle: asyncio.Semaphore = field(init=False)
    _large: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._middle = asyncio.Semaphore(self.limits.middle_bodies)
        self._large = asyncio.Semaphore(self.limits.large_bodies)

    async def read(self, receive: Receive, declared: int | None) -> Intaken:
        """The body. Raises TooLarge, TooSlow, NoRoom or Gone; nothing of the body is kept then.

        `declared` is what Content-Length says: enough to refuse, never enough to believe (WH-03).
        """
        if declared is not None and declared > self.limits.body_bytes:
            raise TooLarge
        middle, large = _Seat(self._middle), _Seat(self._large)
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self._take(receive, middle, large)
        except TimeoutError as late:
            raise (NoRoom if middle.waited or large.waited else TooSlow) from late
        finally:
            middle.leave()
            large.leave()

    async def _take(self, receive: Receive, middle: "_Seat", large: "_Seat") -> Intaken:
        macs = [hmac.new(secret, digestmod=hashlib.sha256) for secret in self.secrets]
        # One buffer, and no list of pieces: of tiny pieces such a list would take many times what is in them.
        held = bytearray()
        more = True
        while more:
            chunk, more = await _next(receive)
            size = len(held) + len(chunk)
            if size > self.limits.body_bytes:
                raise TooLarge
            if size > self.limits.middle_bytes:
                await large.take()
                middle.leave()
            elif size > self.limits.small_bytes:
                await middle.take()
            for mac in macs:
                mac.update(chunk)
            held += chunk
        return Intaken(bytes(held), tuple(mac.hexdigest().encode() for mac in macs))

    async def pour_away(self, receive: Receive) -> None:
        """Read on without keeping anything, for a short while: an answer sent on a connection that is then closed
        over unread bytes may never reach the sender."""
        try:
            async with asyncio.timeout(self.limits.linger_seconds):
                more, left = True, self.limits.linger_bytes
                while more and left > 0:
                    chunk, more = await _next(receive)
                    left -= len(chunk)
        except (TimeoutError, Gone):
            pass


async def _next(receive: Receive) -> tuple[bytes, bool]:
    """The next piece of the body, and whether more is to come."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Gone
    return message.get("body", b""), message.get("more_body", False)


class _Seat:
    """One request's place among the larger bodies; taken at most once and always given back."""

    def __init__(self, seats: asyncio.Semaphore) -> None:
        self._seats = seats
        self._taken = False
        self.waited = False
        """Whether it had to wait at all: then its time was not its own."""

    async def take(self) -> None:
        if not self._taken:
            self.waited = self._seats.locked()
            await self._seats.acquire()
            self._taken = True

    def leave(self) -> None:
        if self._taken:
            self._taken = False
            self._seats.release()
