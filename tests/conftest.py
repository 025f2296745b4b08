"""What every test may ask for: an empty database on PostgreSQL or SQLite, an empty Redis; and how a test is left out.

A test is left out only when something is missing on the machine. It is then named at the end, with the reason; in
CI it fails instead.
"""

import logging
import os
import random
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

from tests.fakes import services

SERVERS = pytest.StashKey[services.Servers]()
SEED_IN_CI = 1
"""As with the examples of properties: there a change alone makes a difference, and chance does elsewhere."""


def in_ci() -> bool:
    """Whether nothing may be left out."""
    return os.environ.get("CI", "").lower() in {"1", "true"}


def leave_out(reason: str) -> None:
    """Skip the running test with a reason; in CI fail it."""
    if in_ci():
        pytest.fail(f"In CI nothing may be left out: {reason}", pytrace=False)
    pytest.skip(reason)


# Explaining a failure can take longer than the whole suite, and a test's own time limit does not stop it. In CI the
# same examples are tried each time; elsewhere new ones are.
without_explaining = (Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink)
settings.register_profile("house", deadline=None, phases=without_explaining, derandomize=in_ci())
settings.load_profile("house")


def pytest_addoption(parser: pytest.Parser) -> None:
    ours = parser.getgroup("countersign")
    ours.addoption("--seed", type=int, help="what is chosen by chance is chosen as in the run that told this number")
    ours.addoption("--seconds", type=float, help="a soak of so many seconds; without it short forms run")
    databases = ("sqlite", "postgresql")
    ours.addoption("--database", choices=databases, default="sqlite", help="where stories run that name no database")


def pytest_configure(config: pytest.Config) -> None:
    given = getattr(config, "workerinput", None)
    if given is not None:
        config.option.seed = given["seed"]
    elif config.option.seed is None:
        config.option.seed = SEED_IN_CI if in_ci() else random.randrange(10**6)
    if given is None:
        config.stash[SERVERS] = services.new_servers()
    else:
        config.stash[SERVERS] = services.Servers(Path(given["servers_room"]), given["servers_owner"])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker where the session's servers are, and the seed: all of them have the one that is told."""
    servers = node.config.stash[SERVERS]
    node.workerinput.update(servers_room=str(servers.room), servers_owner=servers.owner, seed=node.config.option.seed)


def pytest_unconfigure(config: pytest.Config) -> None:
    if SERVERS in config.stash and not hasattr(config, "workerinput"):
        config.stash[SERVERS].end()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("needs_userns") and (reason := services.why_no_namespaces()):
        leave_out(reason)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a session that left anything out has failed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and in_ci() and reporter.stats.get("skipped") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name what was left out, grouped by reason; and the seed."""
    terminalreporter.write_line(f"seed {terminalreporter.config.option.seed}")
    reasons: dict[str, int] = {}
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        reasons[reason] = reasons.get(reason, 0) + 1
    if reasons:
        terminalreporter.section("In CI this is a failure: left out" if in_ci() else "left out")
        for reason, count in sorted(reasons.items()):
            terminalreporter.write_line(f"{count} test{'s' if count > 1 else ''} left out: {reason}")


def _started(start: Callable[[], services.Started]) -> services.Started:
    try:
        return start()
    except services.NotHere as absent:
        leave_out(str(absent))
        raise


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> services.Started:
    """The session's PostgreSQL server; its URL is the superuser's."""
    return _started(pytestconfig.stash[SERVERS].postgres)


@pytest.fixture(scope="session")
def redis_server(pytestconfig: pytest.Config) -> services.Started:
    """The session's Redis server; tests of theirs want `redis_url` instead."""
    return _started(pytestconfig.stash[SERVERS].redis)


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """A command that a test runs in this process sets up its logs for this process; with the test that is over."""
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    hooks = sys.excepthook, sys.unraisablehook, threading.excepthook
    yield
    for one in [one for one in root.handlers if one not in handlers]:
        root.removeHandler(one)
    root.setLevel(level)
    sys.excepthook, sys.unraisablehook, threading.excepthook = hooks


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """What a test chooses by: the same again with the same `--seed`."""
    return random.Random(f"{request.config.option.seed} {request.node.name}")


@pytest.fixture
def soak_seconds(request: pytest.FixtureRequest) -> float | None:
    """How long the long form of a test may take, of all together; None for the short form."""
    seconds: float | None = request.config.option.seconds
    soaking = sum("soak_seconds" in getattr(item, "fixturenames", ()) for item in request.session.items)
    return None if seconds is None else seconds / soaking


@pytest.fixture
def postgres_url(postgres_server: services.Started) -> Iterator[str]:
    """The URL (`postgresql+psycopg://…`) of an empty PostgreSQL database that is this test's own."""
    with services.fresh_database(postgres_server) as url:
        yield url


@pytest.fixture
def redis_url(redis_server: services.Started) -> Iterator[str]:
    """The URL of an empty Redis database that is this test's own."""
    with services.fresh_redis(redis_server) as url:
        yield url


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[Callable[..., services.Started]]:
    """Starts a Redis server for this test alone, with further command-line settings; it may be ended early."""
    running: list[services.Started] = []

    def start(*settings: str) -> services.Started:
        running.append(_started(lambda: services.start_redis(tmp_path, os.getpid(), *settings)))
        return running[-1]

    yield start
    for server in running:
        services.end(server.keeper)


@pytest.fixture(scope="session")
def own_postgres() -> Iterator[services.Started]:
    """A PostgreSQL server for those tests of this worker that stop it with `services.paused`."""
    room = Path(tempfile.mkdtemp(prefix=f"countersign-tests-{os.getpid()}-"))
    room.chmod(0o711)
    server = _started(lambda: services.start_postgres(room, os.getpid()))
    yield server
    services.end(server.keeper)
    shutil.rmtree(room)


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, once as an SQLite file and once on PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url
