"""Which deliveries were missed: by guid, whatever the code of an attempt, and never one that may be under way."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.missed import FOLLOWED, IN_FLIGHT, LONGEST_PAUSE, Attempt, kept_for, pause_after, reaches_back, tidings
from app.web.intake import READERS

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
STATUSES = ("OK", "timed out", "failed to connect to host", "Invalid HTTP Response: 503", "pending")


def attempt(number: int, guid: str, seconds_ago: float, status: str = "timed out", event: str = "issues") -> Attempt:
    return Attempt(number, guid, NOW - timedelta(seconds=seconds_ago), event, "labeled", status)


def test_missed_is_each_guid_without_one_good_attempt_by_its_newest() -> None:
    told = tidings(
        [
            attempt(9, "late", 60, "OK"),
            attempt(8, "lost", 120, "failed to connect to host"),
            attempt(7, "lost", 500),
            attempt(6, "late", 540, "Invalid HTTP Response: 502"),
            attempt(5, "fine", 600, "OK"),
            attempt(4, "odd", 720, "a status of tomorrow"),
        ],
        NOW,
    )
    assert [(one.guid, one.id) for one in told.missed] == [("odd", 4), ("lost", 8)]
    assert told.arrived == {"late", "fine"}


def test_what_may_be_under_way_and_what_nobody_follows_is_not_missed() -> None:
    young = IN_FLIGHT.total_seconds() - 1
    assert tidings([attempt(1, "a", young), attempt(2, "b", 600, event="push")], NOW).missed == ()
    assert [one.guid for one in tidings([attempt(1, "a", young + 1)], NOW).missed] == ["a"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(STATUSES), st.integers(40, 99)), max_size=12))
def test_in_whatever_order_the_log_tells_it_the_tidings_are_the_same(log: list[tuple[str, str, int]]) -> None:
    attempts = [attempt(number, guid, ago, status) for number, (guid, status, ago) in enumerate(log)]
    told, turned = tidings(attempts, NOW), tidings(reversed(attempts), NOW)
    assert told == turned
    assert told.arrived.isdisjoint(one.guid for one in told.missed)
    assert {one.guid for one in attempts} == told.arrived | {one.guid for one in told.missed}


def test_the_pauses_grow_to_a_quarter_of_a_day() -> None:
    pauses = [pause_after(asked) for asked in range(1, 15)]
    assert pauses[:3] == [timedelta(minutes=1), timedelta(minutes=2), timedelta(minutes=4)]
    assert pauses == sorted(pauses) and pauses[-1] == LONGEST_PAUSE
    assert sum(pauses, timedelta()) > timedelta(days=1)


@pytest.mark.parametrize(
    ("url", "days"),
    [
        ("https://api.github.com", 3), ("https://api.acme.ghe.com", 3), ("https://git.acme.example/api/v3/", 7),
        ("http://127.0.0.1:1", 3),
    ],
)  # fmt: skip
def test_a_server_keeps_its_log_for_longer(url: str, days: int) -> None:
    assert kept_for(url) == timedelta(days=days)


def test_the_events_that_are_followed_are_those_that_are_read() -> None:
    assert READERS.keys() == FOLLOWED


def test_the_log_reaches_back_by_its_own_time_where_our_clock_says_later() -> None:
    day = timedelta(days=1)
    now = datetime(2026, 3, 1, tzinfo=UTC)
    for newest, oldest in ((None, now - 3 * day), (now + day, now - 3 * day), (now - 9 * day, now - 12 * day)):
        assert reaches_back(now, newest, 3 * day) == oldest
