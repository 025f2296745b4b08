"""A limit of GitHub's, whoever meets it: everybody who asks for that installation knows, and asks no more meanwhile."""

import json
from datetime import timedelta
from typing import Any

import pytest

from app.core.belts import Belt, EffectKind
from app.core.verdict import Refused
from app.ledger.limits import OF_THE_APP
from tests.rooms.mint.test_watching import REPOS, SECONDS, Post
from worker.mint.catching_up import CatchingUp
from worker.mint.wire import Denied, Token, Watch
from worker.rereading import Rereading
from worker.watching import LONGEST_REST

SECONDARY = {"status": 403, "body": json.dumps({"message": "You have exceeded a secondary rate limit."})}
SPENT = {"data": None, "errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}
CUT = r"POST /app/installations/\d+/access_tokens"


def asked(desk: Any) -> int:
    """How often GitHub was asked anything."""
    return len(desk.control.journal())


def waits(desk: Any, run: str) -> str:
    """Why the newest effect of the run cannot be claimed."""
    row = desk.view(run).effects[-1]
    refused = desk.ledger.claim(row.id, Belt.PLANNER, desk.now(), timedelta(minutes=1))
    assert isinstance(refused, Refused), refused
    return str(refused)


def test_a_limit_that_is_met_where_tokens_are_cut_is_the_app_s_and_stops_every_cutting_and_the_log(desk):
    claim, other = (desk.claim(desk.label(), EffectKind.SAY, 300) for _ in range(2))
    desk.control.fault(CUT, **SECONDARY)
    assert desk.ask(claim).retry_after == 60.0
    before = asked(desk)
    denied = desk.ask(other)
    assert isinstance(denied, Denied) and 50 < denied.retry_after <= 60 and "limit was met" in denied.reason
    CatchingUp(desk.ledger, desk.mint, desk.twin.url, desk.now).round()
    assert asked(desk) == before
    desk.ahead = timedelta(seconds=61)
    assert isinstance(desk.ask(other), Token)


def test_a_limit_that_the_delivery_log_met_stops_the_cutting_as_well(desk):
    desk.control.fault("GET /app/hook/deliveries", **SECONDARY)
    CatchingUp(desk.ledger, desk.mint, desk.twin.url, desk.now).round()
    assert desk.ledger.paused(OF_THE_APP, desk.now()) is not None
    before = asked(desk)
    assert isinstance(desk.ask(desk.claim(desk.label(), EffectKind.SAY)), Denied) and asked(desk) == before


def test_a_limit_that_is_met_where_an_approval_is_looked_at_again_stops_the_installation(desk):
    run, claim = desk.label(), desk.claim(desk.built(), EffectKind.OPEN_DRAFT, 300)
    desk.control.fault("POST /graphql", status=200, body=json.dumps(SPENT))
    assert desk.ask(claim).retry_after == 60.0
    assert desk.living() == []
    assert "primary limit was met" in waits(desk, run)
    before = asked(desk)
    assert isinstance(desk.ask(claim), Denied) and asked(desk) == before
    desk.ahead = timedelta(seconds=61)
    assert isinstance(desk.ask(claim), Token)


@pytest.fixture
def post(desk: Any) -> Any:
    made = Post(desk)
    yield made
    made.watch.close()


def test_a_limit_that_watching_met_stops_the_installation_and_the_watching_until_it_is_over(post, desk):
    other, run = desk.label(), desk.label()
    desk.propose(run)
    desk.control.react(desk.plan_comment["id"], "+1", "mira")
    desk.control.fault("POST /graphql", **SECONDARY)
    assert post.looks() == (1, 1) and post.thumbs(run) == 0
    assert "secondary rate limit was met" in waits(desk, other)
    before = asked(desk)
    assert post.looks(SECONDS / 2) == (0, 0)
    Rereading(post.watch._shop, post.watch).look(desk.now())
    question = Watch(installation_id=desk.installation_id, repository_ids=(desk.repository_id,))
    assert isinstance(desk.mint.watch(desk.caller(Belt.PUBLISHER), question), Denied)
    assert asked(desk) == before
    assert post.looks(90) == (1, 0) and post.thumbs(run) == 1


def test_a_limit_that_rereading_met_stops_the_installation_and_its_run_is_read_when_it_is_over(post, desk):
    run = desk.label()
    rereading = Rereading(post.watch._shop, post.watch)
    desk.control.fault("GET .*/issues/1$", **SECONDARY)
    rereading.look(desk.now())
    assert "secondary rate limit was met" in waits(desk, run)
    before = asked(desk)
    rereading.look(desk.now())
    assert asked(desk) == before
    desk.ahead = timedelta(seconds=61)
    rereading.look(desk.now())
    assert asked(desk) > before


def test_a_suspended_installation_is_left_alone_by_watching_for_a_while_and_no_repository_is_blamed(post, desk, said):
    for repo in REPOS[:2]:
        desk.goes_to(repo)
        desk.propose(desk.label())
    desk.control.suspend("acme")
    post.looks()
    before = asked(desk)
    for _ in range(3):
        post.looks()
    assert asked(desk) == before and "could not be watched" not in said()
    desk.control.unsuspend("acme")
    assert post.looks(SECONDS * LONGEST_REST)[1] == 1


def test_a_token_whose_giving_back_met_a_limit_is_given_back_after_it_and_not_tried_meanwhile(desk):
    desk.cut(desk.claim(desk.label(), EffectKind.DRAFT_PLAN))
    headers = {"retry-after": "1"}
    desk.control.fault("DELETE /installation/token", status=429, body="{}", headers=headers)
    desk.mint.hung_up(desk.caller(Belt.PLANNER))
    before = asked(desk)
    desk.mint.tidy()
    assert asked(desk) == before and len(desk.living()) == 1
    desk.mint.end_all()
    assert desk.living() == []
