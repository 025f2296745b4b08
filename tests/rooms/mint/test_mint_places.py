"""What the mint says of a place that changed while work was under way, and what becomes of a run that nobody told."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from app.core.belts import REACH, Belt, EffectKind
from app.core.run import Closed
from tests.rooms.mint.test_watching import Post
from worker.mint.mint import WORDS_SECONDS
from worker.mint.rules import lacking
from worker.mint.wire import Denied, Watch
from worker.rereading import GONE_AFTER, INTERVAL, Rereading

GRANTED = {"contents": "write", "issues": "write", "pull_requests": "write"}
HOUR = timedelta(hours=1)


@pytest.fixture
def rereading(desk: Any) -> Iterator[Rereading]:
    post = Post(desk)
    yield Rereading(post.watch._shop, post.watch)
    post.watch.close()


def waiting(desk: Any) -> str:
    """A run whose plan waits on an issue that carries the label."""
    run = desk.label()
    desk.control.label(desk.repo, desk.view(run).state.request.issue_number, "countersign", "mira")
    desk.propose(run)
    return str(run)


def without(name: str, level: str = "") -> dict[str, str]:
    """What an owner grants who takes one permission away, or gives less of it."""
    return {key: value for key, value in GRANTED.items() if key != name} | ({name: level} if level else {})


WANTING = {
    EffectKind.SAY: (without("issues", "read"), "issues: write"),
    EffectKind.DRAFT_PLAN: (without("issues"), "issues: read"),
    EffectKind.OPEN_DRAFT: (without("contents", "read"), "contents: write"),
}


@pytest.mark.parametrize("kind", WANTING)
def test_a_permission_that_was_taken_away_is_named_with_what_to_do(desk: Any, kind: EffectKind) -> None:
    granted, words = WANTING[kind]
    claim = desk.claim(desk.built() if kind is EffectKind.OPEN_DRAFT else desk.label(), kind)
    desk.control.set_installation_permissions("acme", granted)
    answer = desk.ask(claim)
    assert isinstance(answer, Denied) and answer.reason.endswith(f"it lacks {words}."), answer
    assert f"Give the App `{words}`" in answer.remedy
    # Words have no other place where they could be said, and wait for it.
    assert answer.retry_after == (WORDS_SECONDS if kind is EffectKind.SAY else None)
    assert desk.living() == []


@pytest.mark.parametrize("name", ["contents", "pull_requests"])
def test_what_could_not_be_published_is_not_carried_out(desk: Any, name: str) -> None:
    run = desk.approved()
    desk.control.set_installation_permissions("acme", without(name, "read"))
    answer = desk.ask(desk.claim(run, EffectKind.EXECUTE))
    assert isinstance(answer, Denied) and answer.voided and f"`{name}: write`" in answer.remedy
    assert desk.tokens() == []


@pytest.mark.parametrize(
    ("installed", "missing"),
    [
        ({"contents": "write", "pull_requests": "write"}, ()),
        ({"contents": "admin", "pull_requests": "write", "more": "read"}, ()),
        ({"contents": "read", "pull_requests": "write"}, ("contents: write",)),
        ({}, ("contents: write", "pull_requests: write")),
    ],
)
def test_levels_are_compared_and_reading_metadata_is_always_granted(
    installed: dict[str, str], missing: tuple[str, ...]
) -> None:
    assert lacking(REACH[EffectKind.OPEN_DRAFT].permissions, installed) == missing


PLACES = {
    "uninstalled": (lambda desk: desk.control.uninstall("acme"), True),
    "taken out": (lambda desk: desk.covers(), True),
    "deleted": (lambda desk: desk.control.delete_repo(desk.repo), True),
    "suspended": (lambda desk: desk.control.suspend("acme"), False),
    "broken": (lambda desk: desk.control.fault("POST .*/access_tokens", status=502, times=99), False),
    "without issues": (lambda desk: desk.control.change_repo(desk.repo, has_issues=False), True),
    "not granted": (lambda desk: desk.control.set_installation_permissions("acme", without("issues")), False),
}


@pytest.mark.parametrize("how", PLACES)
def test_a_run_of_a_place_that_stays_away_for_a_day_has_ended_and_no_other_has(
    desk: Any, rereading: Rereading, how: str
) -> None:
    run = waiting(desk)
    goes, ends = PLACES[how]
    goes(desk)
    for _ in range(int(GONE_AFTER / INTERVAL)):
        rereading.look(desk.now())
        desk.ahead += HOUR
    assert desk.view(run).state.name == "proposed"
    rereading.look(desk.now())
    state = desk.view(run).state
    assert isinstance(state, Closed) == ends
    if isinstance(state, Closed):
        words = "switched off" if how == "without issues" else "not installed there any more"
        assert words in state.words
        assert desk.ledger.open_runs() == ()
    rereading._watch.close()
    assert desk.living() == []


def test_a_place_that_comes_back_within_the_day_has_lost_nothing(desk: Any, rereading: Rereading) -> None:
    run = waiting(desk)
    for _ in range(3):
        desk.covers()
        desk.ahead += 20 * HOUR
        rereading.look(desk.now())
        desk.covers(desk.repo)
        desk.ahead += HOUR
        rereading.look(desk.now())
        # A token of before would not be refused, but see nothing: that says less.
        rereading._watch.close()
    assert desk.view(run).state.name == "proposed"


@pytest.mark.parametrize("other", ["suspended", "broken"])
def test_only_a_day_of_one_and_the_same_answer_ends_a_run(desk: Any, rereading: Rereading, other: str) -> None:
    """Whatever else GitHub says in between is no word on the place, and the day begins anew."""
    run = waiting(desk)
    for _ in range(3):
        desk.covers()
        desk.ahead += 20 * HOUR
        rereading.look(desk.now())
        desk.covers(desk.repo)
        PLACES[other][0](desk)
        desk.ahead += HOUR
        rereading.look(desk.now())
        desk.control.clear_faults()
        if other == "suspended":
            desk.control.unsuspend("acme")
    assert desk.view(run).state.name == "proposed"


def test_of_several_repositories_none_is_called_gone(desk: Any) -> None:
    first = desk.repository_id
    desk.propose(desk.label())
    second = desk.goes_to("acme/two")
    desk.propose(desk.label())
    desk.covers("acme/greet")
    asked = Watch(installation_id=desk.installation_id, repository_ids=(first, second))
    answer = desk.mint.watch(desk.caller(Belt.PUBLISHER), asked)
    assert isinstance(answer, Denied) and answer.fewer and not answer.gone
