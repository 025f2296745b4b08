"""The receiver's questions to the ledger: in threads of which there are a few, within a time, and within memory.

A ledger that stands still keeps those threads, and what they hold, until it answers. Who comes meanwhile waits for a
turn as long as GitHub waits for its answer, and not at all where too much waits already.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class TooLate(Exception):
    """There was no answer in time. What had not begun will not begin; what had begun may still come to its end."""


class Crowded(Exception):
    """Too much waits for the ledger; nothing was begun."""


@dataclass(slots=True)
class Turns:
    """At most `at_once` questions are with the ledger, and all that are asked hold at most `most_bytes`."""

    at_once: int = 8
    """Fewer than the connections that this process may have: its pages ask as well."""
    most_bytes: int = 64 * 1024 * 1024
    _free: asyncio.Semaphore = field(init=False)
    _threads: ThreadPoolExecutor = field(init=False)
    _held: int = 0

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(self.at_once)
        self._threads = ThreadPoolExecutor(self.at_once, "turn")

    async def take(
        self, ask: Callable[[], _Result], size: int, until: float, late: Callable[[_Result], object]
    ) -> _Result:
        """What `ask` returned, or raised; `size` is what it holds, in bytes, and `until` a time of the running loop.

        Raises `TooLate` or `Crowded`. What comes after `TooLate` goes to `late`, unless it is an exception.
        """
        if self._held and self._held + size > self.most_bytes:
            raise Crowded
        self._held += size
        try:
            async with asyncio.timeout_at(until):
                await self._free.acquire()
        except BaseException as error:
            self._held -= size
            raise TooLate if isinstance(error, TimeoutError) else error from None
        going = asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, ask)
        going.add_done_callback(lambda _: self._over(size))
        try:
            async with asyncio.timeout_at(until):
                return await asyncio.shield(going)
        except TimeoutError:
            if going.done():
                raise
            going.add_done_callback(lambda done: _tell(done, late))
            raise TooLate from None

    def close(self) -> None:
        """Nothing is begun any more; what is with the ledger comes to its end."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _over(self, size: int) -> None:
        self._held -= size
        self._free.release()


def _tell(done: "asyncio.Future[Any]", late: Callable[[Any], object]) -> None:
    if not done.cancelled() and done.exception() is None:
        late(done.result())
