"""A connection never repeats a write, never follows one elsewhere, never waits long, and keeps its credential."""

import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from app.ledger import migrate, open_ledger
from tests.rooms.github.conftest import CANARY, FAST, Answer, Wire
from worker.github import errors
from worker.github.connection import (
    Anonymous,
    Connection,
    ConnectionSettings,
    InstallationToken,
    Request,
    connect,
    graphql_address,
)
from worker.github.limit import SharedLimit
from worker.github.place import Place, segments
from worker.github.views import RepositoryRef, RepositoryView

ROOT = Path(__file__).parents[3]
POST = Request("POST", "/repos/mira/humanize/issues/7/comments", body={"body": "x"}, expected=(201,))


def test_a_write_that_meets_a_server_error_is_sent_once(wire: Wire, connection: Connection) -> None:
    wire.prepare("POST " + POST.path, (502, {"message": "Server Error"}), (201, {}))
    with pytest.raises(errors.Broken) as caught:
        connection.create(POST)
    assert caught.value.maybe_done
    assert len(wire.asked) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_write_is_not_sent_on_to_where_a_thing_moved(wire: Wire, connection: Connection, status: int) -> None:
    elsewhere = {"Location": "{url}/repositories/5/issues/9/comments"}
    wire.prepare("POST " + POST.path, Answer(status, {}, elsewhere))
    wire.prepare("GET /repositories/5/issues/9/comments", (200, []))
    with pytest.raises(errors.Moved) as caught:
        connection.create(POST)
    assert caught.value.location.endswith("/repositories/5/issues/9/comments")
    assert len(wire.asked) == 1


def test_a_create_answered_200_is_not_taken_for_created(wire: Wire, connection: Connection) -> None:
    wire.prepare("POST " + POST.path, (200, []))
    with pytest.raises(errors.NotUnderstood) as caught:
        connection.create(POST)
    assert caught.value.maybe_done


def test_a_slow_answer_ends_in_time_and_a_write_may_have_happened(wire: Wire) -> None:
    wire.prepare("POST " + POST.path, Answer(201, {}, hold=1.0))
    wire.prepare("GET /app", Answer(200, {}, hold=1.0))
    quick = ConnectionSettings(read_seconds=0.2, write_gap_seconds=0)
    with connect(wire.url, InstallationToken(CANARY), quick) as opened:
        started = time.monotonic()
        with pytest.raises(errors.TimedOut) as written:
            opened.create(POST)
        with pytest.raises(errors.TimedOut) as read:
            opened.get("/app")
        assert time.monotonic() - started < 1.0
    assert written.value.maybe_done and not read.value.maybe_done
    assert len(wire.asked) == 2


def test_a_dropped_connection_may_have_written_and_a_closed_door_has_not(wire: Wire, connection: Connection) -> None:
    wire.prepare("POST " + POST.path, Answer(drop=True))
    with pytest.raises(errors.Unreachable) as dropped:
        connection.create(POST)
    assert dropped.value.maybe_done
    nowhere = connect("http://127.0.0.1:9", InstallationToken(CANARY), FAST)
    with nowhere, pytest.raises(errors.Unreachable) as closed:
        nowhere.create(POST)
    assert not closed.value.maybe_done


def test_a_limit_does_not_make_the_worker_sleep(wire: Wire, connection: Connection) -> None:
    reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 3000)}
    wire.prepare("GET /app", Answer(403, {"message": "API rate limit exceeded"}, reset))
    started = time.monotonic()
    with pytest.raises(errors.RateLimited):
        connection.get("/app")
    assert time.monotonic() - started < 1


def test_content_is_created_with_a_pause_between_and_reading_goes_on(wire: Wire) -> None:
    wire.prepare("POST " + POST.path, (201, {"id": 1}))
    wire.prepare("GET /app", (200, {}))
    gap = ConnectionSettings(write_gap_seconds=0.3)
    with (
        connect(wire.url, InstallationToken(CANARY), gap, installation_id=5) as one,
        connect(wire.url, InstallationToken(CANARY), gap, installation_id=5) as same,
        connect(wire.url, InstallationToken(CANARY), gap, installation_id=6) as another,
    ):
        one.create(POST)
        started = time.monotonic()
        one.get("/app")
        one.write(POST)
        another.create(POST)
        assert time.monotonic() - started < 0.25
        same.create(POST)
        assert time.monotonic() - started >= 0.29


def test_content_is_created_with_a_pause_after_that_of_another_process_too(wire: Wire, tmp_path: Path) -> None:
    wire.prepare("POST " + POST.path, (201, {"id": 1}))
    gap = ConnectionSettings(write_gap_seconds=0.3)
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    migrate(url)
    with closing(open_ledger(url)) as ours, closing(open_ledger(url)) as theirs:
        limit = SharedLimit(ours, 7, ours.clock)
        with connect(wire.url, InstallationToken(CANARY), gap, installation_id=7, limit=limit) as line:
            asked = theirs.clock()
            theirs.turn(7, asked, timedelta(seconds=0.3))
            line.create(POST)
            assert theirs.clock() - asked >= timedelta(seconds=0.3)


def test_every_request_names_its_version_and_carries_the_token_and_no_cache_answers(
    wire: Wire, connection: Connection
) -> None:
    wire.prepare("GET /app", Answer(200, {"n": 1}, {"ETag": '"a"', "Cache-Control": "private, max-age=60"}))
    connection.get("/app")
    connection.get("/app")
    assert len(wire.asked) == 2
    for asked in wire.asked:
        assert asked.headers["x-github-api-version"] == "2022-11-28"
        assert asked.headers["authorization"] == f"Bearer {CANARY}"
        assert asked.headers["user-agent"] == "countersign"
        assert "if-none-match" not in asked.headers
    assert CANARY not in repr(connection) + repr(InstallationToken(CANARY))


def test_without_a_credential_none_is_sent(wire: Wire) -> None:
    wire.prepare("GET /users/mira", (200, {}))
    with connect(wire.url, Anonymous(), FAST) as opened:
        opened.get("/users/mira")
    assert "authorization" not in wire.asked[0].headers


def test_an_aged_token_is_renewed_once_and_the_call_is_done(wire: Wire) -> None:
    asked: list[str] = []

    def again() -> str:
        asked.append("again")
        return "second"

    wire.prepare("POST " + POST.path, (401, {"message": "Bad credentials"}), (201, {"id": 1}))
    with connect(wire.url, InstallationToken("first", again), FAST) as opened:
        assert opened.create(POST) == {"id": 1}
    assert [request.headers["authorization"] for request in wire.asked] == ["Bearer first", "Bearer second"]
    assert asked == ["again"]


def test_a_token_that_stays_refused_is_no_loop(wire: Wire) -> None:
    wire.prepare("GET /app", (401, {"message": "Bad credentials"}))
    renewals = iter(["second", "third"])
    with connect(wire.url, InstallationToken("first", lambda: next(renewals)), FAST) as opened:
        for _ in range(2):
            with pytest.raises(errors.Unauthorized):
                opened.get("/app")
    assert len(wire.asked) == 3
    assert next(renewals) == "third"


def test_pages_follow_the_links_and_stop(wire: Wire, connection: Connection) -> None:
    following = {"Link": '<{url}/page2?page=2&per_page=100>; rel="next", <{url}/page9>; rel="last"'}
    wire.prepare("GET /things", Answer(200, [1], following))
    wire.prepare("GET /page2", (200, [2]))
    assert list(connection.pages("/things")) == [[1], [2]]
    assert wire.asked[0].query == {"per_page": "100"} and wire.asked[1].query["page"] == "2"


def test_the_token_is_never_sent_to_another_host(wire: Wire, other_wire: Wire, connection: Connection) -> None:
    wire.prepare("GET /things", Answer(200, [1], {"Link": f'<{other_wire.url}/page2>; rel="next"'}))
    with pytest.raises(errors.Moved):
        list(connection.pages("/things"))
    wire.prepare("GET /repos/mira/humanize", Answer(301, {}, {"Location": other_wire.url + "/repositories/77"}))
    with pytest.raises(errors.Moved):
        Place(connection, RepositoryRef(77, "mira/humanize")).one(RepositoryView, "")
    assert other_wire.asked == []


def test_a_renamed_repository_is_still_read_and_another_one_is_not(wire: Wire, connection: Connection) -> None:
    place = Place(connection, RepositoryRef(77, "mira/old-name"))
    shown = {"id": 77, "full_name": "mira/new-name", "default_branch": "trunk"}
    wire.prepare("GET /repos/mira/old-name", Answer(301, {}, {"Location": "{url}/repositories/77"}))
    wire.prepare("GET /repositories/77", (200, shown))
    assert place.one(RepositoryView, "").full_name == "mira/new-name"
    for foreign in (
        "/repositories/770/issues/7",
        "/repositories/8/issues/7",
        "/repositories/77/../8/issues/7",
        "/repositories/77/%2e%2e/8",
    ):
        wire.prepare("GET /repos/mira/old-name/issues/7", Answer(301, {}, {"Location": "{url}" + foreign}))
        with pytest.raises(errors.Moved):
            place.get("/issues/7")
    assert len(wire.asked) == 6


def test_enterprise_addresses_keep_their_path(wire: Wire) -> None:
    wire.prepare("GET /api/v3/app", (200, {"id": 1}))
    wire.prepare("POST /api/graphql", (200, {"data": {}}))
    with connect(wire.url + "/api/v3/", InstallationToken(CANARY), FAST) as opened:
        assert opened.get("/app") == {"id": 1}
        assert opened.graphql("query { viewer { login } }", {}) == {}


@pytest.mark.parametrize(
    ("api_url", "expected"),
    [
        ("https://api.github.com", "https://api.github.com/graphql"),
        ("https://api.acme.ghe.com/", "https://api.acme.ghe.com/graphql"),
        ("https://git.acme.example/api/v3", "https://git.acme.example/api/graphql"),
        ("https://git.acme.example/api/v3/", "https://git.acme.example/api/graphql"),
    ],
)
def test_graphql_lives_where_each_kind_of_server_keeps_it(api_url: str, expected: str) -> None:
    assert graphql_address(api_url) == expected


def test_one_connection_serves_several_threads(wire: Wire, connection: Connection) -> None:
    wire.prepare("GET /app", (200, {"id": 1}))
    answers: list[object] = []
    threads = [threading.Thread(target=lambda: answers.append(connection.get("/app"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    connection.get("/app")
    assert answers == [{"id": 1}] * 4
    assert len({asked.port for asked in wire.asked}) == 1


def test_a_lone_surrogate_in_a_text_does_not_break_the_call(wire: Wire, connection: Connection) -> None:
    wire.prepare("POST /x", (201, {"id": 1}))
    assert connection.write(Request("POST", "/x", body={"body": "a\ud800b"})) == {"id": 1}


@pytest.mark.parametrize("path", ["", "a//b", "../x", "a/../../x", "a/.", "/a"])
def test_no_name_leaves_its_place_in_a_path(path: str) -> None:
    with pytest.raises(ValueError, match="segment"):
        segments(path)


def test_names_with_marks_are_quoted(wire: Wire, connection: Connection) -> None:
    assert segments("docs/a#b?c%2e d/ü") == "docs/a%23b%3Fc%252e%20d/%C3%BC"


def test_nothing_heavy_is_loaded_before_the_first_connection() -> None:
    code = "import sys, worker.github, worker.github.reader, worker.github.writer; print(sorted(m for m in sys.modules if m in ('githubkit', 'httpx', 'jwt')))"  # noqa: E501
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
