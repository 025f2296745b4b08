"""A story's world, made anew for each story and taken down after it."""

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.greeting import FILES, ISSUE, SCRIPT
from tests.fakes.household import PLAIN, Furnishing
from tests.fakes.machines import World
from tests.fakes.story import Story

TOLD: pytest.StashKey[bool] = pytest.StashKey()

MakeStory = Callable[..., Story]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remembers whether the test itself passed, for the fixture that asks whether the story was told to its end."""
    report = yield
    if report.when == "call":
        item.stash[TOLD] = report.passed
    return report


@pytest.fixture(scope="session")
def endings() -> Iterator[list[threading.Thread]]:
    """Worlds that are coming to their end; at the end of the session all of them have."""
    under_way: list[threading.Thread] = []
    yield under_way
    for ending in under_way:
        ending.join(30)
    assert [ending.name for ending in under_way if ending.is_alive()] == []


@pytest.fixture
def make_story(tmp_path: Path, request: pytest.FixtureRequest, endings: list[threading.Thread]) -> Iterator[MakeStory]:
    """Makes a story's world, on SQLite unless `--database` says otherwise; `script` is the model's part, `files` the
    repository."""
    made: list[Story] = []
    usual = f"sqlite:///{tmp_path / 'ledger.db'}"
    if request.config.option.database == "postgresql":
        usual = request.getfixturevalue("postgres_url")

    def make(
        script: Mapping[str, Any] = SCRIPT,
        files: Mapping[str, str | bytes] = FILES,
        ledger_url: str = usual,
        furnishing: Furnishing = PLAIN,
        kind: type[Story] = Story,
        **more: Any,
    ) -> Story:
        story = kind(tmp_path, ledger_url, script, furnishing)
        made.append(story)
        story.people(files, more.pop("issue", ISSUE), **more)
        return story

    yield make
    endings += [story.close() for story in made]
    if request.node.stash.get(TOLD, False):
        assert all(story.ended for story in made), "the story was not told to its end"


@pytest.fixture
def story(make_story: MakeStory) -> Story:
    """The world of most stories."""
    return make_story()


@pytest.fixture
def story_on_each_database(make_story: MakeStory, ledger_url: str) -> Story:
    """The same world, once on SQLite and once on PostgreSQL."""
    return make_story(ledger_url=ledger_url)


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """A world for the product's own processes."""
    made: list[World] = []

    def make(ledger_url: str, the_script: Any = SCRIPT, **more: Any) -> World:
        made.append(World(tmp_path, ledger_url, the_script, **more))
        return made[-1]

    yield make
    for world in made:
        world.close()
