"""A plan that was approved by the word that dropped steps is what code makes of the whole by that word, or nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any

from app.core.digest import digest
from app.core.effects import Narrow
from app.core.issue import Person
from app.core.narrowing import narrowed
from app.core.plan import Plan
from app.core.run import Approval, ApprovalSource, Approved, Grant, Narrowing, Proposal, grant_of
from app.core.verdict import Allowed, Refused
from tests.fakes.facts import a_request
from tests.fakes.plans import BASE, ISSUE, plan
from worker.mint.again import plan_stands

NOW = datetime(2026, 3, 3, 12, tzinfo=UTC)
MIRA = Person(id=1, login="mira")
WHOLE = plan()
LEFT = narrowed(WHOLE, Narrow(version=1, keep=(1,)), 2)


def granted(left: Plan, argument: str = "steps 1", word: int = 9) -> Grant:
    shared: dict[str, Any] = {"base_commit": BASE, "issue_digest": ISSUE, "expires_at": NOW + timedelta(days=7)}
    narrowing = Narrowing(version=1, digest=digest(WHOLE), person=MIRA, comment_id=9, argument=argument, approves=True)
    offer = Proposal(version=2, digest=digest(left), base_branch="main", drafted_at=NOW, narrowing=narrowing, **shared)
    approval = Approval(
        person=MIRA,
        permission="write",
        role_name="write",
        source=ApprovalSource.COMMENT,
        source_id=word,
        plan_version=2,
        plan_digest=digest(left),
        approved_at=NOW,
        **shared,
    )
    request = a_request(run=left.run, number=left.issue_number, repository_id=left.repository_id)
    grant = grant_of(Approved(request=request, proposal=offer, approval=approval), NOW)
    assert grant is not None
    return grant


def test_what_is_left_stands_when_it_follows_from_the_whole_and_the_word() -> None:
    assert isinstance(LEFT, Plan)
    assert plan_stands(granted(LEFT), LEFT, WHOLE) == Allowed()


def test_what_does_not_follow_from_them_is_not_what_was_approved() -> None:
    assert isinstance(LEFT, Plan)
    more = LEFT.model_copy(update={"summary": "It does something else as well."})
    for grant, left, whole in (
        (granted(LEFT), LEFT, None),
        (granted(LEFT), LEFT, plan(summary="Another whole.")),
        (granted(LEFT, "steps 2"), LEFT, WHOLE),
        (granted(LEFT, ""), LEFT, WHOLE),
        (granted(more), more, WHOLE),
    ):
        assert isinstance(plan_stands(grant, left, whole), Refused)


def test_an_approval_by_another_word_needs_no_whole() -> None:
    assert isinstance(LEFT, Plan)
    assert plan_stands(granted(LEFT, word=10), LEFT, None) == Allowed()
