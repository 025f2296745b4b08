"""Gaps: what nobody will tell any more, with room at both ends; which setting of a label lies in one."""

from datetime import UTC, datetime, timedelta

import pytest

from app.core.gap import EDGE, Gap, gap_before, gap_of_lost
from worker.github.views import Account, LabelView, TimelineEvent
from worker.late_labels import last_setting
from worker.mint.surveying import Search, Survey

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
GAP = Gap(NOW - 5 * DAY, NOW - 3 * DAY)


def test_a_gap_lies_between_the_last_look_and_the_end_of_the_log_where_there_was_a_look() -> None:
    assert gap_before(NOW - 5 * DAY, NOW - 3 * DAY) == GAP
    assert gap_before(None, NOW) is None
    assert gap_before(NOW, NOW) is None and gap_before(NOW, NOW - DAY) is None


def test_what_was_given_up_happened_before_its_last_attempt_and_not_longer_ago_than_two_logs_reach() -> None:
    assert gap_of_lost((), DAY) is None
    assert gap_of_lost((NOW, NOW - DAY), 3 * DAY) == Gap(NOW - 7 * DAY, NOW)


def test_two_gaps_are_searched_with_what_lies_between() -> None:
    other = Gap(NOW - 2 * DAY, NOW - DAY)
    assert GAP.joined(None) == GAP
    assert GAP.joined(other) == other.joined(GAP) == Gap(GAP.since, other.until)


INSIDE = [GAP.since - EDGE, GAP.since, GAP.since + DAY, GAP.until, GAP.until + EDGE]
OUTSIDE = [GAP.since - EDGE - SECOND, GAP.until + EDGE + SECOND]


@pytest.mark.parametrize("at", [*INSIDE, *OUTSIDE])
def test_a_label_is_taken_where_it_was_set_last_in_the_gap(at: datetime) -> None:
    happened = [label("countersign", at - DAY, 1), label("bug", at, 2), label("Countersign", at, 3)]
    found = last_setting(happened, ["countersign", ""], GAP)
    assert (found and found.id) == (3 if at in INSIDE else None)


def test_a_label_that_was_set_anew_since_or_never_under_that_name_is_not_taken() -> None:
    inside = label("countersign", GAP.since, 1)
    assert last_setting([inside, label("countersign", NOW, 2)], ["countersign"], GAP) is None
    assert last_setting([inside], ["plan this"], GAP) is None
    # The label is called otherwise today, and was known by its name of then.
    assert last_setting([inside], ["plan this", "countersign"], GAP) is inside
    off = TimelineEvent("unlabeled", 2, None, GAP.since, LabelView("countersign"))
    assert last_setting([off, TimelineEvent("commented", 3)], ["countersign"], GAP) is None


@pytest.mark.parametrize(
    "search",
    [
        Search(),
        Search(gap=GAP, begun_at=NOW),
        Search(survey=Survey(GAP), given_up_until=NOW),
        Search(GAP, Survey(GAP.joined(Gap(NOW, NOW)), 3, 4, "https://api.example.com/x?page=2"), NOW, NOW - DAY),
    ],
)
def test_how_a_search_stands_is_read_as_it_was_written(search: Search) -> None:
    assert Search.read(search.written()) == search


def label(name: str, at: datetime, number: int) -> TimelineEvent:
    return TimelineEvent("labeled", number, Account(7, "mira"), at, LabelView(name))
