"""How long it takes until everything has arrived that was missed in an hour's outage, on the twin.

The clock of the twin and the mint runs ahead from one round to the next, as the rounds are due: `recovered_after` is on
that clock, and is bounded by what GitHub lets one ask for in a minute; `seconds_of_work` is what this machine took.
`python -m infra.bench.recovery [DELIVERIES]` prints it as JSON.
"""

import json
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from app.core.missed import ROUND
from app.ledger import migrate, open_ledger
from app.ledger.store import Ledger
from app.main import make_server, make_web
from app.settings import web_settings
from infra.twin.app_key import new_private_key, public_key_of
from infra.twin.twin import AppWish, Twin
from worker.github.app import AppIdentity
from worker.github.asking import ConnectionSettings
from worker.mint.catching_up import CatchingUp
from worker.mint.mint import Mint, Site

DELIVERIES = 1_000
OUTAGE = timedelta(hours=1)
SECRET = "only for this benchmark"
REPO = "acme/widgets"
NOBODY = "http://127.0.0.1:9/webhooks/github"


class Clock:
    """The twin's and the mint's, which runs ahead of this machine's."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin
        self._ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def until(self, then: datetime) -> None:
        """It is then, or was already."""
        self._ahead += max(then - self.now(), timedelta())
        self._twin.control.set_clock(self._ahead.total_seconds())


def missed(twin: Twin, clock: Clock, count: int) -> None:
    """So many comments over the time of the outage, of which nobody hears."""
    control = twin.control
    control.add_user("mira")
    control.add_repo(REPO, {"a.txt": "a\n"}, collaborators={"mira": "maintain"})
    control.install("acme")
    number = int(control.open_issue(REPO, "mira", "It is misspelt", "helo")["number"])
    control.settle()
    control.set_hook(NOBODY, SECRET)
    began = clock.now()
    for comment in range(count):
        clock.until(began + OUTAGE * comment / count)
        control.comment(REPO, number, f"/status {comment}", "mira")
    control.settle()
    clock.until(began + OUTAGE)


def recovery(count: int = DELIVERIES) -> dict[str, Any]:
    """The numbers of one outage."""
    with tempfile.TemporaryDirectory(prefix="countersign-bench-") as name:
        folder = Path(name)
        private = new_private_key()
        twin = Twin.start(folder / "twin", AppWish(public_key=public_key_of(private)))
        clock = Clock(twin)
        missed(twin, clock, count)
        env = {"GITHUB_WEBHOOK_SECRET": SECRET, "COUNTERSIGN_DATA_DIR": name, "PORT": "0"}
        settings = web_settings(env)
        migrate(settings.ledger.url)
        web = make_web(settings)
        server = make_server(settings, web.app)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        twin.control.set_hook(f"http://127.0.0.1:{port}/webhooks/github", SECRET)
        seconds = lambda: clock.now().timestamp()  # noqa: E731
        app_id, connections = str(twin.app.id), ConnectionSettings(write_gap_seconds=0.0)
        with AppIdentity(twin.url, app_id, private, seconds, connections) as identity:
            ledger = open_ledger(settings.ledger.url)
            mint = Mint(ledger, identity, Site(twin.url, connections), clock.now)
            numbers = _recovered(twin, clock, ledger, CatchingUp(ledger, mint, twin.url, clock.now))
            ledger.close()
        server.should_exit = True
        thread.join(20)
        web.ending.close()
        twin.stop()
        return {"missed": count} | numbers


def _recovered(twin: Twin, clock: Clock, ledger: Ledger, mint: CatchingUp) -> dict[str, Any]:
    began, began_here, rounds = clock.now(), time.monotonic(), 0
    while not rounds or ledger.missing():
        clock.until(ledger.due_at(ROUND) or clock.now())
        mint.round()
        twin.control.settle()
        rounds += 1
    log = [one["method"] for one in twin.control.journal() if one["path"].startswith("/app/hook/deliveries")]
    return {
        "received": ledger.counts()["deliveries"],
        "recovered_after": str(clock.now() - began).partition(".")[0],
        "rounds": rounds,
        "requests": {"log": log.count("GET"), "redelivery": log.count("POST")},
        "seconds_of_work": round(time.monotonic() - began_here, 1),
    }


if __name__ == "__main__":
    print(json.dumps(recovery(*map(int, sys.argv[1:2])), indent=2))
