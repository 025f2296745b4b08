"""Pace: what GitHub allows in a minute and in an hour is never passed, and a wrong clock stops nobody."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from app.core.belts import EffectKind
from app.core.pacing import AT_ONCE, EACH, LONGEST_PAUSE, PIECES, Pace
from tests.fakes.facts import START

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@given(st.lists(st.tuples(st.sampled_from(list(PIECES)), st.integers(0, 40)), min_size=200, max_size=600))
def test_whatever_is_asked_for_neither_80_in_a_minute_nor_500_in_an_hour_are_created(
    asked: list[tuple[EffectKind, int]],
) -> None:
    """github-facts 165."""
    pace, now, begun = Pace(), START, []
    for kind, seconds in asked:
        now += timedelta(seconds=seconds)
        now = pace.not_before(kind, now) or now
        assert pace.not_before(kind, now) is None
        pace = pace.after(kind, now)
        begun += [now] * PIECES[kind]
    for span, most in ((MINUTE, 80), (HOUR, 500)):
        assert all(sum(at <= one < at + span for one in begun) <= most for at in set(begun))


def test_what_creates_nothing_does_not_wait_for_what_does() -> None:
    pace = Pace(used_until=START + AT_ONCE * EACH)
    assert pace.not_before(EffectKind.SAY, START) == START + 2 * EACH
    assert pace.not_before(EffectKind.DRAFT_PLAN, START) is None
    assert pace.after(EffectKind.DRAFT_PLAN, START) == pace


def test_a_pause_is_for_everything_and_ends() -> None:
    pace = Pace(paused_until=START + HOUR)
    assert all(pace.not_before(kind, START) == START + HOUR for kind in EffectKind)
    assert all(pace.not_before(kind, START + HOUR) is None for kind in EffectKind)


def test_what_a_clock_that_was_a_day_ahead_left_behind_stops_nobody() -> None:
    tomorrow = START + timedelta(days=1)
    pace = Pace(tomorrow, tomorrow)
    assert all(pace.not_before(kind, START) is None for kind in EffectKind)
    assert pace.after(EffectKind.SAY, START).used_until == START + 2 * EACH
    assert Pace(paused_until=START + LONGEST_PAUSE).not_before(EffectKind.EXECUTE, START) == START + LONGEST_PAUSE
