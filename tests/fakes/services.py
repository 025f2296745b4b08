"""PostgreSQL and Redis for tests: real servers, started on free loopback ports and ended with the test session.

One server of each kind serves all workers of a session; each test gets a database of its own. Nothing is
started before a test asks for it. A server also ends by itself when the process that owns it is gone.
"""

import fcntl
import functools
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 30.0
"""Seconds a server may take to answer for the first time, or to end."""

# Runs the server "$@" until it ends, the owner $1 is gone or TERM comes; $2 is the signal that ends the server.
# /proc is asked instead of `kill -0`, which may not look at a process of another account.
KEEPER = """
owner=$1 ending=$2; shift 2
"$@" & server=$!
over=
trap 'over=yes' TERM INT
while [ -z "$over" ] && [ -d "/proc/$owner" ] && kill -0 $server 2>/dev/null; do sleep 1 & nap=$!; wait $nap; done
kill $nap 2>/dev/null
kill -"$ending" $server 2>/dev/null
kill -CONT $server 2>/dev/null
wait
"""


class NotHere(Exception):
    """A server's binaries are not on this machine; the message is a sentence that says what to install."""


class WouldNotStart(Exception):
    """A server is installed and did not answer in time; the message ends with its own last words."""


@dataclass(frozen=True, slots=True)
class Started:
    """A server that answers at `url`; ending the process `keeper` ends it."""

    url: str
    keeper: int


def postgres_binaries() -> Path:
    """The folder that holds `initdb` and `postgres`: the newest version that Debian's packages left, or PATH's."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if versions:
        return versions[-1].parent
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    raise NotHere("PostgreSQL is not installed (apt-get install postgresql).")


def redis_binary() -> Path:
    """The Redis server's program."""
    if found := shutil.which("redis-server"):
        return Path(found)
    raise NotHere("Redis is not installed (apt-get install redis-server).")


def chromium_binary() -> Path:
    """A Chromium, the one without windows before any other."""
    for name in ("chromium-headless-shell", "chromium", "google-chrome-stable", "google-chrome"):
        if found := shutil.which(name):
            return Path(found)
    raise NotHere("Chromium is not installed (apt-get install chromium-headless-shell).")


@functools.cache
def why_no_namespaces() -> str:
    """Why bubblewrap cannot make namespaces here; empty when it can."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return "bubblewrap is not installed (apt-get install bubblewrap)."
    probe = [bwrap, "--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"]
    done = subprocess.run(probe, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return "" if done.returncode == 0 else f"bubblewrap cannot make namespaces here: {done.stderr.strip()}"


def free_port() -> int:
    """A loopback TCP port that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _unprivileged() -> pwd.struct_passwd:
    """Whom PostgreSQL runs as: it refuses to run as root, so there an account that owns nothing else is borrowed."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def _as_account(account: pwd.struct_passwd) -> dict[str, Any]:
    """What makes `subprocess` start a program under the account; nothing where we may not switch."""
    if os.geteuid() != 0:
        return {}
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


@dataclass(frozen=True, slots=True)
class Launch:
    """How one server is started: its command, the signal that ends it at once, its account and where it speaks."""

    command: list[str]
    ending: str
    log: Path
    account: pwd.struct_passwd


def _launch(launch: Launch, owner: int, answers: Callable[[], bool]) -> int:
    """Start a server under a keeper and wait until it answers; the keeper's process id."""
    with launch.log.open("wb") as log:
        keeper = subprocess.Popen(
            ["/bin/sh", "-c", KEEPER, "keeper", str(owner), launch.ending, *launch.command],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True,
            **_as_account(launch.account),
        )  # fmt: skip
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and keeper.poll() is None:
        if answers():
            return int(keeper.pid)
        time.sleep(0.02)
    end(keeper.pid)
    raise WouldNotStart(f"{launch.command[0]}: {launch.log.read_text(errors='replace')[-2000:]}")


def _twice(start: Callable[[], Started]) -> Started:
    """A free port can be taken between the look and the start; one more try settles that."""
    try:
        return start()
    except WouldNotStart:
        return start()


def start_postgres(room: Path, owner: int) -> Started:
    """A PostgreSQL server with its files in `room` (reachable for other accounts), ended when `owner` is gone.

    The URL names the superuser and the database `postgres`. Nothing is synced to disk.
    """
    binaries, account = postgres_binaries(), _unprivileged()
    home = Path(tempfile.mkdtemp(prefix="postgres-", dir=room))
    password = secrets.token_hex(12)
    (home / "password").write_text(password)
    for path in (home, home / "password"):
        os.chown(path, account.pw_uid, account.pw_gid)
    made = subprocess.run(
        [binaries / "initdb", "-D", home / "cluster", "-U", "countersign", "-A", "password",
         "--pwfile", home / "password", "-E", "UTF8", "--locale", "C", "--no-sync"],
        capture_output=True, text=True, cwd="/", check=False, **_as_account(account),
    )  # fmt: skip
    if made.returncode != 0:
        raise WouldNotStart(made.stderr)

    def start() -> Started:
        port = free_port()
        settings = {
            "listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": home, "max_connections": 200,
            "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off",
            "jit": "off", "shared_buffers": "64MB", "max_wal_size": "256MB",
        }  # fmt: skip
        command = [str(binaries / "postgres"), "-D", str(home / "cluster")]
        for name, setting in settings.items():
            command += ["-c", f"{name}={setting}"]
        url = f"postgresql://countersign:{password}@127.0.0.1:{port}/postgres"
        launch = Launch(command, "QUIT", room / "postgres.log", account)
        return Started(url, _launch(launch, owner, lambda: _postgres_answers(url)))

    return _twice(start)


def _postgres_answers(url: str) -> bool:
    import psycopg  # costs 20 MB, so only for who uses it

    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def start_redis(room: Path, owner: int, *settings: str, at: int | None = None) -> Started:
    """A Redis server on a free port, or again `at` this one, ended when `owner` is gone; `settings` are further
    command-line settings.

    It keeps nothing on disk unless told to. The URL names database 0 of 1024.
    """
    binary = redis_binary()

    def start() -> Started:
        port = at or free_port()
        command = [str(binary), "--bind", "127.0.0.1", "--port", str(port), "--dir", str(room), "--databases", "1024",
                   "--save", "", "--appendonly", "no", *settings]  # fmt: skip
        account = pwd.getpwuid(os.geteuid())
        launch = Launch(command, "TERM", room / f"redis-{port}.log", account)
        keeper = _launch(launch, owner, lambda: _redis_answers(port))
        return Started(f"redis://127.0.0.1:{port}/0", keeper)

    return _twice(start)


def _redis_answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as line:
            line.sendall(b"PING\r\n")
            return line.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def start_chromium(room: Path, owner: int) -> Started:
    """A headless Chromium under an account that owns nothing else; the URL is where one speaks CDP with it.

    It reaches nothing but what it is sent to: no update, no sync, no safe-browsing list.
    """
    account = _unprivileged()
    home = Path(tempfile.mkdtemp(prefix="chromium-", dir=room))
    os.chown(home, account.pw_uid, account.pw_gid)

    def start(*more: str) -> Started:
        port = free_port()
        command = [
            str(chromium_binary()), "--headless", "--disable-gpu", "--disable-background-networking", "--disable-sync",
            "--no-first-run", "--disable-quic", "--hide-scrollbars", "--disable-component-update",
            "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            f"--user-data-dir={home}", f"--remote-debugging-port={port}", *more,
        ]  # fmt: skip
        url = f"http://127.0.0.1:{port}"
        launch = Launch(["/usr/bin/env", f"HOME={home}", *command], "TERM", room / "chromium.log", account)
        return Started(url, _launch(launch, owner, lambda: _chromium_answers(url)))

    try:
        return start()
    except WouldNotStart:
        # Where no account may make namespaces it has no sandbox of its own either; it opens our pages alone.
        return start("--no-sandbox")


def _chromium_answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/json/version", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def is_running(pid: int) -> bool:
    """Whether the process still does anything: one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def end(keeper: int) -> None:
    """The keeper and its server are gone when this returns."""
    if is_running(keeper):
        os.kill(keeper, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE
    while is_running(keeper):
        if time.monotonic() > deadline:
            raise TimeoutError(f"Server keeper {keeper} did not end in {PATIENCE} s.")
        time.sleep(0.01)


@contextmanager
def paused(server: Started) -> Iterator[None]:
    """The server and all that it started stand still meanwhile: their kernel still takes what is sent to them."""
    stopped: list[int] = []
    # The keeper goes on, and so does the nap that it takes.
    waiting = [pid for pid in _children(server.keeper) if Path(f"/proc/{pid}/comm").read_text() != "sleep\n"]
    while waiting:
        pid = waiting.pop()
        # A parent before its children, so that none comes to be meanwhile.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)
        waiting += _children(pid)
    try:
        yield
    finally:
        for pid in reversed(stopped):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _children(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in children.read_text().split()] if children.exists() else []


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of one test session, shared by its workers through files in `room`."""

    room: Path
    owner: int

    def postgres(self) -> Started:
        """The session's PostgreSQL server, started by whoever asks first."""
        return self._shared("postgres", start_postgres)

    def redis(self) -> Started:
        """The session's Redis server, started by whoever asks first."""
        return self._shared("redis", start_redis)

    def chromium(self) -> Started:
        """The session's Chromium, started by whoever asks first."""
        return self._shared("chromium", start_chromium)

    def _shared(self, name: str, start: Callable[[Path, int], Started]) -> Started:
        record = self.room / f"{name}.json"
        with (self.room / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if record.exists():
                return Started(**json.loads(record.read_text()))
            started = start(self.room, self.owner)
            record.write_text(json.dumps({"url": started.url, "keeper": started.keeper}))
            return started

    def end(self) -> None:
        """Every server of the session is gone, and so are its files."""
        for record in self.room.glob("*.json"):
            end(int(json.loads(record.read_text())["keeper"]))
        shutil.rmtree(self.room)


def new_servers() -> Servers:
    """Servers of a session owned by this process; none runs yet. What sessions left that were killed is removed."""
    for left in Path(tempfile.gettempdir()).glob("countersign-tests-*-*"):
        if not Path("/proc", left.name.split("-")[2]).exists():
            shutil.rmtree(left, ignore_errors=True)
    room = Path(tempfile.mkdtemp(prefix=f"countersign-tests-{os.getpid()}-"))
    room.chmod(0o711)
    return Servers(room, os.getpid())


@contextmanager
def fresh_database(server: Started) -> Iterator[str]:
    """The URL (`postgresql+psycopg://…`) of a new, empty database, dropped afterwards with whoever is still in it."""
    import psycopg

    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"'.encode())
    yield server.url.replace("postgresql://", "postgresql+psycopg://").removesuffix("postgres") + name
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@contextmanager
def fresh_redis(server: Started) -> Iterator[str]:
    """The URL of a Redis database that no other test of the session uses; emptied before and afterwards."""
    import redis

    place = server.url.removesuffix("/0")
    with redis.Redis.from_url(server.url) as counter:
        number = int(str(counter.incr("databases handed out"))) % 1023 + 1
    with redis.Redis.from_url(f"{place}/{number}") as database:
        database.flushdb()
        yield f"{place}/{number}"
        database.flushdb()
