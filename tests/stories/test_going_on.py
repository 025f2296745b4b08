"""An execution that is broken off goes on behind its last kept step: nothing is done, or paid for, twice."""

from collections.abc import Callable

import pytest

from app.core.belts import Belt
from app.core.run import Approved, Closed, Published
from tests.fakes.greeting import GREET, calls, script, stepping
from tests.fakes.story import REPO, Story
from tests.stories.test_executing import approved, branch, documentation, replace, step
from tests.stories.test_when_things_fail import dies_after
from worker.model.words import ModelUnavailable

pytestmark = pytest.mark.needs_userns

Making = Callable[..., Story]
GONE = {"error": 529, "retry_after": 700}
STEPS = (
    step(1, "greet.sh"),
    step(2, "README.md", kind="move", to="READ.md"),
    step(3, "notes.txt", kind="create"),
)
FIRST = stepping(1, replace("greet.sh", "helo", "hello"))
SECOND = stepping(2, ("move_file", {"path": "README.md", "to": "READ.md"}), replace("READ.md", "# greet", "# Greet"))


def asked(story: Story, number: int) -> int:
    """How often the executor's model was asked for this step, with whatever answer."""
    return sum(f"Step {number} of " in text for text in story.shown_to("executor"))


def test_whoever_dies_in_a_step_is_followed_by_one_who_asks_only_for_that_step(make_story: Making) -> None:
    """First a worker dies in step 3, then the model is away in it, then it is done; all that was billed is counted."""
    turns = [GONE, calls(("read_file", {"path": "greet.sh"})), GONE]
    last = [calls(("create_file", {"path": "notes.txt", "content": "n\r\n"})), calls(("step_done", {"note": "Done."}))]
    third = {"role": "executor", "step": 3, "turns": [*turns, *last]}
    story = make_story(script(documentation(*STEPS), FIRST, SECOND, third))
    story.mira.labels("countersign:docs")
    story.plan_is_read()
    story.away.add(Belt.EXECUTOR)
    story.mira.says("/approve")
    with pytest.raises(ModelUnavailable):
        dies_after(story, next(one for one in story.ledger.debts() if one.kind == "execute"))
    assert story.kinds().count("step_kept") == 2
    story.away.clear()
    story.wait_out()
    assert (asked(story, 1), asked(story, 2), asked(story, 3)) == (2, 3, 5)
    after = branch(story)
    assert after["greet.sh"].decode() == GREET.replace("helo", "hello")
    assert (after["READ.md"], after["notes.txt"]) == (b"# Greet\n", b"n\r\n")
    assert "README.md" not in after
    assert story.state().spent.calls == sum(one["status"] == 200 for one in story.model.requests)
    story.ends(Published)


def test_what_was_done_under_an_approval_that_ended_is_done_anew(make_story: Making) -> None:
    """Another approval of the same plan is another execution: no kept step crosses from one to the other."""
    away = {"role": "executor", "step": 2, "turns": [GONE, *SECOND["turns"]]}
    story = make_story(script(documentation(*STEPS[:2]), FIRST, away))
    story.mira.labels("countersign:docs")
    story.plan_is_read()
    word = story.mira.says("/approve")
    assert isinstance(story.state(), Approved)
    story.mira.edits(word, "no")
    story.wait_out()
    story.next_comment("The approval does not stand.")
    assert asked(story, 1) == 2
    story.mira.says("/approve")
    story.wait_out()
    assert asked(story, 1) == 4
    assert branch(story)["READ.md"] == b"# Greet\n"
    story.ends(Published)


def test_a_run_that_is_cancelled_between_its_attempts_has_the_cost_of_the_first_in_its_sum(make_story: Making) -> None:
    away = {"role": "executor", "step": 2, "turns": [GONE]}
    story = make_story(script(away))
    approved(story, "countersign")
    story.mira.says("/cancel")
    story.wait_out()
    state = story.state()
    assert state.spent.calls == sum(one["status"] == 200 for one in story.model.requests)
    assert story.control.pulls(REPO) == []
    story.ends(Closed, "Ended (cancelled)")
