"""A storm: many runs in flight, everything that can fail fails by chance, and at the end what was promised holds.

The short form is a few runs made by code alone, on a database and a broker that its seed chooses; `make soak` goes on
for as long as it is told to, on each of both.
`--seed` brings the same storm again.
"""

import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from app.comments import status
from app.comments.marker import marked
from app.core.advance import replay
from app.core.branches import branch_name
from app.core.effects import PlanSaying, React, ReplySaying, Say
from app.core.facts import DraftFound, DraftOpened
from app.core.run import Approved
from app.ledger.outcomes import EffectView, RunView
from tests.fakes.brokers import Broker, Folders, Redis
from tests.fakes.greeting import FILES
from tests.fakes.household import Furnishing
from tests.fakes.moments import what_counts
from tests.fakes.mortal import MortalStory
from tests.fakes.processes import children, told_of_each
from tests.fakes.story import REPO
from tests.fakes.weather import Weather
from tests.stories.test_packs import NO_MODEL, replace_form

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.timeout(0),
]

RUNS = 5
"""Of the short form."""

PAGES = {path: text for path, text in FILES.items() if path.endswith((".sh", ".md")) and "/" not in path}
"""Nothing to check, so that no box is opened: a box is what the crash matrix kills."""

MAY = {"mira", "max"}
REFERENCE = re.compile(r"[0-9a-f]{64}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The short form on one database and broker, by its seed; in a soak on each of both."""
    if "where" in metafunc.fixturenames:
        config = metafunc.config
        everywhere = list(product(["sqlite", "postgresql"], ["folders", "redis"]))
        one = random.Random(f"{config.option.seed} storm").choice(everywhere)
        metafunc.parametrize("where", [one] if config.option.seconds is None else everywhere, ids=", ".join)


@pytest.fixture
def ledger_there(where: tuple[str, str], request: pytest.FixtureRequest) -> dict[str, str]:
    return {"ledger_url": request.getfixturevalue("postgres_url")} if where[0] == "postgresql" else {}


@pytest.fixture
def broker(where: tuple[str, str], tmp_path: Path) -> Iterator[Broker]:
    if where[1] == "folders":
        yield Folders(tmp_path / "data" / "queue")
    else:
        server = Redis(tmp_path)
        yield server
        server.end()


def test_after_a_storm_there_is_one_of_everything_that_was_approved_and_words_for_all_else(
    make_story: Callable[..., MortalStory],
    ledger_there: dict[str, str],
    broker: Broker,
    chance: random.Random,
    soak_seconds: float | None,
) -> None:
    form = replace_form("helo", "hello")
    rings = {"CELERY_BROKER_URL": broker.url} if isinstance(broker, Redis) else {}
    furnishing = Furnishing({**NO_MODEL.env, **rings})
    story = make_story(files=PAGES, issue=form, furnishing=furnishing, kind=MortalStory, **ledger_there)
    story.control.set_rate_limit(10**9)
    title, _, body = form.partition("\n")
    weather = Weather(
        story,
        broker,
        chance,
        "countersign:replace",
        lambda: int(story.control.open_issue(REPO, "olga", title, body)["number"]),
    )
    try:
        if soak_seconds is None:
            weather.rages(RUNS)
        else:
            until = time.monotonic() + soak_seconds * 0.8
            weather.rages(10_000, lambda: time.monotonic() < until)
        weather.clears()
        promises_hold(story)
    except AssertionError:
        print(*weather.log, weather.counts, sep="\n")
        raise
    assert weather.counts["death"]
    print(weather.counts, Counter(one.state for one in story.ledger.runs()))
    story.ended = True


def promises_hold(story: MortalStory) -> None:
    """What must be so at the end of any storm. A short storm is not sure to meet the loss of every single guard."""
    what_counts(story)
    views = [view for one in story.ledger.runs() if (view := story.ledger.run(one.id)) is not None]
    for view in views:
        assert [one for one in view.effects if one.settled_at is None or one.lease_until is not None] == []
        for reference in REFERENCE.findall(" ".join(refs_of(view))):
            assert story.ledger.artifact(reference) is not None, "what a fact refers to is gone"
    nothing_is_said_twice_and_nothing_is_kept_silent(story, views)
    one_pull_request_for_each_approved_plan(story, views)
    no_token_lives_that_the_ledger_does_not_name(story)
    assert list(boxes()) == []


def refs_of(view: RunView) -> Iterator[str]:
    for one in view.facts:
        for name, value in one.fact.model_dump(mode="json").items():
            if name.endswith("_ref") and value:
                yield value


def nothing_is_said_twice_and_nothing_is_kept_silent(story: MortalStory, views: list[RunView]) -> None:
    key, bot = story.ledger.marker_key(), f"{story.twin.app.slug}[bot]"
    said: dict[tuple[str, str], str] = {}
    seen: set[int] = set()
    for issue in story.control.issues(REPO):
        for one in story.control.comments(REPO, issue["number"]):
            if one["reactions"]["eyes"]:
                assert one["reactions"]["eyes"] == 1
                seen.add(one["id"])
            if one["user"]["login"] == bot:
                slot = marked(key, one["body"])
                assert slot is not None and slot not in said, f"said twice: {one['body']}"
                said[slot] = one["body"]
    url = f"{story.twin.url}/{REPO}"
    for view in views:
        words = said.get((view.id, "status"), "")
        assert words.startswith(status.render(view.state, url)), f"{view.id} is {view.state.name}, and says: {words}"
        for effect in view.effects:
            if not effect.outcome.startswith(("not done", "abandoned", "the comment is gone", "no plan is on offer")):
                assert was_done(effect, view, said.keys(), seen), f"{effect} is settled and was not done"


def was_done(effect: EffectView, view: RunView, said: set[tuple[str, str]], seen: set[int]) -> bool:
    """What people can see of it is there."""
    match effect.effect:
        case React(comment_id=comment):
            return comment in seen
        case Say(saying=PlanSaying(version=version)):
            return (view.id, f"plan-{version}") in said
        case Say(saying=ReplySaying()):
            return (view.id, effect.effect.key) in said
        case _:
            return True


def one_pull_request_for_each_approved_plan(story: MortalStory, views: list[RunView]) -> None:
    expected, named = {}, set()
    for view in views:
        facts = [one.fact for one in view.facts]
        states = [replay(facts[:number]) for number in range(1, len(facts) + 1)]
        approvals = [one for one in states if isinstance(one, Approved)]
        assert [one for one in approvals if not may_have_approved(story, one)] == []
        approved = {one.proposal.digest for one in approvals}
        for fact in facts:
            if isinstance(fact, DraftOpened | DraftFound):
                assert fact.plan_digest in approved
                branch = branch_name(view.state.request.issue_number, view.id, fact.plan_digest)
                named.add(branch)
                if fact.pull is not None:
                    expected[fact.pull.number] = branch
    pulls = {one["number"]: one["head"]["ref"] for one in story.control.pulls(REPO)}
    assert pulls == expected
    assert set(story.control.branches(REPO)) == {"main", *named}


def may_have_approved(story: MortalStory, state: Approved) -> bool:
    """By GitHub's books: somebody who may said so of this plan."""
    world = story.twin.forge.world
    said = [one for repo in world.repos.values() for issue in repo.issues for one in issue.comments]
    [word] = [one for one in said if one.id == state.approval.source_id]
    command, _, named = word.body.partition(" ")
    by = word.author.login if word.author else ""
    return by in MAY and command == "/approve" and state.proposal.digest.startswith(named)


def no_token_lives_that_the_ledger_does_not_name(story: MortalStory) -> None:
    story.watch.close()
    story.mint.tidy()
    living = {one["token"] for one in story.lost_tokens()}
    named = {one.token_sha256 for one in story.ledger.live_mints(story.now())}
    assert len(living - named) <= len(story.ledger.unfinished_mints(story.now()))


def boxes() -> Iterator[str]:
    """Boxes that this process opened and that go on."""
    own = set(children(os.getpid()))
    for pid, words in told_of_each("cmdline"):
        if pid in own and b"bwrap" in words:
            yield words.decode(errors="replace")
