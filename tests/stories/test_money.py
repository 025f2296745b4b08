"""Money: what a day may cost holds, what does not fit waits and says so, and what may have been billed is counted."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.core.belts import Belt
from app.core.run import Closed, Published
from app.core.span import Span, SpanKind
from tests.fakes.greeting import SCRIPT, calls, planning, script
from tests.fakes.household import Furnishing
from tests.fakes.story import Story
from tests.stories.conftest import MakeStory

pytestmark = pytest.mark.needs_userns

REPOSITORY = "COUNTERSIGN_REPOSITORY_DAY_USD"
WHOLE = "COUNTERSIGN_DAY_USD"


def told(make_story: MakeStory, caps: Mapping[str, str], script: Mapping[str, Any] = SCRIPT) -> Story:
    """A story that begins at noon of the next day."""
    story = make_story(script, furnishing=Furnishing(env=caps))
    story.pass_time(next_morning(story) + timedelta(hours=12))
    return story


def written(setting: str) -> str:
    """A setting's name as Markdown has it."""
    return setting.replace("_", "\\_")


def next_morning(story: Story) -> timedelta:
    tomorrow = (story.now() + timedelta(days=1)).date()
    return datetime(tomorrow.year, tomorrow.month, tomorrow.day, 0, 1, tzinfo=UTC) - story.now()


def spent_elsewhere(story: Story, usd: Decimal) -> None:
    """Another run of the repository has had a model's reply."""
    span = Span(
        run=story.view().id,
        belt=Belt.PLANNER,
        kind=SpanKind.MODEL,
        name="planner",
        usd=usd,
        outcome="ok",
        began_at=story.now(),
        seconds=1.0,
    )
    story.ledger.add_spans([span])


def test_a_day_that_is_spent_parks_a_run_before_it_asks_says_so_once_and_can_be_cancelled(
    make_story: MakeStory,
) -> None:
    story = told(make_story, {REPOSITORY: "1.00"})
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/reject")
    story.read_status("Ended (rejected)")
    asked = len(story.model.requests)
    story.mira.unlabels()
    story.mira.labels()
    words = story.read_status(
        "does not go on now (day spent)", "1.00 for this repository", written(REPOSITORY), "/cancel"
    )
    assert "by itself at 20" in words and "00:00 UTC" in words
    # Sweeps and hours change nothing, and say nothing more.
    for _ in range(2):
        story.pass_time(timedelta(minutes=1))
        story.sweep()
        story.crank()
    assert story.kinds().count("stalled") == 1
    story.mira.says("/cancel")
    story.wait_out()
    assert len(story.model.requests) == asked
    story.ends(Closed, "Ended (cancelled)")


def test_with_a_new_day_an_execution_goes_on_behind_the_steps_that_are_paid(make_story: MakeStory) -> None:
    """The reviewer's model is a dear one: for it the day has no room any more when the steps are done."""
    story = told(make_story, {WHOLE: "0.92"})
    story.mira.labels()
    story.plan_is_read()
    spent_elsewhere(story, Decimal("0.12"))
    story.mira.says("/approve")
    story.read_status("does not go on now (day spent)", "0.92 for all repositories together", written(WHOLE))
    edited = len(story.shown_to("executor"))
    assert edited and story.shown_to("reviewer") == []
    story.pass_time(next_morning(story))
    story.crank()
    assert len(story.shown_to("executor")) == edited and len(story.shown_to("reviewer")) == 1
    today = story.ledger.day(story.now())
    assert today.held == {} and 0 < today.usd < Decimal("0.92")
    story.ends(Published)


def test_a_call_that_no_day_could_pay_ends_the_run_and_names_the_setting(make_story: MakeStory) -> None:
    story = told(make_story, {WHOLE: "0.05"})
    story.mira.labels()
    assert story.model.requests == []
    story.ends(Closed, "Ended (failed)", "more than a whole day's model budget of ", "0.05", written(WHOLE))


def test_the_sums_of_the_day_are_those_of_the_spans_with_a_bound_and_without(make_story: MakeStory) -> None:
    story = told(make_story, {})
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/reject")
    spent = sum(span.usd for span in story.ledger.spans(story.view().id))
    assert story.ledger.day(datetime.now(UTC)).usd == spent > 0
    story.ends(Closed, "rejected")


def test_answers_that_are_lost_again_and_again_end_the_run_at_its_budget(make_story: MakeStory) -> None:
    """Each may have been billed: they count, over all attempts at the plan, and nobody asks for ever."""
    look = calls(("search", {"pattern": "helo", "mode": "literal"}))
    story = told(make_story, {}, script(planning({"torn": 30, "repeat": 400}, look)))
    story.mira.labels()
    story.wait_out()
    assert len(story.model.requests) < 20
    assert Decimal(2) < story.state().spent.usd <= 3
    story.ends(Closed, "Ended (failed)", "No plan was finished", "one more call may cost")
