"""What a model answered is paid once: whoever goes on with the work is told it again from the ledger."""

import threading
import time
from collections import Counter
from datetime import timedelta
from decimal import Decimal

import pytest
from sqlalchemy import func, select

from app.core.belts import Belt
from app.core.run import Closed, Published
from app.core.span import SpanKind
from app.ledger.schema import answers
from tests.fakes.greeting import PLANNER, planning, script
from tests.fakes.mortal import LEDGER, MortalStory, Point
from tests.fakes.story import REPO, Story
from tests.stories.conftest import MakeStory
from tests.stories.test_money import REPOSITORY, next_morning, spent_elsewhere, told
from worker.evidence.trace import RECALLED

pytestmark = pytest.mark.needs_userns


def kept(story: Story) -> int:
    """How many answers the ledger holds."""
    with story.ledger._database.reading() as connection:
        return connection.scalar(select(func.count()).select_from(answers)) or 0


def dies_and_goes_on(story: MortalStory, kind: str, writes: tuple[int, ...]) -> list[int]:
    """The effect's process is killed after its so-manieth write to the ledger, once for each; then it comes to its end.
    How many requests its models had heard by each death."""
    debt = next(one for one in story.ledger.debts() if one.kind == kind)
    before, heard = len(story.model.requests), []
    for number in writes:
        for one in story.ledger.debts():
            if one.effect_id == debt.effect_id and one.lease_until is not None:
                story.pass_time(one.lease_until - story.now() + timedelta(seconds=1))
        assert story.dies_in(debt, Point(debt.belt.value, LEDGER, number, after=True))
        heard.append(len(story.model.requests) - before)
    story.goes_on(debt)
    return heard


def recalled(story: Story) -> int:
    """How many answers were told again, at no cost."""
    spans = story.ledger.spans(story.view().id)
    again = [one for one in spans if one.kind is SpanKind.MODEL and one.detail == RECALLED]
    assert all(one.calls == 0 and one.usd == 0 for one in again)
    return len(again)


def paid_once(story: Story) -> None:
    """The run's sum is that of its spans, and nothing is kept for what is settled."""
    mine = [span.spent() for span in story.ledger.spans(story.view().id)]
    spent = story.state().spent
    assert (spent.usd, spent.calls) == (sum(one.usd for one in mine), sum(one.calls for one in mine))
    assert spent.usd > 0 and spent.calls == len(story.model.requests)
    assert kept(story) == 0


def test_what_was_answered_before_a_death_is_never_asked_again(make_story: MakeStory, ledger_url: str) -> None:
    story = make_story(ledger_url=ledger_url, kind=MortalStory)
    assert isinstance(story, MortalStory)
    story.control.label(REPO, 1, "countersign", "mira")
    story.control.settle()
    story.crank_once(Belt.PUBLISHER)
    # After the first reply, after the second, after the third; each attempt begins with what the others were told.
    assert dies_and_goes_on(story, "draft_plan", (2, 4, 5)) == [1, 2, 3]
    story.crank()
    story.plan_is_read()
    assert len(story.model.requests) == 3
    story.max.writes("/approve")
    story.control.settle()
    story.crank_once(Belt.PUBLISHER)
    assert dies_and_goes_on(story, "execute", (4, 4)) == [2, 3]
    story.crank()
    asked = Counter(one["role"] for one in story.model.requests)
    assert recalled(story) > 0
    assert asked == {"planner": 3, "executor": 5, "reviewer": 1}
    paid_once(story)
    story.ends(Published)


def test_a_plan_parked_in_mid_draft_goes_on_the_next_day_where_it_was(make_story: MakeStory) -> None:
    """For the second call the day has no room any more: another run has spent it meanwhile."""
    first, *others = PLANNER["turns"]
    story = told(make_story, {REPOSITORY: "1.00"}, script(planning(first | {"delay": 1.0}, *others)))

    def spend() -> None:
        while not story.model.requests:
            time.sleep(0.01)
        spent_elsewhere(story, Decimal("0.95"))

    meanwhile = threading.Thread(target=spend)
    meanwhile.start()
    story.mira.labels()
    meanwhile.join()
    story.read_status("does not go on now (day spent)")
    assert len(story.model.requests) == 1 and kept(story) == 1
    story.pass_time(next_morning(story))
    story.crank()
    story.plan_is_read()
    assert len(story.model.requests) == 3 and recalled(story) == 1
    assert story.state().spent.calls == 3 and kept(story) == 0
    story.mira.says("/reject")
    story.ends(Closed, "rejected")
