"""One step at a time: what its model sees, what it may do, and what it is told before anything is run."""

from collections.abc import Callable
from typing import Any

import pytest

from app.core.run import Closed, Published
from tests.fakes.greeting import FILES, GREET, calls, script, stepping
from tests.fakes.story import REPO, Story
from tests.stories.test_executing import approved, branch, documentation, replace, step

pytestmark = pytest.mark.needs_userns

Making = Callable[..., Story]
CART = """class Cart:
    def add(self, item):
        self.items.append(item)

    def drop(self, item):
        pass
"""


def turns(step_number: int, *made: dict[str, Any]) -> dict[str, Any]:
    return {"role": "executor", "step": step_number, "turns": list(made)}


def done(**more: Any) -> dict[str, Any]:
    return calls(("step_done", {"note": "Done."}), **more)


def test_a_step_sees_its_own_part_of_the_plan_the_cited_lines_and_nothing_of_the_issue(make_story: Making) -> None:
    first = stepping(1, replace("greet.sh", "helo", "hello"))
    second = stepping(2, replace("README.md", "# greet", "# greet well"))
    plan = documentation(step(1, "greet.sh", intent="Spell it."), step(2, "README.md", intent="Say so."))
    story = make_story(script(plan, first, second), issue="The greeting\nA zebra said that greet.sh says helo.")
    approved(story)
    opening, later = story.shown_to("executor")[0], story.shown_to("executor")[2]
    assert "Step 1 of 2" in opening and "Spell it." in opening and "Say so." not in opening
    assert '4| echo \\"helo $name\\"' in opening, "the line that the plan cites"
    assert "Step 2 of 2" in later and "before the steps so far" in later and "Spell it." not in later
    assert not [text for text in story.shown_to("executor") if "zebra" in text]
    story.ends(Published)


def test_lines_are_inserted_short_files_written_anew_and_diffs_applied(make_story: Making) -> None:
    long = "".join(f"line {number}\n" for number in range(400))
    diff = "--- a/list.txt\n+++ b/list.txt\n@@ -1,2 +1,2 @@\n line 398\n-line 399\n+line 399, the last\n"
    first = stepping(
        1,
        ("insert", {"path": "greet.sh", "anchor": "# Says hello.", "text": "# To whom it is asked.", "where": "after"}),
        replace("greet.sh", "helo", "hello"),
    )
    second = stepping(2, ("write_file", {"path": "README.md", "content": "# greet\n\nSays hello.\n"}))
    third = stepping(
        3,
        ("write_file", {"path": "list.txt", "content": "short\n"}),
        ("apply_diff", {"path": "list.txt", "diff": diff}),
    )
    plan = documentation(step(1, "greet.sh"), step(2, "README.md"), step(3, "list.txt"))
    story = make_story(script(plan, first, second, third), FILES | {"list.txt": long})
    approved(story)
    after = branch(story)
    assert after["greet.sh"].decode() == GREET.replace("hello.\n", "hello.\n# To whom it is asked.\n").replace(
        "helo", "hello"
    )
    assert after["README.md"] == b"# greet\n\nSays hello.\n"
    assert after["list.txt"].decode() == long.replace("line 399\n", "line 399, the last\n")
    assert "up to 300" in story.shown_to("executor")[-1]
    story.ends(Published)


def test_a_file_that_no_longer_parses_is_told_at_once_and_mended_before_a_check_runs(make_story: Making) -> None:
    broken = replace("cart.py", "    def drop(self, item):\n", "    def drop(self, item)\n")
    mends = replace("cart.py", "    def drop(self, item)\n", "    def drop(self, item: object):\n")
    edits = turns(1, calls(broken), done(), calls(mends, after_failure=True), done())
    story = make_story(script(documentation(step(1, "cart.py")), edits), FILES | {"cart.py": CART})
    approved(story)
    shown = story.shown_to("executor")
    assert "As it stands now the file does not parse: see line 6." in shown[1]
    assert "cart.py no longer parses: see line 6" in shown[2]
    assert b"item: object" in branch(story)["cart.py"]
    story.ends(Published)


def test_definitions_that_go_are_told_before_a_check_runs_and_named_in_the_draft(make_story: Making) -> None:
    takes = replace("cart.py", "\n    def drop(self, item):\n        pass\n", "\n    size = 0\n")
    edits = turns(1, calls(takes), done(), done(after_failure=True))
    story = make_story(script(documentation(step(1, "cart.py")), edits), FILES | {"cart.py": CART})
    approved(story)
    told = story.shown_to("executor")[2]
    assert "no longer defined" in told and "Cart.drop, which was in line 5 of cart.py" in told
    assert "Step 1 took away definitions: Cart.drop (cart.py)." in story.draft()["body"]
    story.ends(Published)


def test_an_edit_that_is_owed_goes_back_to_the_model_and_is_made(make_story: Making) -> None:
    edits = turns(
        1,
        calls(replace("greet.sh", "not there", "anywhere")),
        done(after_failure=True),
        calls(replace("greet.sh", "helo", "hello"), after_failure=True),
        done(),
    )
    story = make_story(script(documentation(step(1, "greet.sh")), edits))
    approved(story)
    assert "An edit in greet.sh was not made" in story.shown_to("executor")[2]
    story.ends(Published)


def test_a_call_outside_the_step_is_refused_counted_and_traced(make_story: Making) -> None:
    edits = turns(
        1,
        calls(replace("Makefile", "sh tests", "true; sh tests"), ("run_command", {"command": "make evil"})),
        calls(replace("greet.sh", "helo", "hello"), after_failure=True),
        done(),
    )
    story = make_story(script(documentation(step(1, "greet.sh")), edits))
    approved(story)
    assert "In step 1 the model asked 2 times for something outside of it" in story.draft()["body"]
    beyond = [span.name for span in story.ledger.spans(story.view().id) if span.outcome == "outside the step"]
    assert sorted(beyond) == ["replace", "run_command"]
    assert story.control.branch_files(REPO, story.draft()["head"]["ref"])["Makefile"] == FILES["Makefile"].encode()
    story.ends(Published)


def test_what_was_done_otherwise_within_the_step_is_said_in_the_draft(make_story: Making) -> None:
    other = ("step_done", {"note": "Spelt.", "variance": "The comment above was right and stays."})
    edits = turns(1, calls(replace("greet.sh", "helo", "hello")), calls(other))
    story = make_story(script(documentation(step(1, "greet.sh")), edits))
    approved(story)
    assert "Step 1 was done otherwise than it says: The comment above was right and stays." in story.draft()["body"]
    story.ends(Published)


def test_a_step_that_insists_on_an_edit_without_a_place_ends_the_run_with_nothing_kept(make_story: Making) -> None:
    edits = turns(1, calls(replace("greet.sh", "nowhere", "x")), *[done(after_failure=True)] * 4)
    story = make_story(script(documentation(step(1, "greet.sh")), edits))
    approved(story)
    assert story.writes_to_github() == []
    story.ends(Closed, "Step 1: An edit in greet.sh was not made")
