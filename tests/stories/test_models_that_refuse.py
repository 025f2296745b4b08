"""What a model or its vendor refuses for good: the run ends at once with the reason and what to do, and is taken up."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from app.core.run import Closed
from app.core.stalling import PATIENCE
from tests.fakes.greeting import FILES, PLANNER, calls, planning, script
from tests.fakes.story import Story
from worker.outcomes import MOST_WAITS

Making = Callable[..., Story]

TOO_LONG = {"error": 400, "message": "prompt is too long: 210000 tokens > 200000 maximum"}
FULL = {"cut": {"name": "submit_plan", "input": {}, "stop": "model_context_window_exceeded"}}
LONG = "".join(f"Line {number} of a text that takes its room on the page of the planner.\n" for number in range(1, 121))
LOOK = calls(("read_file", {"path": "long.txt", "start": 1, "end": 120}))
UNPAID = {"error": 400, "message": "Your credit balance is too low to access the API."}
RETIRED = {"error": 404, "message": "model: claude-of-old"}


@pytest.mark.parametrize("full", [TOO_LONG, FULL], ids=["before it is read", "while it answers"])
def test_a_page_longer_than_the_model_reads_is_shortened_once_and_nothing_new_is_lost(
    make_story: Making, full: dict[str, Any]
) -> None:
    story = make_story(script(planning(LOOK, full, *PLANNER["turns"])), {**FILES, "long.txt": LONG})
    story.mira.labels()
    story.plan_is_read()
    before, after = story.shown_to("planner")[1:3]
    assert "Line 60 of" in before and "Less of the case file" not in before
    assert "Line 60 of" in after and "Less of the case file" in after
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


@pytest.mark.parametrize(
    ("turns", "asked", "words"),
    [
        ([TOO_LONG, TOO_LONG], 2, ["There is more to read than", "under `models` in the policy file"]),
        ([{"malformed": {"name": "submit_plan", "input": "{"}, "repeat": 2}], 2, ["calls that cannot be read"]),
        ([{"refusal": "cyber"}], 1, ["refused to go on (refusal: cyber)", "word the issue otherwise"]),
        ([RETIRED], 1, ["does not know", "COUNTERSIGN_PLANNER_MODEL", "a plan keeps the models"]),
    ],
    ids=["too long", "broken", "refused", "retired"],
)
def test_what_would_be_refused_again_ends_the_run_with_what_to_do(
    make_story: Making, turns: list[dict[str, Any]], asked: int, words: list[str]
) -> None:
    story = make_story(script(planning(*turns)))
    story.mira.labels()
    assert len(story.shown_to("planner")) == asked
    story.ends(Closed, "Ended (failed)", "`/refresh` makes a plan anew", *words)


def test_an_account_that_cannot_pay_is_named_to_who_asks_why_and_the_run_goes_on_once_it_can(
    make_story: Making,
) -> None:
    story = make_story(script(planning(UNPAID, *PLANNER["turns"])))
    story.mira.labels()
    assert story.state().spent.calls == 0 and len(story.shown_to("planner")) == 1
    story.read_status("Ended (failed)", "The model account cannot pay", "Pay it up", "`/retry`")
    story.rita.says("/why")
    story.next_comment("@rita", "`/retry` tries again", "cannot pay")
    story.mira.says("/retry")
    story.plan_is_read(2)
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_a_model_that_stays_overloaded_is_waited_for_until_a_time_that_is_said_and_not_for_ever(
    make_story: Making,
) -> None:
    busy = {"error": 529, "retry_after": 3000}
    story = make_story(script(planning(busy, busy, *PLANNER["turns"])))
    story.mira.labels()
    assert len(story.shown_to("planner")) == 1
    story.pass_time(PATIENCE + timedelta(minutes=1))
    story.sweep()
    story.crank()
    (waits,) = story.ledger.debts()
    assert waits.available_at is not None and len(story.shown_to("planner")) == 1
    story.read_status("(waits)", "is overloaded", f"tried again by itself, at {waits.available_at:%Y-%m-%d %H:%M} UTC")
    with story.ledger._database.engine.begin() as connection:
        waited = text("UPDATE effects SET postponements = :most WHERE kind = 'draft_plan'")
        connection.execute(waited, {"most": MOST_WAITS})
    story.wait_out()
    story.read_status("Ended (failed)", "is overloaded", f"waited for {MOST_WAITS} times", "`/retry`")
    story.mira.says("/retry")
    story.plan_is_read(2)
    story.mira.says("/reject")
    story.ends(Closed, "rejected")
