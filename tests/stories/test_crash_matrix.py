"""The crash matrix: whatever process dies at whatever of its writes, the end is that of the undisturbed run.

For each effect of the table, its belt and the mint die before and after every write that they make for it: to the
ledger (each is one transaction, and those are whole, see `test_ledger_crash`), to the broker and to GitHub. Another
process takes over. Then what people see, what the ledger tells and what it owes are what they are where nobody died,
and so the rest of the run is as well. The short form chooses by chance, `make soak` tries everything.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import pytest

from app.core.belts import Belt, EffectKind
from app.core.effects import Say, Slot
from app.core.run import Built, Closed
from app.ledger.outcomes import DebtView
from tests.fakes.greeting import FILES, ISSUE, SCRIPT, script
from tests.fakes.household import SECRET, Furnishing
from tests.fakes.moments import come_back, differences, moment, what_counts
from tests.fakes.mortal import GITHUB, MINT, MortalStory, Point
from tests.fakes.story import REPO
from tests.stories.test_drafts_left import PULL
from tests.stories.test_packs import NO_MODEL, RESEARCH, replace_form
from tests.stories.test_splits import splitting
from tests.stories.test_storm import PAGES

pytestmark = [
    pytest.mark.needs_userns,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.timeout(0),
]

EVERY_EFFECT = {*EffectKind} - {EffectKind.SAY} | {f"{EffectKind.SAY} {slot}" for slot in Slot}
"""The table, and of what is said each kind of comment."""

Deed = Callable[[MortalStory], object]


@dataclass(frozen=True)
class Course:
    """A run in which nobody dies: what people do, each once nothing is owed any more, and the effects it reaches."""

    deeds: tuple[Deed, ...]
    reaches: frozenset[str]
    script: dict[str, Any] = field(default_factory=lambda: SCRIPT)
    files: dict[str, str] = field(default_factory=lambda: FILES)
    issue: str = ISSUE
    env: dict[str, str] = field(default_factory=dict)
    only: frozenset[str] = frozenset()
    """The effects at which the short form dies; where none is named, at every one."""


def labels(label: str = "countersign") -> Deed:
    return lambda story: story.control.label(REPO, 1, label, "mira")


def says(words: str) -> Deed:
    return lambda story: story.mira.writes(words)


def is_rejected_over_the_draft(story: MortalStory) -> None:
    """A publisher dies when it has opened the draft; meanwhile the run is rejected, and then the lease is over."""
    story.mira.writes("/approve")
    story.control.settle()
    while not isinstance(story.state(), Built):
        story.does(story.ledger.debts()[0])
    [draft] = [one for one in story.ledger.debts() if one.kind == EffectKind.OPEN_DRAFT]
    assert story.dies_in(draft, Point(Belt.PUBLISHER, GITHUB, PULL, after=True))
    story.mira.writes("/reject")
    story.control.settle()
    story.crank()
    assert isinstance(story.state(), Closed)
    story.pass_time(story.furnishing.lease)
    story.does(draft)


COURSES = {
    "a draft": Course(
        (labels(), says("/why"), says("/approve")),
        frozenset(EVERY_EFFECT - {"say split", "say report", "stage_draft", "find_draft"}),
    ),
    "a staged draft": Course(
        (labels(), says("/approve")),
        frozenset({"look_up_authority", "draft_plan", "say status", "say plan", "react", "execute", "stage_draft"}),
        files={**FILES, ".github/countersign.yml": "mode: staged\n"},
        only=frozenset({"stage_draft"}),
    ),
    "a draft that is found": Course(
        (labels("countersign:replace"), is_rejected_over_the_draft),
        frozenset({"look_up_authority", "draft_plan", "say status", "say plan", "say reply", "find_draft"}),
        files=PAGES,
        issue=replace_form("helo", "hello"),
        env=NO_MODEL.env,
        only=frozenset({"find_draft"}),
    ),
    "a report": Course(
        (labels("countersign:research"), says("/approve")),
        frozenset({"look_up_authority", "draft_plan", "say status", "say plan", "react", "execute", "say report"}),
        RESEARCH,
    ),
    "a split": Course(
        (labels(),), frozenset({"look_up_authority", "draft_plan", "say status", "say split"}), script(splitting())
    ),
}


class Where(NamedTuple):
    """A course on a database and a broker."""

    course: str
    database: str
    broker: str


SHORT = [
    Where("a draft", "sqlite", "folders"),
    Where("a staged draft", "postgresql", "redis"),
    Where("a draft that is found", "sqlite", "folders"),
    Where("a report", "sqlite", "redis"),
    Where("a split", "postgresql", "folders"),
]
EVERYWHERE = [Where(*at) for at in product(COURSES, ("sqlite", "postgresql"), ("folders", "redis"))]

IN_SHORT = {EffectKind.DRAFT_PLAN: 1, EffectKind.EXECUTE: 1}
"""Moments of death that the short form tries; of every other effect two."""


def test_every_effect_of_the_table_is_reached_by_a_course_in_which_nobody_dies() -> None:
    assert frozenset().union(*(course.reaches for course in COURSES.values())) == EVERY_EFFECT


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each course on one database and one broker; in a soak on each of both."""
    if "where" in metafunc.fixturenames:
        chosen = SHORT if metafunc.config.option.seconds is None else EVERYWHERE
        metafunc.parametrize("where", chosen, ids=[", ".join(at) for at in chosen])


def test_whoever_dies_at_whatever_write_the_end_is_that_of_the_undisturbed_run(
    where: Where, story_of_mortals: MortalStory, chance: random.Random, soak_seconds: float | None
) -> None:
    taken, story = COURSES[where.course], story_of_mortals
    until = None if soak_seconds is None else time.monotonic() + soak_seconds
    reached: set[str] = set()
    for debt in undisturbed(story, taken.deeds):
        kind = kind_of(story, debt)
        if until is None and (kind in reached or (taken.only and kind not in taken.only)):
            story.does(debt)
        else:
            few = IN_SHORT.get(EffectKind(debt.kind), 2)
            every_death(story, debt, lambda points, few=few: chosen(points, chance, until, few))
        reached.add(kind)
    assert reached == taken.reaches
    story.ended = True


@pytest.fixture
def story_of_mortals(
    where: Where, make_story: Callable[..., MortalStory], request: pytest.FixtureRequest
) -> MortalStory:
    env = {"CELERY_BROKER_URL": request.getfixturevalue("redis_url")} if where.broker == "redis" else {}
    ledger = {"ledger_url": request.getfixturevalue("postgres_url")} if where.database == "postgresql" else {}
    taken = COURSES[where.course]
    furnishing = Furnishing({**env, **taken.env})
    parts = {"files": taken.files, "issue": taken.issue, "furnishing": furnishing, **ledger}
    return make_story(taken.script, kind=MortalStory, **parts)


def undisturbed(story: MortalStory, deeds: tuple[Deed, ...]) -> Iterator[DebtView]:
    """What comes to be owed, one after another, while people do one deed after another."""
    story.control.set_rate_limit(10**9)
    # It is made with the first comment, by chance, and every comment shows it.
    story.ledger.marker_key()
    for deed in deeds:
        story.control.set_hook(f"{story.web_url}/webhooks/github", SECRET)
        deed(story)
        story.control.settle()
        story.control.set_hook(None)
        while debts := story.ledger.debts():
            yield debts[0]


def kind_of(story: MortalStory, debt: DebtView) -> str:
    view = story.ledger.run(debt.run)
    assert view is not None
    effect = next(one.effect for one in view.effects if one.id == debt.effect_id)
    return f"{effect.kind} {effect.saying.slot}" if isinstance(effect, Say) else str(effect.kind)


def chosen(points: tuple[Point, ...], chance: random.Random, until: float | None, few: int) -> Iterator[Point]:
    """All of them, in any order, as long as there is time; or a few."""
    for point in chance.sample(points, few if until is None else len(points)):
        if until is None or time.monotonic() < until:
            yield point


def every_death(story: MortalStory, debt: DebtView, choose: Callable[[tuple[Point, ...]], Iterator[Point]]) -> None:
    """The effect is done without a death, and again from the same moment with each of those that are chosen."""
    before = moment(story)
    points = story.points_of(debt)
    assert {point.place for point in points} >= {"ledger", "GitHub"}
    expected, after = what_counts(story), moment(story)
    assert debt.effect_id not in {one.effect_id for one in story.ledger.debts()}
    assert story.lost_tokens() == []
    for point in choose(points):
        come_back(story, before)
        if story.dies_in(debt, point):
            # What a belt had is ended at once; what the mint had lives until it is over, and the ledger names it.
            assert point.process == MINT or story.lost_tokens() == [], f"{debt.kind} {debt.key}: {point}"
            story.goes_on(debt)
        assert differences(expected, what_counts(story)) == [], f"{debt.kind} {debt.key}: {point}"
        assert point.process == MINT or story.lost_tokens() == [], f"{debt.kind} {debt.key}: {point}"
    come_back(story, after)
