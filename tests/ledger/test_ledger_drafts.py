"""A draft that is settled without a word of how far it came: the run learns that, if anything can have been made."""

from datetime import timedelta

import pytest

from app.core import facts as f
from app.core.belts import Belt
from app.core.branches import branch_name
from app.core.budget import Spent
from app.core.effects import FindDraft, OpenDraft
from app.core.issue import Person
from app.core.span import Minted
from app.ledger.outcomes import Claim
from tests.fakes.deliveries import LEASE, Told
from tests.fakes.facts import MIRA, WIDE, a_pull, sha


def built(told: Told) -> None:
    execution = told.approved()
    digest = sha("plan 1")
    done = f.StepsDone(
        at=told.tick(), plan_digest=digest, patch_ref=sha("patch"), report_ref=sha("report"), spent=Spent()
    )
    told.settle(execution, done)


def token_cut(told: Told, claim: Claim, **changes: object) -> None:
    """The mint's row of it."""
    minted = Minted(
        id=f"m-{told.fresh()}",
        run=claim.run,
        effect_id=claim.effect_id,
        belt=Belt.PUBLISHER,
        purpose="open_draft",
        repository_id=WIDE,
        permissions={"contents": "write"},
        token_sha256=sha("token"),
        minted_at=told.now,
        expires_at=told.now + timedelta(hours=1),
    )
    told.ledger.record_mint(minted.model_copy(update=changes))


def closed(told: Told, person: Person = MIRA) -> None:
    told.deliver(f.IssueEnded(at=told.now, how=f.IssueEnd.CLOSED, person=person))


def learnt(told: Told) -> list[str]:
    """What the run learnt of it, and what is owed because of that; each key says of which opening."""
    view = told.ledger.run(told.request.run)
    assert view is not None
    facts = [one.fact.key for one in view.facts if isinstance(one.fact, f.DraftUnsettled)]
    finds = [one.effect.key for one in view.effects if isinstance(one.effect, FindDraft)]
    assert finds == [f"find:{key}" for key in facts]
    return facts


def test_a_draft_that_its_publisher_died_over_and_that_nobody_needs_any_more_is_looked_for(told: Told) -> None:
    built(told)
    claim = told.claim(OpenDraft)
    token_cut(told, claim)
    closed(told)
    assert learnt(told) == []
    for _ in range(2):
        told.ledger.claim(claim.effect_id, Belt.PUBLISHER, told.now + LEASE, LEASE)
        assert learnt(told) == [claim.effect.key]
    told.now += LEASE
    found = told.claim(FindDraft)
    told.settle(found, f.DraftFound(at=told.now, plan_digest=sha("plan 1"), branch="fix", pull=a_pull()))
    [summary] = told.ledger.runs()
    assert summary.pull_number == a_pull().number


@pytest.mark.parametrize("other", [{"refused": "no live approval"}, {"purpose": "ask_again"}, {"effect_id": 1}, None])
def test_without_a_token_for_it_nothing_was_written_and_nothing_is_looked_for(
    told: Told, other: dict[str, object] | None
) -> None:
    built(told)
    claim = told.claim(OpenDraft)
    if other is not None:
        token_cut(told, claim, **other)
    closed(told)
    told.ledger.claim(claim.effect_id, Belt.PUBLISHER, told.now + LEASE, LEASE)
    assert learnt(told) == []


def test_a_token_whose_answer_was_lost_may_have_been_used(told: Told) -> None:
    built(told)
    claim = told.claim(OpenDraft)
    token_cut(told, claim, token_sha256="")
    closed(told)
    told.ledger.claim(claim.effect_id, Belt.PUBLISHER, told.now + LEASE, LEASE)
    assert learnt(told) == [claim.effect.key]


@pytest.mark.parametrize("attempts", [1, 2])
def test_a_failure_speaks_for_its_own_attempt_alone(told: Told, attempts: int) -> None:
    built(told)
    claim = told.claim(OpenDraft)
    token_cut(told, claim)
    if attempts > 1:
        assert told.ledger.retry(claim, told.now, "no answer", told.now) is None
        claim = told.claim(OpenDraft)
    told.settle(claim, f.PublishFailed(at=told.tick(), plan_digest=sha("plan 1"), reason="It is protected."))
    assert len(learnt(told)) == attempts - 1


def test_a_failure_that_did_not_count_tells_the_run_nothing(told: Told) -> None:
    built(told)
    claim = told.claim(OpenDraft)
    token_cut(told, claim)
    closed(told)
    told.settle(claim, f.PublishFailed(at=told.tick(), plan_digest=sha("plan 1"), reason="No.", branch="fix"))
    assert learnt(told) == [claim.effect.key]


def test_a_draft_that_was_told_is_not_looked_for(told: Told) -> None:
    built(told)
    claim = told.claim(OpenDraft)
    token_cut(told, claim)
    closed(told)
    told.settle(claim, f.DraftOpened(at=told.tick(), plan_digest=sha("plan 1"), pull=a_pull()))
    assert learnt(told) == []


def test_a_draft_that_is_given_up_is_looked_for_and_where_that_is_given_up_it_is_said_where_to_look(told: Told) -> None:
    built(told)
    claim = told.claim(OpenDraft)
    token_cut(told, claim)
    told.ledger.abandon(claim, "no answer", told.now)
    assert learnt(told) == [claim.effect.key]
    told.ledger.abandon(told.claim(FindDraft), "still none", told.now)
    view = told.ledger.run(told.request.run)
    assert view is not None
    name = branch_name(told.request.issue_number, told.request.run, sha("plan 1"))
    assert isinstance(lost := view.facts[-1].fact, f.EffectAbandoned) and lost.branch == name
    assert f"reply:abandoned:find:{claim.effect.key}" in [debt.key for debt in told.ledger.debts()]
