"""Days of money: what is held counts, what is settled counts at its price, and once."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

from app.core.days import DAYS_KEPT, Day, Held, Paid, day_of, days_read, days_written, next_day

HELD = Held("h1", "2026-11-30", Decimal("0.50"), 1)
OTHER = Held("h2", "2026-11-30", Decimal("0.25"), 1)


def test_what_is_held_takes_room_until_its_price_takes_its_place_once() -> None:
    day = Day(Decimal(1)).holding(HELD).holding(OTHER)
    assert day.taken == Decimal("1.75")
    assert day.has_room(Decimal("0.25"), Decimal(2)) and not day.has_room(Decimal("0.26"), Decimal(2))
    settled = day.settled(Paid(HELD, Decimal("0.10")))
    assert (settled.usd, settled.taken) == (Decimal("1.10"), Decimal("1.35"))
    assert settled.settled(Paid(HELD, Decimal("0.10"))) == settled


def test_what_nobody_settles_counts_to_the_end_of_its_day() -> None:
    days = days_read(days_written({HELD.day: Day().holding(HELD)}, HELD.day))
    assert days[HELD.day].taken == HELD.usd
    assert days.get("2026-12-01", Day()).taken == 0


def test_without_a_cap_there_is_room_for_everything() -> None:
    assert Day(Decimal(10**6)).has_room(Decimal(10**6), None)


def test_a_day_is_one_of_utc_and_the_next_one_begins_at_its_midnight() -> None:
    late = datetime(2026, 12, 1, 0, 30, tzinfo=timezone(timedelta(hours=2)))
    assert day_of(late) == "2026-11-30"
    assert next_day("2026-11-30") == datetime(2026, 12, 1, tzinfo=UTC)


def test_a_clock_that_ran_ahead_and_came_back_finds_todays_sum_again() -> None:
    """However many days of its own it began: else nothing would bound what today may cost."""
    ahead = {f"2027-06-{number:02}": Day(Decimal(1)) for number in range(1, 10)}
    days = {"2026-11-30": Day(Decimal(3)), **ahead}
    for at in days:
        assert days_read(days_written(days, at)) == days


def test_of_many_days_those_nearest_to_the_one_that_is_written_are_kept() -> None:
    first = date(2026, 1, 1)
    many = {(first + timedelta(days=number)).isoformat(): Day(Decimal(number)) for number in range(200)}
    for today in (first, first + timedelta(days=100), first + timedelta(days=199)):
        kept = [date.fromisoformat(one) for one in days_written(many, today.isoformat())]
        assert today in kept and len(kept) <= 2 * DAYS_KEPT
        assert all(abs(one - today) <= timedelta(days=DAYS_KEPT) for one in kept)
