"""Turns at a ledger that does not answer: who waits gets an answer, and what is held stays within bounds."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from app.web.turns import Crowded, TooLate, Turns


def stuck(turns: Turns, answers: threading.Event, late: list[str], seconds: float = 0.05) -> Coroutine[Any, Any, str]:
    """One question of ten bytes, which is answered when `answers` is set."""

    def ask() -> str:
        answers.wait(20)
        return "recorded"

    return turns.take(ask, 10, asyncio.get_running_loop().time() + seconds, late.append)


def test_what_had_begun_comes_to_its_end_and_is_told_of_and_what_had_not_never_begins() -> None:
    async def course() -> None:
        turns, answers, late = Turns(at_once=1), threading.Event(), list[str]()
        both = await asyncio.gather(*(stuck(turns, answers, late) for _ in range(2)), return_exceptions=True)
        assert [type(one) for one in both] == [TooLate, TooLate]
        answers.set()
        assert await stuck(turns, answers, late, 20) == "recorded"
        assert late == ["recorded"]
        turns.close()

    asyncio.run(course())


def test_too_much_is_turned_away_at_once_and_there_is_room_again_when_the_ledger_answers() -> None:
    async def course() -> None:
        turns, answers, late = Turns(at_once=1, most_bytes=25), threading.Event(), list[str]()
        for _ in range(3):
            with pytest.raises(TooLate):
                await stuck(turns, answers, late)
        # The one that had begun holds its ten bytes; this one waits with another ten, and no third one may.
        waiting = asyncio.create_task(stuck(turns, answers, late, 20))
        await asyncio.sleep(0)
        with pytest.raises(Crowded):
            await stuck(turns, answers, late)
        answers.set()
        assert await waiting == "recorded"
        # One that is larger than all that may be held has its turn when nothing else is held.
        until = asyncio.get_running_loop().time() + 20
        assert await turns.take(lambda: "large", 1_000, until, late.append) == "large"
        turns.close()

    asyncio.run(course())


def test_what_the_ledger_raises_is_told_as_it_is() -> None:
    async def course() -> None:
        turns = Turns(at_once=1)
        until = asyncio.get_running_loop().time() + 20
        for error in (TimeoutError("of the ledger's own"), ValueError("x")):

            def fail(error: Exception = error) -> None:
                raise error

            with pytest.raises(type(error), match=str(error)):
                await turns.take(fail, 10, until, print)
        turns.close()

    asyncio.run(course())
