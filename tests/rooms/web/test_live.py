"""Live updates: what changed is told once to all who look on, what was missed is caught up with, and streams end."""

import dataclasses
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import httpx
import pytest

from app.core.facts import IssueEnd, IssueEnded
from app.settings import web_settings
from app.web.live import Pace
from tests.fakes.facts import MIRA, START, a_request, labelled
from tests.rooms.web.conftest import PATIENCE, Door, running
from tests.rooms.web.test_pages import opened

QUICK = Pace(asked=0.02, heartbeat=0.2, longest=30.0, again=0.1, most=3)


@pytest.fixture
def quick(env: dict[str, str]) -> Iterator[Door]:
    """A web process that looks often, and lets three look on."""
    with running(web_settings(env), pace=QUICK) as door:
        yield door


@contextmanager
def following(door: Door, path: str, seen: str | None = None) -> Iterator[Iterator[str]]:
    """The lines of a stream, as they come; `seen` is the id of the last event that came before."""
    headers = {"last-event-id": seen} if seen is not None else {}
    client = httpx.Client(timeout=PATIENCE, cookies=door.client.cookies)
    with client, client.stream("GET", door.url + path, headers=headers) as answer:
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        yield answer.iter_lines()


def event(lines: Iterator[str]) -> tuple[str, str]:
    """Name and id of the next event; heartbeats are passed over."""
    name = id = ""
    for line in lines:
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        if field == "id":
            id = value
        if not line and name:
            return name, id
    return "nothing more", ""


def test_a_run_that_is_told_something_is_told_to_who_looks_and_its_end_ends_the_stream(quick: Door) -> None:
    run = opened(quick.ledger, labelled())
    with following(quick, f"/runs/{run}/live") as lines:
        name, first = event(lines)
        assert name == "changed"
        quick.ledger.record(run, IssueEnded(at=START, how=IssueEnd.CLOSED, person=MIRA))
        assert event(lines)[0] == "changed"
        assert event(lines)[0] == "end"
        assert event(lines)[0] == "nothing more"
    assert first.startswith("1-")


def test_who_comes_again_is_told_what_was_missed_and_nothing_that_was_seen(quick: Door) -> None:
    run = opened(quick.ledger, labelled())
    with following(quick, f"/runs/{run}/live") as lines:
        _, seen = event(lines)
    with following(quick, f"/runs/{run}/live", seen) as lines:
        # A heartbeat comes and no event: what was seen is not told again.
        assert next(line for line in lines if line and not line.startswith("retry")) == ": still here"
    quick.ledger.record(run, IssueEnded(at=START, how=IssueEnd.CLOSED, person=MIRA))
    with following(quick, f"/runs/{run}/live", seen) as lines:
        assert event(lines)[0] == "changed"


def test_the_page_says_as_of_when_it_is_so_that_nothing_falls_between_it_and_its_stream(quick: Door) -> None:
    run = opened(quick.ledger, labelled())
    page = quick.client.get(f"{quick.url}/runs/{run}").text
    address = page.partition('data-live="')[2].partition('"')[0]
    quick.ledger.record(run, IssueEnded(at=START, how=IssueEnd.CLOSED, person=MIRA))
    with following(quick, address) as lines:
        assert event(lines)[0] == "changed"
    assert "data-live" not in quick.client.get(f"{quick.url}/runs/{run}").text


def test_lists_are_told_of_a_new_run(quick: Door) -> None:
    with following(quick, "/live") as lines:
        assert event(lines)[0] == "changed"
        opened(quick.ledger, labelled(a_request("r-000002", 8), START + timedelta(hours=1)))
        assert event(lines)[0] == "changed"


def test_no_more_look_on_than_may_and_a_place_that_is_left_is_free_again(quick: Door) -> None:
    with ExitStack() as crowd:
        held = [crowd.enter_context(following(quick, "/live")) for _ in range(QUICK.most)]
        assert [event(lines)[0] for lines in held] == ["changed"] * QUICK.most
        refused = quick.client.get(f"{quick.url}/live")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "60")
        assert quick.client.get(f"{quick.url}/healthz").status_code == 200
    until = time.monotonic() + PATIENCE
    while True:
        with quick.client.stream("GET", f"{quick.url}/live") as answer:
            if answer.status_code == 200:
                break
        assert time.monotonic() < until, "no place became free"
        time.sleep(0.05)


def test_a_run_that_is_not_there_has_no_stream(quick: Door) -> None:
    assert quick.client.get(f"{quick.url}/runs/r-nobody/live").status_code == 404


def test_a_stream_is_ended_after_its_longest_time_and_by_the_end_of_the_process(
    env: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    short = dataclasses.replace(QUICK, longest=0.3)
    with running(web_settings(env), pace=short) as door, following(door, "/live") as lines:
        told = list(lines)
        assert told[0].startswith("retry")
    ended = threading.Event()

    def follow(door: Door) -> None:
        try:
            with following(door, "/live") as lines:
                for _ in lines:
                    begun.set()
        except httpx.HTTPError:
            pass
        ended.set()

    begun = threading.Event()
    with running(web_settings(env), pace=QUICK) as door:
        threading.Thread(target=follow, args=(door,), daemon=True).start()
        assert begun.wait(PATIENCE)
    assert ended.wait(PATIENCE)
    # A stream that went on would have held the process up for all of its grace, and then been cut off.
    assert "graceful shutdown exceeded" not in caplog.text
