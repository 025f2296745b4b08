"""What people do while nobody receives is found afterwards and done once, in whatever order it comes."""

from collections import Counter
from datetime import timedelta

from app.core.belts import Belt
from app.core.run import Approved, Closed
from tests.fakes.story import Story


def received(story: Story) -> Counter[str]:
    """How often GitHub got an answer to each delivery that a run follows."""
    told = [one for one in story.control.deliveries() if one["event"] in ("issues", "issue_comment")]
    return Counter(one["guid"] for one in told if one["status"] == "OK")


def test_what_was_said_while_nobody_received_is_done_once_when_somebody_does(story_on_each_database: Story) -> None:
    story = story_on_each_database
    story.away.add(Belt.EXECUTOR)
    story.web_is_away()
    story.mira.labels()
    story.catch_up(rounds=2)
    assert story.ledger.runs() == ()
    story.web_is_there()
    story.catch_up(rounds=3)
    story.plan_is_read()
    story.web_is_away()
    story.mira.says("/approve")
    story.max.says("/approve")
    story.pass_time(timedelta(hours=2))
    story.web_is_there()
    story.catch_up(rounds=4)
    story.next_comment("already approved by")
    assert isinstance(story.state(), Approved)
    assert story.kinds().count("command_given") == 2
    assert set(received(story).values()) == {1} and story.ledger.missing() == ()
    assert len(story.ledger.runs()) == 1
    story.mira.says("/cancel")
    story.away.clear()
    story.ends(Closed, "cancelled by mira")
