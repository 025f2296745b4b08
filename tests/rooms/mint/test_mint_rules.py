"""What the mint cuts and what it refuses, by the ledger's rows."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from app.core import facts as f
from app.core.belts import REACH, Belt, EffectKind
from app.core.effects import SourceKind
from app.core.facts import LabelRemoved
from app.core.gap import Gap
from app.core.news import Delivery, News, OnRepository, Seen
from app.ledger.outcomes import Claim
from worker.mint.wire import Denied, Done, Hello, Release, Token, Watch


def watch_of(desk: Any, *further: int) -> Watch:
    return Watch(installation_id=desk.installation_id, repository_ids=(desk.repository_id, *further))


def refusals(desk: Any) -> list[str]:
    return [one.refused for one in desk.ledger.mints() if one.refused]


def test_each_effect_gets_exactly_its_permissions_for_one_repository(desk):
    wanted = {}
    for kind in (EffectKind.DRAFT_PLAN, EffectKind.SAY):
        token = desk.cut(desk.claim(desk.label(), kind))
        wanted[kind] = (dict(REACH[kind].permissions) | dict(REACH[kind].where_granted), token.permissions)
        assert desk.tokens()[-1]["repository_ids"] == [desk.repository_id]
        desk.mint.release(desk.caller(REACH[kind].belt), Release(mint_id=token.mint_id))
    token = desk.cut(desk.claim(desk.approved(), EffectKind.EXECUTE))
    wanted[EffectKind.EXECUTE] = ({"metadata": "read", "contents": "read"}, token.permissions)
    desk.mint.release(desk.caller(Belt.EXECUTOR), Release(mint_id=token.mint_id))
    token = desk.cut(desk.claim(desk.built(), EffectKind.OPEN_DRAFT))
    expected = {"metadata": "read", "contents": "write", "pull_requests": "write"}
    wanted[EffectKind.OPEN_DRAFT] = (expected, token.permissions)
    assert all(asked == given for asked, given in wanted.values()), wanted


def test_every_mint_and_revocation_is_in_the_ledger_by_hash_alone(desk):
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    token = desk.cut(claim)
    (kept,) = desk.ledger.live_mints(desk.now())
    at_github = desk.tokens()[-1]
    assert kept.token_sha256 == at_github["token"]
    assert (kept.belt, kept.purpose, kept.effect_id) == (Belt.PLANNER, "draft_plan", claim.effect_id)
    assert kept.permissions == token.permissions and kept.repository_id == desk.repository_id
    assert desk.mint.release(desk.caller(Belt.PLANNER), Release(mint_id=token.mint_id)) == Done()
    assert desk.ledger.live_mints(desk.now()) == ()
    assert desk.living() == []
    assert token.value not in repr(desk.ledger.mints())


@pytest.mark.parametrize("belt", [Belt.EXECUTOR, Belt.PUBLISHER])
def test_an_effect_of_another_belt_is_refused_and_recorded(desk, belt):
    answer = desk.ask(desk.claim(desk.label(), EffectKind.DRAFT_PLAN), belt)
    assert isinstance(answer, Denied) and "is not the" in answer.reason
    assert refusals(desk) == [answer.reason]
    assert desk.tokens() == []


def expired(desk: Any, claim: Claim) -> Claim:
    desk.ahead = timedelta(seconds=61)
    return claim


def settled(desk: Any, claim: Claim) -> Claim:
    desk.ledger.settle(claim, [], "done", desk.now())
    return claim


def taken_over(desk: Any, claim: Claim) -> Claim:
    desk.ahead = timedelta(seconds=61)
    desk.claim(claim.run, claim.effect.kind)
    return claim


CASES = {
    "a lease that is over": (expired, "not claimed"),
    "an effect that is settled": (settled, "settled already"),
    "a claim that another took over": (taken_over, "not claimed"),
    "a fence that was made up": (lambda desk, claim: replace(claim, fence=claim.fence + 1), "not claimed"),
    "an effect that is not there": (lambda desk, claim: replace(claim, effect_id=99_999), "no such effect"),
    "a run that is not there": (lambda desk, claim: replace(claim, run="r-nowhere"), "no such run"),
    "a run of somebody else": (lambda desk, claim: replace(claim, run=desk.label()), "no such effect"),
}


@pytest.mark.parametrize("what", CASES)
def test_a_claim_that_does_not_stand_is_refused_and_recorded(desk, what):
    spoil, words = CASES[what]
    answer = desk.ask(spoil(desk, desk.claim(desk.label(), EffectKind.DRAFT_PLAN)))
    assert isinstance(answer, Denied) and words in answer.reason
    assert refusals(desk) == [answer.reason]
    assert desk.tokens() == []


def test_what_is_owed_no_longer_gets_no_token(desk):
    run = desk.label()
    claim = desk.claim(run, EffectKind.DRAFT_PLAN)
    desk.ledger.record(run, LabelRemoved(at=desk.now(), person=None))
    assert isinstance(desk.ask(claim), Denied)
    assert desk.tokens() == []


def test_an_approval_whose_time_is_over_gives_no_write_token(desk):
    run = desk.built()
    desk.ahead = timedelta(days=8)
    answer = desk.ask(desk.claim(run, EffectKind.OPEN_DRAFT))
    assert isinstance(answer, Denied) and "no live approval" in answer.reason
    assert desk.tokens() == []


def test_an_effect_has_one_token_at_a_time(desk):
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    first, second = desk.cut(claim), desk.cut(claim)
    assert first.value != second.value
    assert [one.id for one in desk.ledger.live_mints(desk.now())] == [second.mint_id]
    assert len(desk.living()) == 1


def test_a_renamed_repository_is_known_by_its_id(desk):
    run = desk.label()
    desk.control.change_repo("acme/greet", name="welcome")
    seen = Seen(desk.repository_id, "acme/welcome", desk.installation_id)
    news = News(OnRepository(desk.repository_id), None, seen)
    desk.ledger.receive(Delivery("renamed", "repository", "renamed", desk.now(), b"{}"), news)
    assert desk.cut(desk.claim(run, EffectKind.DRAFT_PLAN)).repository_ids == (desk.repository_id,)
    assert desk.tokens()[-1]["repository_ids"] == [desk.repository_id]


def test_what_an_installation_did_not_grant_is_left_out_where_it_is_optional(desk):
    desk.control.set_installation_permissions(
        "acme", {"contents": "write", "issues": "write", "pull_requests": "write"}
    )
    token = desk.cut(desk.claim(desk.label(), EffectKind.DRAFT_PLAN))
    assert "checks" not in token.permissions


def test_reading_that_an_operator_added_to_the_app_is_used_and_never_more_than_reading(desk):
    granted = {"contents": "write", "issues": "write", "pull_requests": "write", "statuses": "write"}
    desk.control.set_installation_permissions("acme", granted)
    token = desk.cut(desk.claim(desk.label(), EffectKind.DRAFT_PLAN))
    assert token.permissions["statuses"] == "read"


# -- watching -------------------------------------------------------------------------------------------------


def test_reactions_are_watched_by_the_publisher_while_a_plan_waits_there(desk):
    watch = watch_of(desk)
    publisher = desk.caller(Belt.PUBLISHER)
    answer = desk.mint.watch(publisher, watch)
    assert isinstance(answer, Denied) and "No run is open" in answer.reason
    run = desk.label()
    desk.propose(run)
    for belt in (Belt.PLANNER, Belt.EXECUTOR):
        answer = desk.mint.watch(desk.caller(belt), watch)
        assert isinstance(answer, Denied) and f"not the {belt}'s" in answer.reason
    token = desk.mint.watch(publisher, watch)
    assert isinstance(token, Token) and token.permissions == {"metadata": "read", "issues": "read"}
    again = desk.mint.watch(publisher, watch)
    assert [one.id for one in desk.ledger.live_mints(desk.now())] == [again.mint_id]
    assert isinstance(desk.mint.watch(publisher, Watch(installation_id=7, repository_ids=(1,))), Denied)
    assert len(refusals(desk)) == 4


def test_reactions_are_watched_while_a_plan_stands_approved_by_one(desk):
    watch = watch_of(desk)
    publisher = desk.caller(Belt.PUBLISHER)
    run = desk.label()
    desk.propose(run)
    thumb = desk.control.react(desk.plan_comment["id"], "+1", "mira")
    desk.forge_approval(run, dict(thumb), SourceKind.REACTION)
    assert desk.ledger.waiting_proposals() == ()
    assert isinstance(desk.mint.watch(publisher, watch), Token)


def test_labels_are_looked_for_where_the_mint_said_so_and_only_until_that_is_done(desk):
    idle = desk.goes_to("acme/idle")
    publisher, watch = desk.caller(Belt.PUBLISHER), watch_of(desk, idle, idle - 1)
    assert isinstance(desk.mint.watch(publisher, watch), Denied)
    gap = Gap(desk.now() - timedelta(days=5), desk.now() - timedelta(days=3))
    desk.ledger.to_be_read([Seen(idle, "acme/idle", desk.installation_id)], gap, desk.now())
    token = desk.mint.watch(publisher, watch)
    assert isinstance(token, Token) and token.permissions == {"metadata": "read", "issues": "read"}
    assert token.repository_ids == (idle,)
    elsewhere = Watch(installation_id=desk.installation_id + 1, repository_ids=(idle,))
    assert isinstance(desk.mint.watch(publisher, elsewhere), Denied)
    assert isinstance(desk.mint.watch(desk.caller(Belt.PLANNER), watch), Denied)
    desk.ledger.was_read(desk.ledger.unheard(desk.now())[0])
    assert isinstance(desk.mint.watch(publisher, watch), Denied)


def test_one_token_watches_exactly_the_waiting_repositories_of_one_installation_whatever_is_asked(desk):
    first = desk.repository_id
    desk.propose(desk.label())
    idle = desk.goes_to("acme/idle")
    second = desk.goes_to("acme/other")
    desk.propose(desk.label())
    publisher = desk.caller(Belt.PUBLISHER)
    token = desk.mint.watch(publisher, watch_of(desk, first, idle, 99))
    assert token.repository_ids == (first, second) and token.permissions == {"metadata": "read", "issues": "read"}
    assert sorted(desk.tokens()[-1]["repository_ids"]) == [first, second]
    asked = Watch(installation_id=desk.installation_id + 1, repository_ids=(first, second))
    assert isinstance(desk.mint.watch(publisher, asked), Denied)
    kept = {one.id: (one.repository_id, one.beside) for one in desk.ledger.mints()}
    assert kept[token.mint_id] == (first, (second,))
    # A token for some of them ends the one for all: a line has one at a time for each repository.
    desk.mint.watch(publisher, watch_of(desk))
    assert [one["repository_ids"] for one in desk.living()] == [[second]]


def test_where_one_of_several_repositories_is_gone_fewer_are_to_be_asked_for(desk):
    first = desk.repository_id
    desk.propose(desk.label())
    desk.goes_to("acme/other")
    desk.propose(desk.label())
    desk.covers("acme/greet")
    denied = desk.mint.watch(desk.caller(Belt.PUBLISHER), watch_of(desk, first))
    assert isinstance(denied, Denied) and denied.fewer
    alone = desk.mint.watch(desk.caller(Belt.PUBLISHER), watch_of(desk))
    assert isinstance(alone, Denied) and not alone.fewer


def test_nothing_is_read_where_every_run_has_ended(desk):
    run = desk.approved()
    assert isinstance(desk.mint.watch(desk.caller(Belt.PUBLISHER), watch_of(desk)), Token)
    desk.ledger.record(run, f.RepositoryEnded(at=desk.now(), how="gone"))
    answer = desk.mint.watch(desk.caller(Belt.PUBLISHER), watch_of(desk))
    assert isinstance(answer, Denied) and "No run is open" in answer.reason


# -- the answer of GitHub -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broader",
    [
        {"permissions": {"metadata": "read", "contents": "write", "issues": "read", "pull_requests": "read"}},
        {"permissions": {"metadata": "read"}},
        {"repositories": [{"id": 1}, {"id": 2}]},
        {"repository_selection": "all"},
    ],
    ids=["more", "less", "another repository", "all repositories"],
)
def test_a_token_that_is_not_what_was_asked_for_is_refused(desk, broader):
    answer = {
        "token": "ghs_" + "x" * 36,
        "expires_at": "2099-01-01T00:00:00Z",
        "permissions": {"metadata": "read", "issues": "write", "pull_requests": "write"},
        "repositories": [{"id": desk.repository_id}],
        "repository_selection": "selected",
    }
    desk.control.fault(r"POST /app/installations/\d+/access_tokens", status=201, body=json.dumps(answer | broader))
    denied = desk.ask(desk.claim(desk.label(), EffectKind.SAY))
    assert isinstance(denied, Denied) and "GitHub cut" in denied.reason
    assert answer["token"] not in str(denied) and answer["token"] not in str(refusals(desk))
    assert refusals(desk) and desk.ledger.live_mints(desk.now()) == ()


@pytest.mark.parametrize(
    ("status", "wait"), [(500, 20.0), (502, 20.0), (429, 60.0), (403, 3600.0), (404, None), (401, 60.0)]
)
def test_github_s_refusals_become_answers_that_say_whether_waiting_helps(desk, status, wait):
    body = '{"message": "This installation has been suspended"}' if status == 403 else "{}"
    desk.control.fault(r"POST /app/installations/\d+/access_tokens", status=status, body=body)
    claim = desk.claim(desk.label(), EffectKind.SAY, seconds=300)
    denied = desk.ask(claim)
    assert isinstance(denied, Denied) and denied.retry_after == wait and not denied.voided
    # A limit is waited for; anything else GitHub may be asked again at once.
    desk.ahead = timedelta(seconds=60 if status == 429 else 0)
    assert isinstance(desk.ask(claim), Token)


def test_the_bot_s_id_that_cannot_be_had_leaves_no_token_behind(desk):
    desk.control.fault(r"GET /app$", status=500)
    assert isinstance(desk.ask(desk.claim(desk.label(), EffectKind.SAY)), Denied)
    assert desk.living() == [] and desk.ledger.live_mints(desk.now()) == ()


def test_a_question_that_only_a_greeting_may_ask_has_no_answer_here(desk):
    caller, _ = desk.line(Belt.PLANNER)
    assert isinstance(caller._ask(Hello(belt="planner")), Denied)
