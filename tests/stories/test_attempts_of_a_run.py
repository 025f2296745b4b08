"""A run whose work fails again and again, whatever the work: it ends with words, and only a person goes on with it."""

from datetime import timedelta

from app.core.allowance import MOST_FAILED
from app.core.belts import Belt
from app.core.facts import EffectAbandoned
from app.core.run import Closed, Wanted
from app.core.stalling import PATIENCE
from tests.fakes.story import Story

REFUSED = '{"message": "Validation Failed"}'


def failed_before(story: Story, tried: int) -> None:
    """So many attempts at what it owed came to nothing."""
    at, why = story.now(), "GitHub refuses it."
    story.ledger.record(story.view().id, EffectAbandoned(at=at, effect="say", key="status:x", reason=why, tried=tried))


def test_a_run_beyond_its_allowance_ends_at_once_and_a_persons_word_gives_it_another(story: Story) -> None:
    story.away = {Belt.PLANNER}
    story.control.fault("POST .*/issues/1/comments", status=422, body=REFUSED, times=3)
    story.mira.labels()
    failed_before(story, MOST_FAILED - 2)
    # A stranger calls for words that cannot be said either: nobody ends another's run by that.
    story.rita.says("/why")
    assert isinstance(story.state(), Wanted) and story.state().failed == MOST_FAILED - 1
    story.pass_time(PATIENCE + timedelta(minutes=1))
    story.sweep()
    story.away = set()
    story.crank_once(Belt.PUBLISHER)
    story.crank()
    assert isinstance(story.state(), Closed) and story.shown_to("planner") == []
    story.read_status(f"failed {MOST_FAILED} times since a person last said", "Mend what failed first", "`/retry`")
    story.rita.says("/retry")
    story.next_comment("@rita", "read permission")
    assert isinstance(story.state(), Closed)
    story.mira.says("/retry")
    story.plan_is_read(2)
    assert story.state().failed == 0
    story.mira.says("/reject")
    story.ends(Closed, "rejected")
