"""Dependencies that a change brings in, and registries that are away: each tree has what it says that it needs.

The registry is on loopback, and the real npm asks it.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.core.run import Approved, Closed, Published
from tests.fakes.greeting import REVIEW, calls, planning, stepping
from tests.fakes.household import Furnishing
from tests.fakes.npm_registry import Registry, serving
from tests.fakes.story import REPO, Story
from worker.box.clients import NPM
from worker.box.reproduction import NODE

pytestmark = [
    pytest.mark.needs_userns,
    pytest.mark.skipif(not (Path(NODE).exists() and Path(NPM).exists()), reason=f"no {NODE} or {NPM} here"),
]

Making = Callable[..., Story]

ISSUE = "The test should use expected\nCompare with the package `expected`, as our other projects do."
TEST = "const greet = require('..');\nif (greet() !== 'hello') process.exit(1);\n"
BETTER = "require('expected')(require('..')(), 'hello');\n"
EXPECTED = "module.exports = (one, other) => { if (one !== other) throw new Error(one); };"


def package(**more: Any) -> str:
    return json.dumps({"name": "greet", "version": "1.0.0", "scripts": {"test": "node test/greet.js"}} | more, indent=1)


FILES = {"package.json": package(), "index.js": "module.exports = () => 'hello';\n", "test/greet.js": TEST}
"""A project that depends on nothing so far."""


def step(number: int, path: str, intent: str) -> dict[str, Any]:
    return {"id": number, "kind": "change", "path": path, "intent": intent, "done_when": "It is so."}


PLAN = {
    "summary": "The test compares with the package expected.",
    "hypothesis": "The test compares by itself.",
    "evidence": [{"path": "test/greet.js", "start": 2, "end": 2, "shows": "It compares by itself."}],
    "acceptance": [{"id": 1, "words": "The test uses expected.", "steps": [1, 2], "checks": ["npm test"]}],
    "constraints": ["Nothing but the test depends on it."],
    "risks": ["The package has to be installed for the tests from now on."],
    "steps": [step(1, "package.json", "Depend on it for tests."), step(2, "test/greet.js", "Use it.")],
    "checks": [{"name": "npm test", "expect": "fails_before_passes_after"}],
    "budget": {"usd": "1.00", "calls": 20, "minutes": 10, "files": 2, "lines": 20},
}


def replace(path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
    return ("replace", {"path": path, "old": old, "new": new})


def script(wanted: str = "expected", before: str = ' "version"') -> dict[str, Any]:
    """A model that adds the wanted package for development, and uses it in the test."""
    manifest = replace("package.json", before, f' "devDependencies": {{"{wanted}": "^1.0.0"}},\n{before}')
    test = replace("test/greet.js", TEST, BETTER.replace("expected", wanted))
    parts = [planning(calls(("submit_plan", PLAN))), stepping(1, manifest), stepping(2, test), REVIEW]
    return {"name": "a dependency for tests", "parts": parts}


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    """A registry with the package, until the story is told."""
    with serving(tmp_path / "registry") as made:
        made.add("expected", "1.0.0", {"index.js": EXPECTED})
        yield made


@pytest.fixture
def here(registry: Registry) -> Furnishing:
    """npm is set up for the registry and for nothing else."""
    return Furnishing(env=registry.settings)


def approved(story: Story) -> None:
    story.mira.labels("countersign:dependency")
    story.plan_is_read()
    story.mira.says("/approve")


def test_the_first_dependency_of_a_project_is_there_after_the_change_and_not_before(
    make_story: Making, here: Furnishing, registry: Registry
) -> None:
    story = make_story(script(), FILES, issue=ISSUE, furnishing=here)
    story.mira.labels("countersign:dependency")
    plan = story.plan_is_read()["body"]
    assert registry.host in plan.partition("**Hosts the box may reach**")[2]
    assert "- first: `npm install --no-package-lock --ignore-scripts" in plan
    assert registry.asked == [], "nothing is fetched for a plan that nobody approved"
    story.mira.says("/approve")
    shown = story.draft()["body"]
    assert "| `npm test` | before | passed |" in shown
    assert "| `npm test` | new tests, old code | failed |" in shown and "Cannot find module 'expected'" in shown
    assert "| `npm test` | after | passed |" in shown
    assert [path for path in registry.asked if path.endswith(".tgz")] == ["/expected/-/expected-1.0.0.tgz"]
    story.ends(Published, "Draft pull request")


def test_a_dependency_that_nobody_publishes_ends_the_run_with_the_reason(make_story: Making, here: Furnishing) -> None:
    story = make_story(script(wanted="exspected"), FILES, issue=ISSUE, furnishing=here)
    approved(story)
    assert set(story.control.branches(REPO)) == {"main"}
    story.ends(Closed, "After the change, what the checks need cannot be prepared", "E404", "exspected")


def test_an_approved_plan_is_kept_while_the_registry_is_away_and_carried_out_when_it_is_back(
    make_story: Making, here: Furnishing, registry: Registry
) -> None:
    registry.add("known", "1.2.0", {"index.js": ""})
    files = FILES | {
        "package.json": package(dependencies={"known": "1"}),
        "test/greet.js": f"require('known');\n{TEST}",
    }
    not_yet = Furnishing(env={**here.env, "COUNTERSIGN_BOX_NETWORKS": ""})
    story = make_story(script(), files, issue=ISSUE, furnishing=not_yet)
    approved(story)
    assert isinstance(story.state(), Approved)
    story.read_status("It waits and is kept", "is not a public address", "the operator names that")
    assert registry.asked == [] and story.shown_to("executor") == [] and story.writes_to_github() == []
    story.set_up_again(here)
    story.wait_out()
    assert story.draft()["draft"] is True
    story.ends(Published, "Draft pull request")


def test_a_registry_that_goes_away_halfway_is_not_taken_for_a_fault_of_the_change(
    make_story: Making, here: Furnishing, registry: Registry
) -> None:
    registry.away = {"expected"}
    story = make_story(script(), FILES, issue=ISSUE, furnishing=here)
    approved(story)
    assert isinstance(story.state(), Approved) and story.shown_to("executor") != []
    story.read_status("It waits and is kept", "The package registry cannot be reached", "503")
    registry.away.clear()
    story.wait_out()
    assert "| `npm test` | after | passed |" in story.draft()["body"]
    story.ends(Published, "Draft pull request")
