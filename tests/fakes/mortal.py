"""Worlds in which a process dies at one of its writes: to the ledger, to the broker, or to GitHub.

A process that has died writes nothing any more, anywhere, and nothing of its memory is used again. The death comes
as an exception that nothing of the product holds; what the product does on its way out (gives a token back, settles)
meets the same death, as nothing of it would happen in a process that was killed.
"""

import re
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from app.core.belts import Belt
from app.ledger.engine import Database
from app.ledger.outcomes import DebtView
from app.ledger.store import Ledger
from app.queue import WORK, Doorbell, make_celery
from infra.twin.faults import Fault
from tests.fakes.household import SOON
from tests.fakes.story import Story
from worker import tasks
from worker.mint.caller import MintCaller
from worker.mint.wire import Answered, Asked
from worker.settings import BeltSettings
from worker.watching import Watch

Result = TypeVar("Result")

MINT = "mint"
LEDGER, BROKER, GITHUB = "ledger", "broker", "GitHub"
PLACES = (LEDGER, BROKER)
"""Where a process counts its writes itself. GitHub's own books count those that go there."""

_OF_MINT = r"(POST .*/access_tokens|DELETE .*/installation/token)$"
_OF_BELTS = r"^(POST|PATCH|PUT|DELETE) (?!.*(/access_tokens|/installation/token|/git-upload-pack)$)"


class Killed(SystemExit):
    """This process is gone. A thread ends by it without a word, and no `except Exception` holds it."""


@dataclass(frozen=True)
class Point:
    """A moment of death: before or after the so-manieth write (from 1) of this process to this place."""

    process: str
    place: str
    number: int
    after: bool

    def __str__(self) -> str:
        return f"the {self.process} dies {'after' if self.after else 'before'} write {self.number} to the {self.place}"


@dataclass
class Life:
    """The writes of one process, counted, and its death."""

    process: str
    silence: Callable[[], None]
    """Whatever the dead would ask of GitHub on its way out never reaches it."""
    end: Point | None = None
    writes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PLACES, 0))
    over: bool = False
    fault: Fault | None = None
    """The wire at which this life ends, where it ends on its way to GitHub."""

    def must_go_on(self) -> None:
        """Raises `Killed` in a process that is dead."""
        if self.over or (self.fault is not None and self.fault.hits):
            self._die()

    def write(self, place: str, do: Callable[[], Result]) -> Result:
        """Does it; or the process dies before it, or after it."""
        self.must_go_on()
        if threading.current_thread().name.startswith("lease of "):
            return do()  # comes by the clock, so it cannot be counted
        self.writes[place] += 1
        here = self.end is not None and (self.end.place, self.end.number) == (place, self.writes[place])
        if here and self.end is not None and not self.end.after:
            self._die()
        done = do()
        if here:
            self._die()
        return done

    def _die(self) -> None:
        if not self.over:
            self.over = True
            self.silence()
        raise Killed


class MortalDatabase(Database):
    """What was committed stays; what was not is gone."""

    def __init__(self, url: str, life: Life) -> None:
        super().__init__(url)
        self._life = life

    def writing(self, work: Callable[[Any], Result]) -> Result:
        write = super().writing
        return self._life.write(LEDGER, lambda: write(work))


class MortalDoorbell(Doorbell):
    """What was rung was rung."""

    def __init__(self, settings: BeltSettings, life: Life) -> None:
        super().__init__(make_celery(settings.queue))
        self._life = life

    def _send(self, task: str, belt: Belt, argument: int | str) -> bool:
        send = super()._send
        return self._life.write(BROKER, lambda: send(task, belt, argument))


class MortalLine(MintCaller):
    """A dead belt asks for nothing and gives nothing back."""

    def __init__(self, sock: socket.socket, life: Life) -> None:
        super().__init__(sock)
        self._life = life

    def _ask(self, asked: Asked) -> Answered:
        self._life.must_go_on()
        return super()._ask(asked)


class MortalStory(Story):
    """A story whose belts and mint live one life after another. Only one effect is done at a time."""

    # -- what a process has -----------------------------------------------------------------------------------

    @cached_property
    def lives(self) -> dict[str, Life]:
        """The present life of each process."""
        return {one: self._new_life(one) for one in (MINT, *Belt)}

    @cached_property
    def ledgers(self) -> dict[str, Ledger]:
        """The connections of each process."""
        return {}

    def _new_life(self, process: str) -> Life:
        def silence() -> None:
            self.twin.forge.faults.add({"pattern": _of(process), "mode": "drop", "times": None})

        return Life(process, silence)

    def ledger_of(self, process: str) -> Ledger:
        if process in self.ledgers:
            self.ledgers[process].close()
        self.ledgers[process] = Ledger(MortalDatabase(self.env["DATABASE_URL"], self.lives[process]))
        return self.ledgers[process]

    def doorbell_of(self, settings: BeltSettings) -> Doorbell:
        return MortalDoorbell(settings, self.lives[settings.belt])

    def line_of(self, belt: Belt, sock: socket.socket) -> MintCaller:
        return MortalLine(sock, self.lives[belt])

    # -- one effect -------------------------------------------------------------------------------------------

    def points_of(self, debt: DebtView) -> tuple[Point, ...]:
        """Does it undisturbed: every moment at which its belt, or the mint, can die before or after a write."""
        processes = (debt.belt.value, MINT)
        for process in processes:
            self.lives[process].writes = dict.fromkeys(PLACES, 0)
        since = len(self.control.journal())
        self.does(debt)
        asked = [f"{one['method']} {one['path']}" for one in self.control.journal()[since:]]
        points: list[Point] = []
        for process in processes:
            writes = self.lives[process].writes | {GITHUB: sum(bool(re.search(_of(process), one)) for one in asked)}
            for place, many in writes.items():
                points += [Point(process, place, at, after) for at in range(1, many + 1) for after in (False, True)]
        return tuple(points)

    def dies_in(self, debt: DebtView, point: Point) -> bool:
        """The effect is begun, and the process dies there; another takes its place. False where it did not come to
        that: the thread that keeps a lease also writes, by the clock, and then the effect has one write less."""
        life = self.lives[point.process]
        life.writes, life.end = dict.fromkeys(PLACES, 0), point
        if point.place == GITHUB:
            mode = "drop-after" if point.after else "drop"
            wire = {"pattern": _of(point.process), "skip": point.number - 1}
            life.fault = self.twin.forge.faults.add(wire | {"mode": mode})
            # A fault that was used up lets everything through again, and nothing more may come from the dead.
            self.twin.forge.faults.add(wire | {"mode": "drop", "times": None})
        with suppress(Killed):
            self.does(debt)
            life.must_go_on()
        if life.over:
            self._bury(point.process)
            self.lost_tokens()
            return True
        life.end = None
        self.twin.forge.faults.clear()
        return False

    def goes_on(self, debt: DebtView) -> None:
        """What rang before the death is heard, twice; then what is owed is looked for, until this effect is settled."""
        for effect_id in self._heard(debt.belt) * 2:
            if effect_id == debt.effect_id:
                self.does(debt)
        for _ in range(8):
            owed = [one for one in self.ledger.debts() if one.effect_id == debt.effect_id]
            if not owed:
                return
            due = [at for at in (owed[0].available_at, owed[0].lease_until) if at is not None]
            if due and max(due) > self.now():
                self.pass_time(max(due) - self.now() + SOON)
            assert debt.effect_id in self.ledger.owed(debt.belt, self.now())
            self.does(debt)
        raise AssertionError(f"this is never settled: {owed}")

    def hears(self, belt: Belt, effect_id: int) -> None:
        """A bell, once more."""
        tasks.work(self.shops[belt], effect_id)

    def lost_tokens(self) -> list[dict[str, Any]]:
        """The tokens that live although nothing is being done; the ledger names each."""
        now = self.now().timestamp()
        living = [one for one in self.control.tokens() if not one["revoked"] and one["expires"] > now]
        named = (*self.ledger.live_mints(self.now()), *self.ledger.unfinished_mints(self.now()))
        assert len(living) <= len(named), "a token lives that the ledger does not name"
        return living

    def _bury(self, process: str) -> None:
        """Its memory and its connections are gone; whoever was connected notices. Another life begins."""
        if process == MINT:
            self._lose_lines(*Belt)
            self._mint_part.dies()
        else:
            self._lose_lines(Belt(process))
        self.twin.forge.faults.clear()
        self.lives[process] = self._new_life(process)
        if process == MINT:
            self.start_mint()
        else:
            self.shops[Belt(process)] = self._shop(Belt(process))
            self.watch = Watch(self.shops[Belt.PUBLISHER])

    def _lose_lines(self, *belts: Belt) -> None:
        for belt in belts:
            sock = self.shops[belt].mint._sock
            if sock is not None:
                sock.shutdown(socket.SHUT_RDWR)
        for thread in threading.enumerate():
            if thread.name.startswith("line ") and thread.name.endswith(belts):
                thread.join(20)

    def _heard(self, belt: Belt) -> list[int]:
        """The bells for work that wait at the broker; they do so no more."""
        heard: list[int] = []
        with self.shops[belt].doorbell._celery.connection_for_read() as connection:
            channel = connection.default_channel
            while (message := channel.basic_get(belt.value, no_ack=True)) is not None:
                if message.headers["task"] == WORK:
                    heard.append(message.payload[0][0])
        return heard


def _of(process: str) -> str:
    return _OF_MINT if process == MINT else _OF_BELTS
