"""The whole product for a story: real HTTP, real git, a real ledger, the real mint; belts are cranked by hand.

Nothing of the product is replaced: the twin stands in for GitHub, the scripted model for the vendor's API, and
instead of seven processes their parts share one, so that a story can stage the order in which things happen. The
belts, the mint and the twin go by the house's clock, which a story can move.
"""

import functools
import socket
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from app.core.belts import Belt
from app.core.missed import ROUND
from app.core.run import State
from app.ledger import migrate, open_ledger
from app.ledger.outcomes import Claim, DebtView, RunView
from app.ledger.store import Ledger
from app.queue import Doorbell, make_celery
from app.settings import bounds_settings, web_settings
from infra.parts import MintPart, WebPart
from infra.scripted_model.server import ScriptedModel
from infra.twin.app_key import new_private_key, public_key_of
from infra.twin.twin import AppWish, Twin
from worker import tasks
from worker.github.app import AppIdentity
from worker.github.connection import ConnectionSettings
from worker.github.key import private_key_of
from worker.mint.caller import MintCaller
from worker.mint.catching_up import CatchingUp
from worker.mint.mint import Mint, Site
from worker.rereading import Rereading
from worker.settings import BeltSettings, belt_settings
from worker.shop import Shop
from worker.watching import Watch

SECRET = "a secret for stories"
REPO = "acme/greet"
SOON = timedelta(seconds=1)


@functools.cache
def app_key() -> tuple[str, str]:
    """The App's key pair for every story of this process: making one takes as long as half a story."""
    private = new_private_key()
    return private, public_key_of(private)


@functools.cache
def read_key(given: str) -> str:
    """The key as the mint's start reads it; once for every story, since the check of it takes long."""
    return private_key_of(given, "GITHUB_PRIVATE_KEY")


@functools.cache
def empty_ledger() -> bytes:
    """The file of a ledger that was migrated and holds nothing; every story begins with a copy."""
    with tempfile.TemporaryDirectory() as folder:
        migrate(f"sqlite:///{folder}/ledger.db")
        return Path(folder, "ledger.db").read_bytes()


def make_ledger(url: str) -> None:
    """There is a ledger of this version at the URL."""
    file = Path(url.removeprefix("sqlite:///"))
    if url.startswith("sqlite:///") and not file.exists():
        file.touch(mode=0o600)
        file.write_bytes(empty_ledger())
    else:
        migrate(url)


@dataclass(frozen=True)
class Furnishing:
    """What a story's world has of its own: further environment of the belts, and the form of the App's key."""

    env: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    fast: timedelta = timedelta()
    """How far this machine's clock is ahead of GitHub's."""
    lease: timedelta = timedelta(seconds=30)


PLAIN = Furnishing()


class House:
    """One story's world. `ledger_url` decides the database."""

    def __init__(
        self, folder: Path, ledger_url: str, script: Mapping[str, Any], furnishing: Furnishing = PLAIN
    ) -> None:
        self.folder = folder
        self.furnishing = furnishing
        self.ahead = timedelta()
        self.fast = furnishing.fast
        self.away: set[Belt] = set()
        """Belts whose process does not run now."""
        self.twin = Twin.start(folder / "twin", AppWish(public_key=app_key()[1]))
        self.control = self.twin.control
        self.model = ScriptedModel.start(script)
        self.env = {
            "GITHUB_API_URL": self.twin.url,
            "DATABASE_URL": ledger_url,
            "COUNTERSIGN_DATA_DIR": str(folder / "data"),
            **furnishing.env,
        }
        make_ledger(ledger_url)
        self.ledger = open_ledger(ledger_url)
        self._start_web()
        self.start_mint()

    def now(self) -> datetime:
        """The house's time."""
        return datetime.now(UTC) + self.ahead + self.fast

    def pass_time(self, time: timedelta) -> None:
        """Moves the clock of the belts, the mint and the twin."""
        self.ahead += time
        self.control.set_clock(self.ahead.total_seconds())

    def _start_web(self) -> None:
        self._web = WebPart(web_settings(self.env | {"GITHUB_WEBHOOK_SECRET": SECRET, "PORT": "0"}))
        self.web_url = self._web.url
        self.web_is_there()

    def web_is_there(self) -> None:
        """Deliveries reach the web process."""
        self.control.set_hook(f"{self.web_url}/webhooks/github", SECRET)

    def web_is_away(self) -> None:
        """Deliveries go to a port on which nobody listens."""
        self.control.set_hook("http://127.0.0.1:9/webhooks/github", SECRET)

    def start_mint(self) -> None:
        """The mint answers, and every belt has a line to it."""
        connections = ConnectionSettings(write_gap_seconds=0.0)
        key = read_key(self.furnishing.key or app_key()[0])
        app_id = str(self.twin.app.id)
        clock = lambda: self.now().timestamp()  # noqa: E731
        identity = AppIdentity(self.twin.url, app_id, key, clock, connections)
        identity.__enter__()
        site = Site(self.twin.url, connections, bounds_settings(self.env))
        ledger = self.ledger_of("mint")
        self.mint = Mint(ledger, identity, site, self.now)
        self._catching_up = CatchingUp(ledger, self.mint, self.twin.url, self.now)
        self._mint_part = MintPart(self.mint, identity)
        self.shops = {belt: self._shop(belt) for belt in Belt}
        self.watch = Watch(self.shops[Belt.PUBLISHER])

    def set_up_again(self, furnishing: Furnishing) -> None:
        """The belts and the mint are started again with another environment."""
        self.stop_mint()
        self.env = {name: value for name, value in self.env.items() if name not in self.furnishing.env}
        self.furnishing = furnishing
        self.env |= furnishing.env
        self.start_mint()

    def moves_to(self, ledger_url: str) -> None:
        """Every process is started again, on another ledger."""
        self.stop_mint()
        self._web.stop()
        self.ledger.close()
        self.env["DATABASE_URL"] = ledger_url
        self.ledger = open_ledger(ledger_url)
        self._start_web()
        self.start_mint()

    def stop_mint(self) -> None:
        """The mint ends every token and answers nobody any more; each belt's line is dead."""
        self.watch.close()
        self._mint_part.stop()

    def _shop(self, belt: Belt) -> Shop:
        env = self.env | {"COUNTERSIGN_MINT_FD": "3"}
        if belt is not Belt.PUBLISHER:
            env |= {"ANTHROPIC_API_KEY": "a key for stories", "ANTHROPIC_BASE_URL": self.model.url}
        settings = replace(belt_settings(belt, env), lease=self.furnishing.lease)
        line = self.line_of(belt, self._mint_part.line(belt))
        return Shop(settings, self.ledger_of(belt), self.doorbell_of(settings), line, self.now)

    # -- what a process has; worlds whose processes die give each its own ----------------------------------------

    def ledger_of(self, process: str) -> Ledger:
        """The ledger as this process (a belt or `mint`) holds it."""
        return self.ledger

    def doorbell_of(self, settings: BeltSettings) -> Doorbell:
        """A belt's way to ring the others."""
        return Doorbell(make_celery(settings.queue))

    def line_of(self, belt: Belt, sock: socket.socket) -> MintCaller:
        """A belt's line to the mint, over this socket."""
        return MintCaller(sock)

    # -- cranking ---------------------------------------------------------------------------------------------

    def crank(self) -> None:
        """Deliveries arrive and every belt works until nothing more is due."""
        for _ in range(100):
            self.control.settle()
            if not self.crank_once():
                return
        raise AssertionError(f"the belts do not come to rest: {self.ledger.debts()}")

    def crank_once(self, *belts: Belt) -> bool:
        """One round of these belts, or of all: whatever is due is done. False when nothing was."""
        busy = False
        for belt in [one for one in belts or Belt if one not in self.away]:
            for effect_id in self.ledger.owed(belt, self.now()):
                busy = True
                tasks.work(self.shops[belt], effect_id)
        return busy

    def does(self, debt: DebtView) -> None:
        """Exactly this is done now, whatever else is owed."""
        tasks.work(self.shops[debt.belt], debt.effect_id)

    def wait_out(self) -> None:
        """As `crank`; and what waits for a later time is waited for, on the house's clock."""
        for _ in range(30):
            self.crank()
            debts = self.ledger.debts()
            if not debts:
                return
            due = [max(at for at in (one.available_at, one.lease_until) if at is not None) for one in debts]
            self.pass_time(min(due) - self.now() + SOON)
        raise AssertionError(f"this waits for ever: {self.ledger.debts()}")

    def claim(self, kind: str) -> Claim:
        """A belt takes the oldest effect of this kind that is due, and is then left to itself."""
        debt = next(one for one in self.ledger.debts() if one.kind == kind)
        claim = self.ledger.claim(debt.effect_id, debt.belt, self.now(), self.furnishing.lease)
        assert isinstance(claim, Claim), claim
        return claim

    def sweep(self) -> None:
        """What beat's bell has the publisher do: it looks for thumbs and for what has expired."""
        self.pass_time(timedelta(seconds=self.shops[Belt.PUBLISHER].settings.watch_seconds))
        tasks.sweep(self.shops[Belt.PUBLISHER], self.watch)

    def catch_up(self, rounds: int = 1) -> None:
        """The mint looks for missed deliveries so often, each time as soon as it is due; what arrives is dealt with."""
        for _ in range(rounds):
            due = self.ledger.due_at(ROUND)
            self.pass_time(max((due or self.now()) - self.now(), SOON))
            self.looks_for_missed()
            self.crank()

    def looks_for_missed(self) -> None:
        """The mint looks for missed deliveries, if that is due."""
        self._catching_up.round()

    def reads_again(self) -> None:
        """The publisher has been started anew, and holds its open runs against what GitHub shows."""
        Rereading(self.shops[Belt.PUBLISHER], self.watch).look(self.now())
        self.crank()

    # -- looking ----------------------------------------------------------------------------------------------

    def view(self, number: int = 1) -> RunView:
        """The newest run of an issue."""
        repository_id = next(one.id for one in self.twin.forge.world.repos.values() if one.full_name == REPO)
        runs = [one for one in self.ledger.runs() if (one.repository_id, one.issue_number) == (repository_id, number)]
        assert runs, "no run was opened for this issue"
        view = self.ledger.run(runs[0].id)
        assert view is not None
        return view

    def state(self, number: int = 1) -> State:
        """Where the newest run of an issue stands."""
        return self.view(number).state

    def kinds(self, number: int = 1) -> list[str]:
        """The kinds of the run's facts, in order."""
        return [one.fact.kind for one in self.view(number).facts]

    # -- ending -----------------------------------------------------------------------------------------------

    def close(self) -> threading.Thread:
        """Nobody works any more and no token lives; the servers have ended once the thread has.

        Ending a server is mostly waiting, which the next story need not do.
        """
        self.stop_mint()
        ending = threading.Thread(target=self._end_servers, name="the end of a story")
        ending.start()
        return ending

    def _end_servers(self) -> None:
        ending = threading.Thread(target=self.twin.stop)
        ending.start()
        self.model.stop()
        self._web.stop()
        ending.join(20)
        self.ledger.close()
