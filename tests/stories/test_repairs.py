"""After the steps: red checks and a reviewer send the work back, inside the plan and not for ever."""

from collections.abc import Callable

import pytest

from app.core.run import Closed, Published
from tests.fakes.greeting import FILES, GREET, judged, mending, reviewing, script, stepping
from tests.fakes.story import Story
from tests.stories.test_executing import approved, branch, documentation, nothing_was_pushed, replace, step

pytestmark = pytest.mark.needs_userns

Making = Callable[..., Story]

MISSPELT = stepping(1, replace("greet.sh", "helo", "hullo"))
HELLO = replace("greet.sh", "hullo", "hello")


def test_red_checks_lead_to_a_repair_that_sees_their_output_and_stays_inside_the_plan(make_story: Making) -> None:
    reaches = [replace("Makefile", "sh tests", "true; sh tests"), ("delete_file", {"path": "tests/test_greet.sh"})]
    story = make_story(script(MISSPELT, mending(1, *reaches, HELLO, after_failure=True)))
    approved(story, "countersign")
    asked = [one for one in story.shown_to("executor") if "Repair 1 of 2" in one]
    assert "The check `make test` did not pass after the change" in asked[0]
    assert "output of make test" in asked[0] and "hullo $name" in asked[0]
    assert "The step does not change Makefile." in asked[-1] and "There is no tool 'delete_file'" in asked[-1]
    assert ISSUE_WORDS not in asked[0] and "propose_amendment" not in asked[0]
    assert [len(story.shown_to("reviewer")), branch(story)["Makefile"]] == [1, FILES["Makefile"].encode()]
    assert branch(story)["greet.sh"].decode() == GREET.replace("helo", "hello")
    body = story.draft()["body"]
    assert "**Repairs** after the steps" in body and "Asked for by the checks" in body and "Mended (1)." in body
    assert "`make test`: failed before, passes after" in body
    spent = [one for one in story.model.requests if one["status"] == 200]
    assert story.state().spent.calls == len(spent)
    story.ends(Published)


ISSUE_WORDS = "greet.sh says helo, it should say hello."


def test_a_repair_that_changes_nothing_about_the_failure_is_the_last_one(make_story: Making) -> None:
    aside = mending(1, replace("greet.sh", "# Says hello.", "# Says hello, always."))
    story = make_story(script(MISSPELT, aside, mending(2, HELLO)))
    approved(story, "countersign")
    nothing_was_pushed(story)
    assert not any("Repair 2 of 2" in one for one in story.shown_to("executor"))
    story.ends(Closed, "did not pass after the change", "It was repaired once, and it is as it was.", "change is kept")


def test_there_are_as_many_repairs_as_the_template_says_and_no_more(make_story: Making) -> None:
    """Each leaves another failure behind, and who goes on after the model was away goes on behind the first."""
    worse = mending(1, replace("greet.sh", 'echo "hullo $name"', "echo worse >&2; exit 3"))
    worst = mending(2, replace("greet.sh", "worse", "worst"))
    worst["turns"] = [{"error": 529, "retry_after": 700}, *worst["turns"]]
    story = make_story(script(MISSPELT, worse, worst))
    approved(story, "countersign")
    first = [one for one in story.shown_to("executor") if "Repair 1 of 2" in one]
    assert story.kinds()[-1] == "repair_kept"
    story.wait_out()
    nothing_was_pushed(story)
    assert [one for one in story.shown_to("executor") if "Repair 1 of 2" in one] == first
    assert story.state().spent.calls == sum(one["status"] == 200 for one in story.model.requests)
    story.ends(Closed, "did not pass after the change", "It was repaired 2 times, which is as often as may be.")


def test_a_reviewer_sends_the_work_back_and_reads_it_again(make_story: Making) -> None:
    again = reviewing(about=("Repairs so far",), criteria=[judged(1, quote='echo "hello, $name"'), judged(2)])
    wish = reviewing("repair", "Say hello, with a comma after it.")
    stricter = [replace(TEST, "hello world", "hello, world"), replace(TEST, 'test -n "$out"', 'test "$out" != helo')]
    mends = mending(1, replace("greet.sh", "hello $name", "hello, $name"), *stricter)
    story = make_story(script(again, wish, mends))
    approved(story, "countersign")
    assert b'echo "hello, $name"' in branch(story)["greet.sh"]
    body = story.draft()["body"]
    assert "accepts" in body and "Asked for by the reviewer" in body and "with a comma after it" in body
    gone = "The test `tests/test_greet.sh` asserts `test -n"
    assert gone in body.replace("\\", "") and gone in story.shown_to("reviewer")[-1]
    assert "Criterion 1: met" in body and "Not believed" not in body
    assert [one.name for one in story.ledger.spans(story.view().id) if one.name == "repair 1"] == ["repair 1"]
    story.ends(Published)


TEST = "tests/test_greet.sh"


def test_a_reviewer_that_says_stop_keeps_the_pull_request_back_although_every_check_passed(make_story: Making) -> None:
    story = make_story(script(reviewing("stop", "It greets @rita in <b>every</b> language.")))
    approved(story, "countersign")
    nothing_was_pushed(story)
    status = story.read_status("Ended (failed)", "The reviewer says to stop: It greets", "The change is kept")
    assert "@rita" not in status.replace("@\u200brita", "") and "<b>" not in status
    story.ends(Closed)


def test_what_a_reviewer_cites_and_code_does_not_find_is_not_believed(make_story: Making) -> None:
    """It goes back three times; after that the judgement stands there, marked."""
    made_up = reviewing(criteria=[judged(1, quote="echo hello, everybody"), judged(2, where="my memory")])
    made_up["turns"] *= 4
    story = make_story(script(made_up))
    approved(story, "countersign")
    assert "these words do not stand in difference" in story.shown_to("reviewer")[-1]
    assert story.draft()["body"].count("**Not believed:** what it cites is not there.") == 2
    story.ends(Published)


def test_a_step_that_finds_its_change_made_already_is_told_and_keeps_nothing_back(make_story: Making) -> None:
    there = "How to say hello to the whole world."
    idle = stepping(2, replace("README.md", there.replace("hello", "helo"), there), after_failure=True)
    idle["turns"].append({**idle["turns"][-1], "after_failure": True})
    first = stepping(1, replace("greet.sh", "helo", "hello"))
    files = FILES | {"README.md": f"# greet\n\n{there}\n"}
    story = make_story(script(documentation(step(1, "greet.sh"), step(2, "README.md")), first, idle), files)
    approved(story)
    assert "Step 2 had nothing to do: what it asks for was in README.md already." in story.draft()["body"]
    story.ends(Published)
