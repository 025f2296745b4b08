"""A plan that does not fit reality: what it takes besides is shown as a difference and needs an approval of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.core.digest import short
from app.core.run import Closed, Proposed, Published
from app.web.links import new_link
from tests.fakes.greeting import FILES, GREET, calls, script, stepping
from tests.fakes.story import Story
from tests.stories.test_executing import approved, branch, documentation, nothing_was_pushed, replace, step
from tests.stories.test_going_on import asked

pytestmark = pytest.mark.needs_userns

Making = Callable[..., Story]
WHY = "The readme names the old word in a second file."
NOTES = {"kind": "create", "path": "notes.txt", "intent": "Note the new word.", "done_when": "It is noted."}
FIRST = stepping(1, replace("greet.sh", "helo", "hello"))
SECOND = stepping(2, replace("README.md", "# greet", "# hello")) | {"about": ["Step 2 of 3"]}
THIRD = stepping(3, ("create_file", {"path": "notes.txt", "content": "hello\n"}))
PLAN = documentation(step(1, "greet.sh"), step(2, "README.md"))


def wishing(number: int, **wish: Any) -> dict[str, Any]:
    """A step's model that asks for more, and gives up where it is refused."""
    gives_up = calls(("cannot", {"reason": "It takes more."}), after_failure=True)
    return {"role": "executor", "step": number, "turns": [calls(("propose_amendment", wish)), gives_up]}


WISHES = wishing(2, why=WHY, steps=[NOTES], acceptance=["The new word is noted."])


def amended(story: Story, *words: str) -> dict[str, Any]:
    """The amendment comment, read; the run pauses there, and nothing is written."""
    offer = story.next_comment("· amends version 1", *words)
    story.read_status("which amends version 1 at step 2,", "waits for a maintainer")
    state = story.state()
    assert isinstance(state, Proposed)
    assert (
        f"`{state.proposal.digest}`" in offer["body"] and short(state.proposal.digest) in offer["body"].split("\n")[0]
    )
    nothing_was_pushed(story)
    return offer


def test_what_a_step_takes_besides_is_shown_approved_and_done_and_no_earlier_step_again(make_story: Making) -> None:
    again = {"kind": "change", "path": "README.md", "intent": "Say hello.", "done_when": "It says hello."}
    wish = wishing(2, why=WHY, this_step=again, steps=[NOTES], acceptance=["The new word is noted."])
    story = make_story(script(PLAN, FIRST, SECOND, THIRD, wish))
    story.mira.labels("countersign:docs")
    first = story.plan_is_read()
    story.mira.says("/approve")
    offer = amended(
        story, WHY, "- **3. Create** `notes.txt`", "Say hello.", "Step 1 is done and kept", "The new word is noted."
    )
    assert "greet.sh" not in offer["body"] and "[x]" not in offer["body"] and "Evidence" not in offer["body"]
    assert f"#issuecomment-{first['id']}" in offer["body"] and not story.hidden(first["id"])
    story.rita.says("/approve")
    story.next_comment("@rita", "write")
    nothing_was_pushed(story)
    story.mira.thumbs_up(offer["id"])
    story.sweep()
    story.crank()
    after = branch(story)
    assert after["greet.sh"].decode() == GREET.replace("helo", "hello")
    assert (after["README.md"], after["notes.txt"]) == (b"# hello\n", b"hello\n")
    assert (asked(story, 1), asked(story, 2), asked(story, 3)) == (2, 3, 2)
    assert "It amends the approved plan" in story.draft()["body"] and WHY in story.draft()["body"]
    assert story.state().spent.calls == sum(one["status"] == 200 for one in story.model.requests)
    assert "Say hello." in story.shown_to("executor")[3]
    story.ends(Published)


def test_a_path_that_policy_forbids_is_refused_by_code_and_no_amendment_is_shown(make_story: Making) -> None:
    rules = "version: 1\nforbidden_paths: [notes.txt]\n"
    steps = [NOTES, NOTES | {"kind": "change", "path": "nowhere.txt"}]
    evil = [{"name": "make evil", "expect": "passes"}]
    wild = wishing(2, why=WHY, steps=steps, checks=evil, hosts=["a.example:443"])
    story = make_story(script(PLAN, FIRST, wild), FILES | {".github/countersign.yml": rules})
    approved(story)
    told = story.shown_to("executor")[-1]
    for words in (
        "notes.txt is forbidden by this repository's policy",
        "There is no check 'make evil'",
        "nowhere.txt does not exist",
        "may reach a.example:443",
    ):
        assert words in told
    assert "amendment_proposed" not in story.kinds()
    nothing_was_pushed(story)
    story.ends(Closed, "Step 2 cannot be done as the plan says: It takes more.")


def test_a_third_amendment_ends_the_run_and_what_is_done_is_a_patch_on_its_page(make_story: Making) -> None:
    more = [
        wishing(2, why=WHY, steps=[NOTES | {"path": f"notes{at}.txt"}]) | {"about": [f"2 of {at}"]} for at in (3, 4)
    ]
    story = make_story(script(PLAN, FIRST, *more, WISHES))
    approved(story)
    amended(story)
    story.mira.says("/approve")
    story.next_comment("· amends version 2", "notes3.txt")
    story.read_status("Plan version 3", "amends version 2")
    story.mira.says("/approve")
    assert asked(story, 1) == 2
    nothing_was_pushed(story)
    story.ends(Closed, "amended 2 times, which is the most for one run", WHY, "The change is kept")


def test_a_rejected_amendment_ends_the_run_and_the_kept_work_is_on_its_page(make_story: Making) -> None:
    story = make_story(script(PLAN, FIRST, WISHES))
    approved(story)
    amended(story)
    story.mira.says("/reject")
    browser = httpx.Client(trust_env=False)
    browser.get(new_link(Path(story.env["COUNTERSIGN_DATA_DIR"]), story.web_url))
    page = browser.get(f"{story.web_url}/runs/{story.view().id}").text
    patch = page.partition('">The patch</a>')[0].rpartition('href="')[2]
    kept = story.web_url + patch.replace("/outputs/", "/kept/")
    assert "+echo &#34;hello" in page and '+echo "hello' in browser.get(kept).text
    story.ends(Closed, "Ended (rejected)", "The change is kept")


def test_an_amendment_is_revised_by_the_planner_and_what_was_done_is_left_behind(make_story: Making) -> None:
    again = documentation(step(1, "greet.sh")) | {"about": ["Only the word."]}
    story = make_story(script(again, PLAN, FIRST, WISHES))
    approved(story)
    amended(story)
    story.mira.says("/revise Only the word.")
    story.plan_is_read(3)
    story.mira.says("/approve")
    assert asked(story, 1) == 4
    assert set(branch(story)) == set(FILES)
    story.ends(Published)


@pytest.mark.parametrize("way", ["the issue is edited", "time is over", "/cancel"])
def test_an_open_amendment_ends_as_any_offer_does(make_story: Making, way: str) -> None:
    story = make_story(script(PLAN, FIRST, WISHES))
    approved(story)
    amended(story)
    if way == "the issue is edited":
        story.olga.edits_the_issue(body="Another text.")
        story.next_comment("cannot be approved")
        story.mira.says("/approve")
        story.next_comment("@mira", "edited")
        story.read_status("cannot be approved")
        story.mira.says("/cancel")
    elif way == "/cancel":
        story.mira.says("/cancel")
    else:
        story.pass_time(story.state().proposal.expires_at - story.now())  # type: ignore[union-attr]
        story.sweep()
    nothing_was_pushed(story)
    story.ends(Closed, "Ended (expired)" if way == "time is over" else "Ended (cancelled)", "The change is kept")
