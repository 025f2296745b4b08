"""The whole product for a story: real HTTP, real git, a real ledger, the real mint; belts are cranked by hand.

Nothing of the product is replaced: the twin stands in for GitHub, the scripted model for the vendor's API, and
instead of seven processes their parts share one, so that a story can stage the order in which things happen.
"""

import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from app.core.belts import Belt
from app.core.run import State
from app.ledger import migrate, open_ledger
from app.ledger.outcomes import RunView
from app.main import make_server, make_web
from app.queue import Doorbell, make_celery
from app.settings import web_settings
from infra.scripted_model.server import ScriptedModel
from infra.twin.twin import Twin
from worker import tasks
from worker.github.app import AppIdentity
from worker.github.connection import ConnectionSettings
from worker.mint.caller import MintCaller
from worker.mint.mint import Mint
from worker.mint.serve import MintServer
from worker.settings import belt_settings
from worker.shop import Shop, now
from worker.watching import Watch

SECRET = "a secret for stories"
REPO = "acme/greet"


class House:
    """One story's world. `ledger_url` decides the database."""

    def __init__(self, folder: Path, ledger_url: str, script: Mapping[str, Any]) -> None:
        self.folder = folder
        self.twin = Twin.start(folder / "twin")
        self.control = self.twin.control
        self.model = ScriptedModel.start(script)
        self.env = {
            "GITHUB_API_URL": self.twin.url,
            "DATABASE_URL": ledger_url,
            "COUNTERSIGN_DATA_DIR": str(folder / "data"),
            "COUNTERSIGN_WATCH_SECONDS": "0.05",
        }
        migrate(ledger_url)
        self.ledger = open_ledger(ledger_url)
        self._web = make_web(web_settings(self.env | {"GITHUB_WEBHOOK_SECRET": SECRET, "PORT": "0"}))
        self._server = make_server(
            web_settings(self.env | {"GITHUB_WEBHOOK_SECRET": SECRET, "PORT": "0"}), self._web.app
        )
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.web_url = f"http://127.0.0.1:{port}"
        self.control.set_hook(f"{self.web_url}/webhooks/github", SECRET)
        self._start_mint()
        self.shops = {belt: self._shop(belt) for belt in Belt}
        self.watch = Watch(self.shops[Belt.PUBLISHER])

    def _start_mint(self) -> None:
        connections = ConnectionSettings(write_gap_seconds=0.0)
        key = self.twin.private_key or ""
        self._identity = AppIdentity(self.twin.url, str(self.twin.app.id), key, settings=connections)
        self._identity.__enter__()
        self.mint = Mint(self.ledger, self._identity, self.twin.url, connections)
        self._mint_server = MintServer(self.mint)
        self._lines, theirs = socket.socketpair()
        self._mint_server.take_lines(theirs.detach())

    def _shop(self, belt: Belt) -> Shop:
        ours, theirs = socket.socketpair()
        socket.send_fds(self._lines, [belt.value.encode()], [theirs.fileno()])
        theirs.close()
        env = self.env | {"COUNTERSIGN_MINT_FD": "3"}
        if belt is not Belt.PUBLISHER:
            env |= {"ANTHROPIC_API_KEY": "a key for stories", "ANTHROPIC_BASE_URL": self.model.url}
        settings = replace(belt_settings(belt, env), lease=timedelta(seconds=30))
        celery = make_celery(settings.queue)
        return Shop(settings, self.ledger, Doorbell(celery), MintCaller(ours))

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
        for belt in belts or tuple(Belt):
            for effect_id in self.ledger.owed(belt, now()):
                busy = True
                tasks.work(self.shops[belt], effect_id)
        return busy

    def look_for_thumbs(self) -> None:
        """What beat's sweep has the publisher do."""
        time.sleep(0.06)
        tasks.sweep(self.shops[Belt.PUBLISHER], self.watch)

    # -- looking ----------------------------------------------------------------------------------------------

    def view(self, number: int = 1, repo: str = REPO) -> RunView:
        """The newest run of an issue."""
        repository_id = self._repository_id(repo)
        runs = [one for one in self.ledger.runs() if (one.repository_id, one.issue_number) == (repository_id, number)]
        assert runs, "no run was opened for this issue"
        view = self.ledger.run(runs[0].id)
        assert view is not None
        return view

    def state(self, number: int = 1) -> State:
        return self.view(number).state

    def said(self, number: int = 1) -> list[str]:
        """The bodies of our comments on an issue, oldest first, without their markers."""
        bot = f"{self.twin.app.slug}[bot]"
        comments = self.control.comments(REPO, number)
        return [_plain(one["body"]) for one in comments if one["user"]["login"] == bot]

    def plan_comment(self, number: int = 1) -> dict[str, Any]:
        """The newest plan comment."""
        found = [one for one in self.control.comments(REPO, number) if one["body"].startswith("### Plan, version")]
        assert found, "no plan was posted"
        return dict(found[-1])

    def kinds(self, number: int = 1) -> list[str]:
        """The kinds of the run's facts, in order."""
        return [one.fact.kind for one in self.view(number).facts]

    def _repository_id(self, repo: str) -> int:
        return next(one.id for one in self.twin.forge.world.repos.values() if one.full_name == repo)

    # -- ending -----------------------------------------------------------------------------------------------

    def assert_at_rest(self) -> None:
        """Nothing is owed, and no token lives."""
        assert self.ledger.debts() == ()
        self.watch.close()
        living = [one for one in self.control.tokens() if not one["revoked"]]
        assert living == []
        assert self.ledger.live_mints(now()) == ()

    def close(self) -> None:
        self.watch.close()
        self._mint_server.stop()
        self.mint.end_all()
        self._identity.__exit__(None, None, None)
        self._server.should_exit = True
        self._thread.join(20)
        self._web.ending.close()
        self.ledger.close()
        self.model.stop()
        self.twin.stop()


def _plain(body: str) -> str:
    return body.partition("<!-- countersign")[0].strip()
