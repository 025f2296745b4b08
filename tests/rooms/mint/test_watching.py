"""Thumbs on plans that wait in several repositories: one token and one query for all, and none spoils it for others."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from app.core.belts import Belt
from app.core.effects import SourceKind
from app.core.news import OnIssue
from app.queue import Doorbell, make_celery
from worker.settings import belt_settings
from worker.shop import Shop
from worker.watching import LONGEST_REST, Watch

SECONDS = 30
WHEN = "2026-03-01T09:00:00Z"
REPOS = ("acme/greet", "acme/one", "acme/two")


class Post:
    """A publisher that watches, at its desk's time."""

    def __init__(self, desk: Any) -> None:
        env = {
            "GITHUB_API_URL": desk.twin.url,
            "DATABASE_URL": f"sqlite:///{desk.folder / 'ledger.db'}",
            "COUNTERSIGN_DATA_DIR": str(desk.folder / "data"),
            "COUNTERSIGN_MINT_FD": "3",
            "COUNTERSIGN_WATCH_SECONDS": str(SECONDS),
        }
        settings = belt_settings(Belt.PUBLISHER, env)
        mint = desk.line(Belt.PUBLISHER)[0]
        self.desk = desk
        self.watch = Watch(Shop(settings, desk.ledger, Doorbell(make_celery(settings.queue)), mint, desk.now))

    def looks(self, seconds: float = SECONDS) -> tuple[int, int]:
        """Time passes and the publisher looks: how many queries and tokens it took."""
        self.desk.ahead += timedelta(seconds=seconds)
        before = self._counted()
        self.watch.look(self.desk.now())
        return tuple(after - was for was, after in zip(before, self._counted(), strict=True))  # type: ignore[return-value]

    def _counted(self) -> tuple[int, int]:
        paths = [one["path"] for one in self.desk.control.journal()]
        return sum("graphql" in path for path in paths), sum(path.endswith("access_tokens") for path in paths)

    def thumbs(self, run: str) -> int:
        return sum(one.fact.kind == "thumb_seen" for one in self.desk.view(run).facts)


@pytest.fixture
def post(desk: Any) -> Iterator[Post]:
    made = Post(desk)
    yield made
    made.watch.close()


@pytest.fixture
def waiting(desk: Any) -> dict[str, tuple[str, dict[str, Any]]]:
    """Runs whose plans wait, with their plan comments, one in each repository."""
    made = {}
    for repo in REPOS:
        desk.goes_to(repo)
        run = desk.label()
        desk.propose(run)
        made[repo] = (run, desk.plan_comment)
    return made


def test_every_waiting_plan_of_an_installation_is_looked_at_with_one_token_and_one_query(post, desk, waiting):
    for _, comment in waiting.values():
        desk.control.react(comment["id"], "+1", "mira")
    assert post.looks() == (1, 1)
    assert [post.thumbs(run) for run, _ in waiting.values()] == [1, 1, 1]
    assert post.looks() == (1, 0)
    assert [post.thumbs(run) for run, _ in waiting.values()] == [1, 1, 1]


def test_a_repository_that_went_away_is_left_out_and_said_and_the_others_are_looked_at(post, desk, waiting, said):
    gone = desk.goes_to(REPOS[1])
    desk.covers(REPOS[0], REPOS[2])
    for _, comment in waiting.values():
        desk.control.react(comment["id"], "+1", "mira")
    post.looks()
    assert [post.thumbs(waiting[repo][0]) for repo in REPOS] == [1, 0, 1]
    assert f"repository {gone} could not be watched" in said()
    # It is asked about by itself and seldom, and no halves are tried for the others any more.
    assert post.looks() == (1, 1)
    assert post.looks() == (1, 0)
    desk.covers(*REPOS)
    post.looks(SECONDS * (LONGEST_REST + 1))
    assert post.thumbs(waiting[REPOS[1]][0]) == 1


def test_a_comment_that_may_not_be_read_leaves_the_others_readable_and_voids_nothing(post, desk, waiting, said):
    run, comment = waiting[REPOS[0]]
    thumb = desk.control.react(comment["id"], "+1", "mira")
    desk.forge_approval(run, dict(thumb), SourceKind.REACTION)
    # GitHub tells of the plans that wait, and then of those in hand.
    given = {"databaseId": 7, "createdAt": WHEN, "user": {"login": "otto", "databaseId": desk.people["otto"].id}}
    reactions = {"pageInfo": {"hasNextPage": False, "endCursor": None}, "nodes": [given]}
    shown = {"id": waiting[REPOS[2]][1]["node_id"], "body": "", "createdAt": WHEN, "reactions": reactions}
    refused = {"type": "FORBIDDEN", "path": ["nodes", 2], "message": "Resource not accessible by integration"}
    answer = {"data": {"nodes": [None, shown, None]}, "errors": [refused]}
    desk.control.fault("POST /graphql", status=200, body=json.dumps(answer))
    post.looks()
    assert desk.view(run).state.name == "approved" and "the plan comment of acme/greet could not be watched" in said()
    assert post.thumbs(waiting[REPOS[2]][0]) == 1


def test_a_plan_on_whose_issue_something_happens_is_looked_at_at_once_and_the_quiet_ones_are_left(post, desk, waiting):
    post.looks(7_200)
    assert post.looks(7_200) == (1, 1)
    assert post.looks() == (0, 0)
    state = desk.view(waiting[REPOS[1]][0]).state
    for _, comment in waiting.values():
        desk.control.react(comment["id"], "+1", "mira")
    assert desk.ledger.stir(OnIssue(state.request.repository_id, state.request.issue_number), desk.now())
    assert post.looks(1) == (1, 0)
    assert [post.thumbs(waiting[repo][0]) for repo in REPOS] == [0, 1, 0]


def test_talk_on_an_issue_without_a_plan_that_waits_costs_no_write(desk):
    run = desk.label()
    request = desk.view(run).state.request
    issue = OnIssue(request.repository_id, request.issue_number)
    assert not desk.ledger.stir(issue, desk.now())
    desk.propose(run)
    assert desk.ledger.stir(issue, desk.now())
    assert desk.ledger.waiting_proposals()[0].stirred_at is not None


def test_a_token_that_github_does_not_take_any_more_is_given_back_for_another(post, desk, waiting):
    post.looks()
    for token in desk.living():
        desk.identity.revoke_value(desk.value_of(token["token"]))
    assert post.looks() == (1, 0)
    desk.control.react(waiting[REPOS[0]][1]["id"], "+1", "mira")
    assert post.looks(SECONDS * LONGEST_REST) == (1, 1)
    assert post.thumbs(waiting[REPOS[0]][0]) == 1


def test_while_somebody_s_limit_lasts_the_watch_asks_neither_github_nor_the_mint(post, desk, waiting, said):
    assert post.looks() == (1, 1)
    run, comment = waiting["acme/one"]
    desk.ledger.pause(desk.installation_id, desk.now() + timedelta(minutes=5), "A limit was met.", desk.now())
    written = len(desk.ledger.mints())
    desk.control.react(comment["id"], "+1", "mira")
    assert [post.looks() for _ in range(3)] == [(0, 0)] * 3
    assert len(desk.ledger.mints()) == written and "watched" not in said()
    assert post.looks(300.0)[0] == 1
    assert post.thumbs(run) == 1
