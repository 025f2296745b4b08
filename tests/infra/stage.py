"""The topology of the Compose file as plain processes, each in a network namespace of its own.

Run as `unshare --user --map-root-user --net --mount python -m tests.infra.stage FOLDER`: every namespace, mount and
process is gone when it ends. A network of the file is a pair of linked interfaces; only the ways out and the front have
one more, into a world where GitHub, the model and documentation answer with TLS. It prints what was reached, as JSON.
"""

import ctypes
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import httpx

from app.ledger import migrate
from infra.twin.app_key import new_private_key, public_key_of
from infra.twin.control import TwinControl
from tests.fakes.greeting import FILES, ISSUE, SCRIPT
from tests.fakes.tls_front import TlsFront, pass_on, write_papers
from tests.infra.reading import ROOT, compose, interpolated

T = TypeVar("T")
WORLD, REPO, HOOK_SECRET = "world", "acme/greet", "a secret for the stage"
OUTSIDE = {f"{name}.test": f"198.18.0.{number}" for number, name in enumerate(("github", "models", "docs", "other"), 1)}
GIVEN = {
    "GITHUB_API_URL": "https://github.test", "ANTHROPIC_BASE_URL": "https://models.test",
    "COUNTERSIGN_DOCS_HOSTS": "docs.test", "COUNTERSIGN_EGRESS_NETWORKS": "198.18.0.0/15",
    "COUNTERSIGN_SWEEP_SECONDS": "0.5", "COUNTERSIGN_WATCH_SECONDS": "0.5", "GITHUB_APP_ID": "7",
    "GITHUB_CLIENT_ID": "Iv1.1", "COUNTERSIGN_URL": "https://countersign.test",
}  # fmt: skip
PORTS = {"postgres": 5432, "redis": 6379, "mint": 8010, "web": 8000}
NOT_PLAYED = ("migrate", "accounts")
PATIENCE_SECONDS = 150.0


@dataclass
class Stage:
    """Who is where: the addresses of each service, one in each of its networks, and the names that each knows."""

    folder: Path
    file: dict[str, Any] = field(default_factory=compose)
    addresses: dict[str, list[str]] = field(default_factory=dict)
    names: dict[str, dict[str, str]] = field(default_factory=dict)
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def services(self) -> list[str]:
        return [name for name in self.file["services"] if name not in NOT_PLAYED]

    def build(self) -> None:
        """Every namespace is there, linked as the file says and in no other way."""
        spaces = [*self.services, WORLD]
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
        Path("/run/netns").mkdir()
        lines = [f"netns add {name}" for name in spaces]
        inside: dict[str, list[str]] = {name: ["link set lo up"] for name in spaces}
        self.addresses = {name: [] for name in spaces}
        self.names = {name: {} for name in spaces}
        inside[WORLD] += [f"addr add {address}/32 dev lo" for address in OUTSIDE.values()]
        for number, (network, about) in enumerate(self.file["networks"].items()):
            members = [name for name in self.services if network in self.file["services"][name]["networks"]]
            pairs = [tuple(members)] if about.get("internal") else [(name, WORLD) for name in members]
            for at, pair in enumerate(one for one in pairs if len(one) == 2):
                place = f"198.18.{number + 1}" if about.get("internal") else f"198.19.{number * 8 + at}"
                ends = [f"n{number}x{at}{side}" for side in "ab"]
                lines.append(f"link add {ends[0]} netns {pair[0]} type veth peer name {ends[1]} netns {pair[1]}")
                for who, end, address in zip(pair, ends, (f"{place}.1", f"{place}.2"), strict=True):
                    inside[who] += [f"addr add {address}/24 dev {end}", f"link set {end} up"]
                    self.addresses[who].append(address)
                    self.names[pair[1] if who == pair[0] else pair[0]][who] = address
                if WORLD in pair:
                    inside[pair[0]].append(f"route add 198.18.0.0/24 via {place}.2")
                    self.names[pair[0]] |= OUTSIDE
        for name, commands in [("", lines), *inside.items()]:
            words = ["ip", *(["-n", name] if name else []), "-batch", "-"]
            subprocess.run(words, input="\n".join(commands), text=True, check=True)
        for name, known in self.names.items():
            told = "".join(f"{address} {one}\n" for one, address in {"localhost": "127.0.0.1", **known}.items())
            (self.folder / f"hosts-{name}").write_text(told)

    def start(self, name: str, words: list[str], env: Mapping[str, str]) -> None:
        """The program runs in the namespace, with its own idea of names and nothing in its environment but this."""
        hosts = self.folder / f"hosts-{name}"
        inner = f'mount --bind {hosts} /etc/hosts && exec "$@"'
        command = ["nsenter", f"--net=/run/netns/{name}", "unshare", "-m", "sh", "-ec", inner, "sh", *words]
        plain = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running.append(
                subprocess.Popen(command, env=plain | dict(env), stdout=log, stderr=log, cwd=self.folder)
            )

    def within(self, name: str, deed: Callable[[], T]) -> T:
        """What the deed gives, done by a thread that stands in the namespace; so do the threads that it starts."""
        given: list[T] = []
        failed: list[BaseException] = []

        def act() -> None:
            try:
                with Path(f"/run/netns/{name}").open() as space:
                    if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), 0x40000000) != 0:
                        raise OSError(ctypes.get_errno(), "setns")
                given.append(deed())
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=act)
        thread.start()
        thread.join()
        if failed:
            raise failed[0]
        return given[0]

    def environment(self, name: str, held: Mapping[str, str]) -> dict[str, str]:
        """What the file tells the service, its secrets lying in files of this folder."""
        told = self.file["services"][name]["environment"]
        env = {key: interpolated(value, GIVEN) for key, value in told.items()}
        place = self.folder / "secrets" / name
        place.mkdir(parents=True)
        for one in self.file["services"][name].get("secrets", []):
            variable = one["target"].rpartition("/")[2]
            (place / variable).write_text(held[variable])
        env = {key: value.replace("/secrets/", f"{place}/") for key, value in env.items()}
        return env | {"COUNTERSIGN_DATA_DIR": str(self.folder / "data" / name)}


def reached(stage: Stage) -> list[tuple[str, str]]:
    """Every pair of which one could connect to the other, where that one listens."""
    ports = PORTS | {name: 3128 for name in stage.services if name.startswith("egress-")} | {WORLD: 443}
    found = []
    for source in stage.services:
        for target, port in ports.items():
            there = [*stage.addresses[target], *(OUTSIDE.values() if target == WORLD else ())]
            tried = (stage.within(source, partial(_answers, one, port)) for one in there)
            if source != target and any(tried):
                found.append((source, target))
    return sorted(found)


def _answers(address: str, port: int) -> bool:
    with suppress(OSError), socket.create_connection((address, port), 2):
        return True
    return False


def led(stage: Stage, process: str) -> list[str]:
    """The hosts to which the way out of a process leads, asked from where that process stands."""

    def asked(host: str) -> bool:
        with socket.create_connection((stage.names[process][f"egress-{process}"], 3128), 5) as line:
            line.sendall(f"CONNECT {host}:443 HTTP/1.1\r\n\r\n".encode())
            return line.recv(100).startswith(b"HTTP/1.1 200")

    return [host for host in OUTSIDE if stage.within(process, partial(asked, host))]


def play(stage: Stage) -> dict[str, Any]:
    """The product starts, and a label becomes a plan's comment; then it is tried who reaches whom."""
    trusted, served = write_papers(stage.folder, list(OUTSIDE))
    control = _world(stage, served)
    _product(stage, trusted)
    _wait("the way in", lambda: _is_ready(stage), stage)
    stage.within(WORLD, lambda: control.label(REPO, 1, "countersign", "mira"))
    said = lambda: stage.within(WORLD, lambda: [one["body"] for one in control.comments(REPO, 1)])  # noqa: E731
    _wait("a plan", lambda: any("/approve" in body for body in said()), stage)
    egress = [name.removeprefix("egress-") for name in stage.services if name.startswith("egress-")]
    return {"reached": reached(stage), "led": {process: led(stage, process) for process in egress}}


def _world(stage: Stage, served: Path) -> TwinControl:
    private = new_private_key()
    (stage.folder / "key.pem").write_text(private)
    (stage.folder / "public.pem").write_text(public_key_of(private))
    (stage.folder / "script.yaml").write_text(json.dumps(SCRIPT))
    twin = ["-m", "infra.twin", "--port", "8080", "--data", "twin", "--app-id", "7", "--app-public-key", "public.pem"]
    stage.start(WORLD, [sys.executable, *twin], {})
    stage.start(WORLD, [sys.executable, "-m", "infra.scripted_model", "--port", "8081", "--script", "script.yaml"], {})
    control = TwinControl("http://127.0.0.1:8080")

    def furnish() -> None:
        for name, address in OUTSIDE.items():
            TlsFront(served, 8081 if name == "models.test" else 8080, (address, 443))
        for login in ("mira", "olga"):
            control.add_user(login)
        control.add_repo(REPO, FILES, collaborators={"mira": "maintain"})
        control.install("acme")
        control.open_issue(REPO, "olga", *ISSUE.split("\n", 1))
        control.set_hook(f"http://{stage.names[WORLD]['front']}:8000/webhooks/github", HOOK_SECRET)

    _wait("the world", lambda: all(_listens(stage, WORLD, port) for port in (8080, 8081)), stage)
    stage.within(WORLD, furnish)
    return control


def _product(stage: Stage, trusted: Path) -> None:
    word, url = secrets.token_hex(8), f"sqlite:///{stage.folder / 'ledger.db'}"
    migrate(url)
    credentials = {belt: secrets.token_hex(16) for belt in ("planner", "executor", "publisher")}
    held = {
        "DATABASE_URL": url, "CELERY_BROKER_URL": f"redis://:{word}@redis:6379/0", "ANTHROPIC_API_KEY": "a key",
        "GITHUB_WEBHOOK_SECRET": HOOK_SECRET, "GITHUB_WEBHOOK_SECRET_OLD": "",
        "GITHUB_CLIENT_SECRET": "a client's secret",
        "GITHUB_PRIVATE_KEY": (stage.folder / "key.pem").read_text(),
        **{f"COUNTERSIGN_MINT_CREDENTIAL_{belt.upper()}": value for belt, value in credentials.items()},
    }  # fmt: skip
    bare = ["redis-server", "--bind", "0.0.0.0", "--save", "", "--appendonly", "no", "--requirepass", word]
    stage.start("redis", bare, {})
    # Only whether it is reached counts: its database is a file here.
    stage.within("postgres", lambda: socket.create_server(("0.0.0.0", 5432)).detach())
    stage.within("front", lambda: _forward(8000, (stage.names["front"]["web"], 8000)))
    for name in stage.services:
        if "build" in stage.file["services"][name]:
            own = {"COUNTERSIGN_MINT_CREDENTIAL": credentials.get(name, "")}
            env = stage.environment(name, held | own) | {"SSL_CERT_FILE": str(trusted)}
            words = stage.file["services"][name]["command"]
            # What the command line would hand over to, without starting Python twice.
            entry = ["app.main"] if words == ["web"] else ["worker.main", *words]
            stage.start(name, [sys.executable, "-m", *entry], env)


def _forward(port: int, to: tuple[str, int]) -> None:
    """The front: whoever comes is handed on, from threads that stand where this one does."""
    listener = socket.create_server(("0.0.0.0", port))

    def serve() -> None:
        while True:
            client, _ = listener.accept()
            try:
                server = socket.create_connection(to, 10)
            except OSError:
                client.close()
                continue
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=pass_on, args=(source, target), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()


def _is_ready(stage: Stage) -> bool:
    def ask() -> bool:
        with suppress(httpx.HTTPError), httpx.Client(trust_env=False, timeout=5) as client:
            return client.get(f"http://{stage.names[WORLD]['front']}:8000/readyz").text == "ready\n"
        return False

    ears = [(name, 3128) for name in stage.services if name.startswith("egress-")] + [("mint", 8010)]
    return stage.within(WORLD, ask) and all(_listens(stage, name, port) for name, port in ears)


def _listens(stage: Stage, name: str, port: int) -> bool:
    return stage.within(name, partial(_answers, "127.0.0.1", port))


def _wait(what: str, true: Callable[[], object], stage: Stage) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not true():
        if time.monotonic() > deadline:
            logs = {path.name: path.read_text("utf-8", "replace")[-1200:] for path in stage.folder.glob("*.log")}
            raise TimeoutError(f"{what} did not come: {json.dumps(logs, indent=1)}")
        time.sleep(0.1)


def main() -> int:
    """Builds, plays and tells."""
    stage = Stage(Path(sys.argv[1]))
    try:
        stage.build()
        print(json.dumps(play(stage)))
    finally:
        for process in stage.running:
            process.send_signal(signal.SIGKILL)
            process.wait()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
