"""The servers that tests borrow: each test has its own emptiness, and nothing outlives its owner."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import redis

from tests.fakes import services

OwnRedis = Callable[..., services.Started]


def plain(url: str) -> str:
    return url.replace("postgresql+psycopg://", "postgresql://")


@pytest.mark.parametrize("turn", [1, 2])
def test_a_postgres_database_is_empty_at_each_start(postgres_url: str, turn: int) -> None:
    with psycopg.connect(plain(postgres_url)) as ledger:
        ledger.execute("CREATE TABLE facts (id int)")  # would fail had the other turn's database been handed out
        found = ledger.execute("SELECT count(*) FROM facts").fetchone()
    assert found == (0,), f"turn {turn}"


def test_two_databases_of_one_server_do_not_see_each_other(postgres_server: services.Started) -> None:
    with services.fresh_database(postgres_server) as one, services.fresh_database(postgres_server) as other:
        with psycopg.connect(plain(one)) as ledger:
            ledger.execute("CREATE TABLE facts (id int)")
        with psycopg.connect(plain(other)) as ledger, pytest.raises(psycopg.errors.UndefinedTable):
            ledger.execute("SELECT * FROM facts")


def test_a_database_is_dropped_even_when_somebody_is_still_in_it(postgres_server: services.Started) -> None:
    with services.fresh_database(postgres_server) as url:
        lingering = psycopg.connect(plain(url))
    with pytest.raises(psycopg.OperationalError):
        lingering.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(plain(url))


@pytest.mark.parametrize("turn", [1, 2])
def test_a_redis_database_is_empty_at_each_start(redis_url: str, turn: int) -> None:
    with redis.Redis.from_url(redis_url) as broker:
        assert broker.dbsize() == 0, f"turn {turn}"
        broker.set("left behind", "yes")


def test_the_ledger_url_names_both_databases(ledger_url: str, request: pytest.FixtureRequest) -> None:
    expected = {"sqlite": "sqlite:///", "postgresql": "postgresql+psycopg://"}
    assert ledger_url.startswith(expected[request.node.callspec.params["ledger_url"]])


def test_a_server_ends_when_its_owner_is_gone(redis_server: services.Started, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as owner:
        server = services.start_redis(tmp_path, owner.pid)
        assert services.is_running(server.keeper)
        owner.communicate(b"\n")
    deadline = time.monotonic() + 10
    while services.is_running(server.keeper) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not services.is_running(server.keeper)
    with pytest.raises(redis.ConnectionError):
        redis.Redis.from_url(server.url).ping()


def test_servers_of_a_session_are_started_once_and_ended_with_their_files(redis_server: services.Started) -> None:
    servers = services.new_servers()
    first, second = servers.redis(), servers.redis()
    assert first == second != redis_server
    servers.end()
    assert not services.is_running(first.keeper)
    assert not servers.room.exists()


def test_a_test_can_have_a_redis_of_its_own_with_its_own_settings(own_redis: OwnRedis) -> None:
    with redis.Redis.from_url(own_redis("--maxmemory", "64mb").url) as broker:
        assert broker.config_get("maxmemory") == {"maxmemory": str(64 * 1024 * 1024)}
