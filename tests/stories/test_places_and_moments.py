"""The place of a run changes under it, at whatever moment of its life: the run ends with a reason, or goes on where the
place is now or when it comes back within a day; and nothing is owed, asked or held at the end.

The table is every change of `tests.fakes.places` at every moment, told by a delivery and untold. The short form tries
those that were seen to go wrong once; a soak tries everything, in any order.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from typing import Any, NamedTuple

import pytest

from app.core.belts import Belt
from app.core.run import Closed, Proposed, Published, State
from infra.twin.state import Repo
from tests.fakes.greeting import FILES
from tests.fakes.household import SECRET
from tests.fakes.moments import Moment, come_back, moment
from tests.fakes.places import CHANGES, ENDS, Deeds
from tests.fakes.story import Story
from tests.stories.test_packs import NO_MODEL, MakeStory, replace_form
from worker import tasks
from worker.rereading import Rereading
from worker.watching import Watch

pytestmark = [pytest.mark.needs_userns, pytest.mark.timeout(0)]

TEST = '#!/bin/sh\nset -e\nout=$(sh greet.sh)\ntest "$out" = "hello world"\n'
MOST_REQUESTS = 350
"""To GitHub, in the two days or so that are lived through: whoever asks on and on needs more."""
AWAY_HOURS, HOURS = 6, 60
HOUR = timedelta(hours=1)


class Meanwhile(NamedTuple):
    """A moment in the doing of an effect: after so many requests that fit this pattern."""

    before: str
    kind: str
    pattern: str
    skip: int


MEANWHILE = {
    # The first token that is given back is the mint's own, with which it asked again.
    "executing": Meanwhile("approved", "execute", "^DELETE /installation/token$", 1),
    "opening": Meanwhile("built", "open_draft", "^POST /repos/[^/]+/[^/]+/git/refs$", 0),
}
MOMENTS = ("wanted", "proposed", "approved", "executing", "built", "opening")


class Cell(NamedTuple):
    """What happens, whether a delivery tells of it, and when."""

    change: str
    told: bool
    at: str


TABLE = [Cell(*one) for one in product(CHANGES, (True, False), MOMENTS)]
SEEN_TO_FAIL = [
    Cell("renamed", True, "opening"),
    Cell("transferred, no App", True, "opening"),
    Cell("blocked", False, "wanted"),
]


@dataclass
class Lives:
    """A run whose place changes, and a maintainer who approves as soon as that can be done."""

    story: Story
    run: str
    repository_id: int
    moments: dict[str, Moment]
    approved: bool = False

    @property
    def state(self) -> State:
        view = self.story.ledger.run(self.run)
        assert view is not None
        return view.state

    @property
    def repo(self) -> Repo | None:
        """The repository under its name of today."""
        return self.story.twin.forge.world.repos.get(self.repository_id)

    def rewind(self, cell: Cell) -> None:
        """It is that moment again, and nobody remembers what came after it."""
        before = MEANWHILE[cell.at].before if cell.at in MEANWHILE else cell.at
        story, world = self.story, self.story.twin.forge.world
        story.watch.close()
        story.control.clear_faults()
        used = world._ids["other"]
        come_back(story, self.moments[before])
        # Deliveries are not rewound, and each has an id of its own.
        world._ids["other"] = used
        story.control.set_hook(None)
        story.watch = Watch(story.shops[Belt.PUBLISHER])
        self.approved = before not in ("wanted", "proposed")

    def suffers(self, cell: Cell) -> None:
        change, story = CHANGES[cell.change], self.story
        change.first(story)
        if cell.told:
            story.control.set_hook(f"{story.web_url}/webhooks/github", SECRET)
        if cell.at in MEANWHILE:
            when = MEANWHILE[cell.at]
            fault = {"pattern": when.pattern, "skip": when.skip, "mode": "meanwhile", "deeds": list(change.deeds)}
            armed = story.twin.forge.faults.add(fault)
            story.does(next(one for one in story.ledger.debts() if one.kind == when.kind))
            assert armed.hits == 1
        else:
            self.do(change.deeds)
        story.control.set_hook(f"{story.web_url}/webhooks/github", SECRET)

    def do(self, deeds: Deeds) -> None:
        for deed, values in deeds:
            self.story.control.do(deed, **values)

    def goes_on(self, hours: int) -> None:
        """Belts work, the publisher sweeps once an hour, and time passes until nothing more can come of it."""
        story = self.story
        rereading, until = Rereading(story.shops[Belt.PUBLISHER], story.watch), story.now() + hours * HOUR
        while story.now() < until:
            self._approve()
            story.crank()
            tasks.sweep(story.shops[Belt.PUBLISHER], story.watch, rereading)
            story.crank()
            debts, state = story.ledger.debts(), self.state
            rests = isinstance(state, Closed | Published)
            if rests and not debts:
                return
            due = [at for one in debts for at in (one.available_at, one.lease_until) if at is not None]
            later = min([*due, story.now() + HOUR]) - story.now()
            story.pass_time(max(later, timedelta()) + timedelta(seconds=1))

    def _approve(self) -> None:
        state, repo = self.state, self.repo
        offered = isinstance(state, Proposed) and state.proposal.comment_id is not None
        if not self.approved and offered and repo is not None and speakable(repo):
            self.story.control.comment(repo.full_name, 1, "/approve", "mira")
            self.approved = True


def speakable(repo: Repo) -> bool:
    """Whether people can comment on the run's issue."""
    issue = repo.issues[0]
    return not (repo.archived or repo.blocked or issue.deleted or issue.moved_to) and repo.has_issues


def lived(make_story: MakeStory) -> Lives:
    """Every moment that one can begin at, of a run without a model."""
    files, issue = dict(FILES) | {"tests/test_greet.sh": TEST}, replace_form("helo", "hello")
    story = make_story(files=files, issue=issue, furnishing=NO_MODEL)
    story.control.set_rate_limit(10**9)
    story.ledger.marker_key()
    moments = {}
    story.away = {Belt.PLANNER}
    story.mira.labels("countersign:replace")
    moments["wanted"] = moment(story)
    story.away = set()
    story.crank()
    moments["proposed"] = moment(story)
    story.away = {Belt.EXECUTOR}
    story.mira.says("/approve")
    moments["approved"] = moment(story)
    story.away = {Belt.PUBLISHER}
    story.crank()
    moments["built"] = moment(story)
    story.away = set()
    request = story.view().state.request
    return Lives(story, request.run, request.repository_id, moments)


def chosen(chance: random.Random, soak_seconds: float | None) -> Iterator[Cell]:
    if soak_seconds is None:
        yield from SEEN_TO_FAIL
        return
    until = time.monotonic() + soak_seconds
    for cell in chance.sample(TABLE, len(TABLE)):
        if time.monotonic() < until:
            yield cell


def test_whatever_becomes_of_its_place_at_whatever_moment_a_run_ends_with_words_or_goes_on(
    make_story: MakeStory, chance: random.Random, soak_seconds: float | None
) -> None:
    lives = lived(make_story)
    for cell in chosen(chance, soak_seconds):
        lives.rewind(cell)
        asked = len(lives.story.control.journal())
        lives.suffers(cell)
        lives.goes_on(AWAY_HOURS)
        lives.do(CHANGES[cell.change].back if lives.repo is not None else ())
        lives.goes_on(HOURS)
        assert len(lives.story.control.journal()) - asked <= MOST_REQUESTS, cell
        is_at_rest(lives, cell)
    lives.story.ended = True


def is_at_rest(lives: Lives, cell: Cell) -> None:
    story, state = lives.story, lives.state
    assert story.ledger.debts() == (), cell
    story.watch.close()
    story.mint.tidy()
    now = story.now().timestamp()
    assert [one for one in story.control.tokens() if not one["revoked"] and one["expires"] > now] == [], cell
    assert story.ledger.live_mints(story.now()) == (), cell
    told = f"{state.name} {state.words}" if isinstance(state, Closed) else state.name
    assert any(told.startswith(end) for end in ENDS.get(cell.change, ("published",))), (cell, told)
    ours = [one for one in _issues(lives) if one.pull is not None]
    known = state.pull if isinstance(state, Closed | Published) else None
    assert [one.number for one in ours] == ([known.number] if known is not None and lives.repo else []), cell
    if isinstance(state, Published) and lives.repo is not None and speakable(lives.repo):
        assert state.pull.draft and "Draft pull request" in _status(lives), cell


def _issues(lives: Lives) -> list[Any]:
    return lives.repo.issues if lives.repo is not None else []


def _status(lives: Lives) -> str:
    said = [one.body for one in _issues(lives)[0].comments if one.body.startswith("**Countersign** ·")]
    return str(said[-1])
