"""What a check shows: an exit status is believed only as far as the runner's own words and its script go."""

from collections.abc import Callable

import pytest

from app.core.run import Closed, Published
from tests.fakes.greeting import FILES, script, stepping
from tests.fakes.story import Story
from tests.stories.test_executing import approved, documentation, nothing_was_pushed, replace, step

pytestmark = pytest.mark.needs_userns

Making = Callable[..., Story]

SPELLS = stepping(1, replace("greet.sh", "helo", "hello"))


@pytest.mark.parametrize(
    ("recipe", "why"),
    [
        ("sh tests/test_greet.sh || true", "its script takes a failure for a success"),
        ("sh tests/test_greet.sh | cat", "its script ends with the status of the last command of a pipe"),
        ("echo 'Ran 0 tests in 0.000s'; printf '\\nOK\\n'", "it ended with status 0 and ran no test"),
        ("echo '1 failed, 2 passed in 0.10s'", "it ended with status 0 and reports 1 failed test"),
    ],
    ids=["or true", "a pipe", "no test", "failures reported"],
)
def test_a_check_that_ends_well_and_shows_nothing_opens_no_draft(make_story: Making, recipe: str, why: str) -> None:
    story = make_story(script(documentation(step(1, "greet.sh")), SPELLS), FILES | {"Makefile": f"test:\n\t{recipe}\n"})
    approved(story)
    nothing_was_pushed(story)
    story.ends(Closed, "Ended (failed)", "The check `make test` did not pass after the change", why)


def test_a_check_that_failed_before_for_the_same_reason_does_not_block_and_is_told(make_story: Making) -> None:
    recipe = "@echo 'FAIL: test_old (t.T.test_old)'; exit 1"
    story = make_story(script(documentation(step(1, "greet.sh")), SPELLS), FILES | {"Makefile": f"test:\n\t{recipe}\n"})
    approved(story)
    assert "`make test`: was already failing" in story.draft()["body"]
    story.ends(Published)


def test_a_check_that_fails_for_another_reason_than_before_blocks(make_story: Making) -> None:
    new, old = "FAIL: test_new (t.T.test_new)", "FAIL: test_old (t.T.test_old)"
    recipe = f"@grep -q 'echo .hello' greet.sh && echo '{new}'; echo '{old}'; exit 1"
    story = make_story(script(documentation(step(1, "greet.sh")), SPELLS), FILES | {"Makefile": f"test:\n\t{recipe}\n"})
    approved(story)
    nothing_was_pushed(story)
    story.ends(Closed, "Ended (failed)", "did not pass after the change (exit status 2)")


def test_what_a_check_fixed_is_said_in_the_draft(make_story: Making) -> None:
    story = make_story()
    approved(story, "countersign")
    assert "`make test`: failed before, passes after" in story.draft()["body"]
    story.ends(Published)


PYTHON = {
    "pyproject.toml": '[project]\nname = "greet"\nversion = "1"\nrequires-python = ">=3.99"\n[tool.pytest]\n',
    "tests/test_it.py": "def test_it(): pass\n",
    "it.py": "word = 'helo'\n",
}


@pytest.mark.parametrize("policy", ["", "checks_not_run: draft\n"], ids=["the default", "drafts"])
def test_a_check_that_could_not_be_run_leads_to_a_draft_only_where_the_policy_says_so(
    make_story: Making, policy: str
) -> None:
    checks = [{"name": "pytest", "expect": "passes"}]
    evidence = [{"path": "it.py", "start": 1, "end": 1, "shows": "The word."}]
    plans = documentation(step(1, "it.py"), checks=checks, evidence=evidence)
    spells = stepping(1, replace("it.py", "helo", "hello"))
    files = PYTHON | ({".github/countersign.yml": policy} if policy else {})
    story = make_story(script(plans, spells), files)
    approved(story)
    assert len(story.shown_to("executor")) == 2, "no repair is asked for: none would help"
    if not policy:
        nothing_was_pushed(story)
        told = "The check `pytest` could not be run, so it is not shown to pass: The project needs Python"
        story.ends(Closed, "Ended (failed)", told, "`checks_not_run: draft`", "The change is kept")
        return
    draft = story.draft()
    assert draft["title"].startswith("[not shown to pass] ")
    assert "**Not shown to pass.**" in draft["body"] and "could not be run: The project needs Python" in draft["body"]
    assert "`pytest`: not shown" in draft["body"]
    story.ends(Published)
