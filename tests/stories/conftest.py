"""A story's world: a small repository with a real defect, its people, and the model's part."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.household import Furnishing
from tests.fakes.story import Story

TOLD: pytest.StashKey[bool] = pytest.StashKey()

GREET = '#!/bin/sh\n# Says hello.\nname=${1:-world}\necho "helo $name"\n'
TEST = '#!/bin/sh\nset -e\nout=$(sh greet.sh)\ntest -n "$out"\n'
MAKEFILE = "test:\n\tsh tests/test_greet.sh\n"
FILES = {"greet.sh": GREET, "tests/test_greet.sh": TEST, "Makefile": MAKEFILE, "README.md": "# greet\n"}

PLAN: dict[str, Any] = {
    "summary": "greet.sh says hello with both letters.",
    "hypothesis": "The word is misspelt in the echo.",
    "evidence": [{"path": "greet.sh", "start": 4, "end": 4, "shows": "The misspelt word."}],
    "constraints": ["The default name stays."],
    "risks": ["Somebody may rely on the misspelling."],
    "steps": [
        {"id": 1, "kind": "change", "path": "greet.sh", "intent": "Spell the word.", "done_when": "It says hello."},
        {
            "id": 2,
            "kind": "change",
            "path": "tests/test_greet.sh",
            "intent": "Test the whole greeting.",
            "done_when": "The test fails without step 1.",
        },
    ],
    "checks": [{"name": "make test", "expect": "fails_before_passes_after"}],
    "budget": {"usd": "1.00", "calls": 20, "minutes": 10, "files": 2, "lines": 20},
}


def calls(*made: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """One turn of tool calls."""
    return {"calls": [{"name": name, "input": given} for name, given in made], **more}


PLANNER = {
    "role": "planner",
    "turns": [
        calls(("search", {"pattern": "helo", "mode": "literal"}), ("read_file", {"path": "tests/test_greet.sh"})),
        calls(("read_file", {"path": "greet.sh"}), when=["greet.sh"]),
        calls(("submit_plan", PLAN), when=['echo "helo $name"']),
    ],
}
STEP_1 = {
    "role": "executor",
    "step": 1,
    "turns": [
        calls(("read_file", {"path": "greet.sh"})),
        calls(("replace", {"path": "greet.sh", "old": "helo", "new": "hello"})),
        calls(("step_done", {"note": "The word is spelt right."})),
    ],
}
STEP_2 = {
    "role": "executor",
    "step": 2,
    "turns": [
        calls(
            (
                "replace",
                {
                    "path": "tests/test_greet.sh",
                    "old": 'test -n "$out"\n',
                    "new": 'test -n "$out"\ntest "$out" = "hello world"\n',
                },
            )
        ),
        calls(("step_done", {"note": "The greeting is tested."})),
    ],
}
REVIEW = {"role": "reviewer", "turns": [calls(("review", {"verdict": "agrees", "findings": []}))]}
SCRIPT = {"name": "a misspelt greeting", "parts": [PLANNER, STEP_1, STEP_2, REVIEW]}

ISSUE = "The greeting is misspelt\ngreet.sh says helo, it should say hello."

MakeStory = Callable[..., Story]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remembers whether the test itself passed, for the fixture that asks whether the story was told to its end."""
    report = yield
    if report.when == "call":
        item.stash[TOLD] = report.passed
    return report


@pytest.fixture
def make_story(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[MakeStory]:
    """Makes a story's world on SQLite; `script` is the model's part, `files` the repository."""
    made: list[Story] = []

    def make(
        script: Mapping[str, Any] = SCRIPT,
        files: Mapping[str, str | bytes] = FILES,
        ledger_url: str = f"sqlite:///{tmp_path / 'ledger.db'}",
        furnishing: Furnishing = Furnishing(),
        **more: Any,
    ) -> Story:
        story = Story(tmp_path, ledger_url, script, furnishing)
        made.append(story)
        story.people(files, more.pop("issue", ISSUE), **more)
        return story

    yield make
    for story in made:
        story.close()
    if request.node.stash.get(TOLD, False):
        assert all(story.ended for story in made), "the story was not told to its end"


@pytest.fixture
def story(make_story: MakeStory) -> Story:
    """The world of most stories, on SQLite."""
    return make_story()


@pytest.fixture
def story_on_each_database(make_story: MakeStory, ledger_url: str) -> Story:
    """The same world, once on SQLite and once on PostgreSQL."""
    return make_story(ledger_url=ledger_url)
