"""What a delivery costs the product's receiver, against a bare ASGI application that only checks the signature.

All are processes of their own on the same core; the load comes from this one on another. Each round visits every
kind of delivery on each, the next round in reverse order, and the medians are compared: only the ratios mean
anything on another machine. `python -m infra.bench.receiver` prints them as JSON; `--postgres URL` measures the
receiver on that empty database as well, and `--probot FOLDER` a Probot application that does nothing with what it
gets, its modules being in that folder (`npm install probot`).
"""

import argparse
import asyncio
import hashlib
import hmac
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.ledger import migrate

SECRET = "only for this benchmark"
CONNECTIONS = 16
PATIENCE = 20.0
HERE = Path(__file__).resolve().parent

REQUESTS = {"ignored by name": 1500, "ignored by content": 1500, "accepted": 300, "accepted again": 300}
"""Kinds of delivery, and how many of each are sent per round."""

LABELS = {"countersign": 1, "bug": 2}
"""By id: a label of an id that was seen to trigger does so whatever it is called."""

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Server:
    """A receiver that is being measured."""

    name: str
    pid: int
    port: int

    def cpu_seconds(self) -> float:
        """User and system time of the process, all threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self) -> float:
        """Resident memory now."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def payload(number: int, label: str) -> bytes:
    """An `issues.labeled` of about 16 KB, of which the receiver reads a little, as with GitHub's own."""
    links = {f"{name}_url": f"https://github.test/acme/widgets/{name}/{{id}}{{/rest}}" * 2 for name in _names(80)}
    person = {"login": "mira", "id": 11, "type": "User", **dict(itertools.islice(links.items(), 18))}
    issue = {
        "id": 2_600_000_000 + number,
        "number": number,
        "title": "Sizes roll over too late",
        "body": "A megabyte is said to be 1000.0 kB. " * 90,
        "user": person,
        "state": "open",
        "labels": [{"id": LABELS[label], "name": label}],
    }
    return json.dumps(
        {
            "action": "labeled",
            "issue": issue | dict(itertools.islice(links.items(), 12)),
            "label": {"id": LABELS[label], "name": label},
            "repository": {"id": 501, "full_name": "acme/widgets", "owner": person, **links},
            "sender": person,
            "installation": {"id": 901},
        }
    ).encode()


def _names(count: int) -> list[str]:
    return [f"link{number}" for number in range(count)]


def requests(kind: str, count: int) -> list[bytes]:
    """Whole HTTP requests of one kind, each with a guid and a signature of its own."""
    event = "push" if kind == "ignored by name" else "issues"
    label = "bug" if kind == "ignored by content" else "countersign"
    made = []
    for _ in range(count):
        number = next(_numbers)
        body = payload(number, label)
        signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        head = (
            "POST /webhooks/github HTTP/1.1\r\nhost: receiver\r\ncontent-type: application/json\r\n"
            f"x-github-event: {event}\r\nx-github-delivery: bench-{number}\r\n"
            f"x-hub-signature-256: sha256={signature}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        made.append(head.encode() + body)
    return made


async def _send_all(port: int, waiting: Iterator[bytes]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for request in waiting:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 20"):
            raise AssertionError(f"a delivery was not taken: {head!r}")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
    writer.close()


async def _load(port: int, made: list[bytes]) -> None:
    waiting = iter(made)
    await asyncio.gather(*(_send_all(port, waiting) for _ in range(CONNECTIONS)))


def measure(server: Server, made: list[bytes]) -> dict[str, float]:
    """Microseconds of the server's CPU per delivery, and deliveries per second."""
    used, began = server.cpu_seconds(), time.perf_counter()
    asyncio.run(_load(server.port, made))
    seconds = time.perf_counter() - began
    return {
        "cpu_us": (server.cpu_seconds() - used) / len(made) * 1e6,
        "per_second": len(made) / seconds,
    }


@contextmanager
def started(name: str, command: list[str], env: dict[str, str], port: int) -> Iterator[Server]:
    """A server on the first core, once it answers."""
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
        until = time.monotonic() + PATIENCE
        while not _answers(port):
            if time.monotonic() > until or process.poll() is not None:
                raise RuntimeError(f"the {name} receiver did not start")
            time.sleep(0.05)
        yield Server(name, process.pid, port)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1)
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


@dataclass(frozen=True, slots=True)
class Peers:
    """What is measured beside the product on SQLite: an empty PostgreSQL database, a folder with Probot's modules."""

    postgres: str = ""
    probot: str = ""


@contextmanager
def servers(folder: Path, peers: Peers) -> Iterator[tuple[Server, ...]]:
    """The bare receiver, the product's with an empty ledger in `folder`, and the peers."""
    with ExitStack() as running:

        def start(name: str, command: list[str], **env: str) -> Server:
            port = _free_port()
            words = [word.replace("PORT", str(port)) for word in command]
            return running.enter_context(started(name, words, {**os.environ, "PORT": str(port), **env}, port))

        def product(name: str, url: str) -> Server:
            migrate(url)
            data = {"COUNTERSIGN_DATA_DIR": str(folder / name), "CELERY_BROKER_URL": "filesystem://"}
            words = [sys.executable, "-m", "app.main"]
            return start(name, words, GITHUB_WEBHOOK_SECRET=SECRET, DATABASE_URL=url, **data)

        found = [start("bare", [sys.executable, "-m", "infra.bench.bare", "PORT", SECRET])]
        found.append(product("sqlite", f"sqlite:///{folder / 'ledger.db'}"))
        if peers.postgres:
            found.append(product("postgresql", peers.postgres))
        if peers.probot:
            found.append(start("probot", ["node", str(HERE / "probot.mjs"), peers.probot, "PORT", SECRET]))
        yield tuple(found)


def compare(rounds: int, peers: Peers | None = None) -> dict[str, Any]:
    """For each kind of delivery: every receiver's medians, and their ratios to the bare one's."""
    seen: dict[str, dict[str, list[dict[str, float]]]] = {kind: {} for kind in REQUESTS}
    with tempfile.TemporaryDirectory() as folder, servers(Path(folder), peers or Peers()) as all_of_them:
        _move_away()
        for server in all_of_them:
            measure(server, requests("ignored by content", 200))
        order = [(kind, server) for kind in REQUESTS for server in all_of_them]
        for _ in range(rounds):
            fresh = {kind: requests(kind, count) for kind, count in REQUESTS.items()}
            fresh["accepted again"] = fresh["accepted"]
            # A delivery is sent again after it was sent first, whichever way the round goes.
            for kind, server in sorted(order, key=lambda step: step[0] == "accepted again"):
                seen[kind].setdefault(server.name, []).append(measure(server, fresh[kind]))
            order.reverse()
        memory = {server.name: round(server.resident_mb(), 1) for server in all_of_them}
    told = {kind: _told(by_name) for kind, by_name in seen.items()}
    return {"rounds": rounds, "connections": CONNECTIONS, "resident_mb": memory, "deliveries": told}


def _move_away() -> None:
    """This process leaves the first core to the servers, where there is another."""
    cores = os.sched_getaffinity(0)
    if len(cores) > 1:
        os.sched_setaffinity(0, cores - {min(cores)})


def _told(seen: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    medians = {
        name: {key: round(statistics.median(each[key] for each in rounds), 1) for key in ("cpu_us", "per_second")}
        for name, rounds in seen.items()
    }
    for one in medians.values():
        one["cpu_ratio"] = round(one["cpu_us"] / medians["bare"]["cpu_us"], 2)
        one["rate_ratio"] = round(one["per_second"] / medians["bare"]["per_second"], 3)
    return medians


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.bench.receiver", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--postgres", default="", metavar="URL")
    parser.add_argument("--probot", default="", metavar="FOLDER")
    asked = parser.parse_args()
    print(json.dumps(compare(asked.rounds, Peers(asked.postgres, asked.probot)), indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
