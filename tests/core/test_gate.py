"""The gates: who may label and approve, and everything that must still stand when they do."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.core import gate
from app.core.effects import Purpose, SourceKind
from app.core.facts import AuthorityFound, Found
from app.core.issue import Person
from app.core.policy import Approving, Labelling, Policy
from app.core.run import Proposal, Request
from app.core.verdict import Allowed, Refused, all_of

NOW = datetime(2026, 3, 3, 12, tzinfo=UTC)
MIRA = Person(id=1, login="mira")
ROBOT = Person(id=77, login="dispatcher[bot]", is_bot=True)
ISSUE = "a" * 64
DIGEST = "d" * 64


def found(**changes: Any) -> AuthorityFound:
    values: dict[str, Any] = {
        "at": NOW,
        "purpose": Purpose.APPROVE,
        "person": MIRA,
        "permission": "write",
        "role_name": "write",
        "policy": Policy(),
        "source": SourceKind.COMMENT,
        "source_id": 9,
        "source_found": Found.AS_WRITTEN,
        "source_digest": "e" * 64,
        "said_at": NOW,
        "shown_at": NOW - timedelta(minutes=5),
        "issue_digest": ISSUE,
        "plan_version": 1,
        "plan_comment": Found.AS_WRITTEN,
    }
    return AuthorityFound(**(values | changes))


def request(**changes: Any) -> Request:
    values: dict[str, Any] = {
        "run": "r-abcdefghijkl",
        "installation_id": 1,
        "repository_id": 2,
        "repository": "acme/greet",
        "issue_number": 3,
        "issue_title": "t",
        "issue_digest": ISSUE,
        "label": "countersign",
        "author": None,
        "labeller": Person(id=5, login="theo"),
    }
    return Request(**(values | changes))


def proposal(**changes: Any) -> Proposal:
    values: dict[str, Any] = {
        "version": 1,
        "digest": DIGEST,
        "base_branch": "main",
        "base_commit": "b" * 40,
        "issue_digest": ISSUE,
        "drafted_at": NOW - timedelta(hours=1),
        "expires_at": NOW + timedelta(days=7),
        "comment_id": 8,
        "comment_node_id": "IC_8",
        "comment_digest": "c" * 64,
    }
    return Proposal(**(values | changes))


def may_approve(asked: AuthorityFound, offered: Proposal | None = None, wanted: Request | None = None) -> Any:
    return gate.may_approve(wanted or request(), offered or proposal(), asked, asked.at)


def test_a_person_with_write_permission_approves_the_plan_that_stands() -> None:
    assert may_approve(found()) == Allowed()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"permission": "read", "role_name": "triage"}, "triage permission"),
        ({"permission": "read", "role_name": "read"}, "read permission"),
        ({"permission": "none", "role_name": "none"}, "none permission"),
        ({"person": ROBOT}, "only a person"),
        ({"policy": None, "policy_problem": "line 3: no."}, "line 3"),
        ({"policy": None}, "could not be read"),
        ({"policy": Policy(approve=Approving(role="admin"))}, "takes admin"),
        ({"source_found": Found.EDITED}, "edited after it was written"),
        ({"source_found": Found.DELETED}, "gone"),
        ({"source_found": Found.NOT_LOOKED_FOR}, "gone"),
        ({"said_at": NOW - timedelta(minutes=6)}, "older than the plan"),
        ({"said_at": None}, "older than the plan"),
        ({"shown_at": None}, "older than the plan"),
        ({"plan_version": 2}, "newer version"),
        ({"plan_version": None}, "before this plan was posted"),
        ({"argument": "0123456789"}, "not the digest"),
        ({"argument": "ddd"}, "too short"),
        ({"plan_comment": Found.EDITED}, "edited after it was posted"),
        ({"plan_comment": Found.DELETED}, "deleted"),
        ({"plan_comment": Found.HIDDEN}, "hidden"),
        ({"plan_comment": Found.NOT_LOOKED_FOR}, "could not be read"),
        ({"issue_digest": "f" * 64}, "issue was edited"),
        ({"at": NOW + timedelta(days=7)}, "ended"),
    ],
)
def test_each_thing_that_does_not_stand_refuses_with_its_reason(change: dict[str, Any], words: str) -> None:
    refused = may_approve(found(**change))
    assert isinstance(refused, Refused)
    assert words in refused.reason


def test_a_plan_that_was_not_posted_cannot_be_approved() -> None:
    assert isinstance(may_approve(found(), proposal(comment_id=None)), Refused)


def test_the_digest_may_be_named_by_its_beginning() -> None:
    assert may_approve(found(argument="d" * 12)) == Allowed()


def test_policy_can_ask_for_somebody_other_than_the_labeller() -> None:
    strict = Policy(approve=Approving(labeller_may_approve=False))
    assert isinstance(may_approve(found(policy=strict, person=Person(id=5, login="theo"))), Refused)
    assert may_approve(found(policy=strict)) == Allowed()


def test_a_label_needs_the_permission_that_policy_asks_for() -> None:
    assert gate.may_label(found(purpose=Purpose.LABEL)) == Allowed()
    low = found(permission="read", role_name="triage")
    assert isinstance(gate.may_label(low), Refused)
    assert gate.may_label(
        found(permission="read", role_name="triage", policy=Policy(label=Labelling(role="triage")))
    ) == (Allowed())


def test_an_app_may_label_only_from_the_list_whatever_its_permission() -> None:
    """Case LB-02."""
    asked = found(person=ROBOT, permission="admin", role_name="admin")
    refused = gate.may_label(asked)
    assert isinstance(refused, Refused) and "77" in refused.remedy
    listed = found(person=ROBOT, permission="none", role_name="none", policy=Policy(label=Labelling(apps=(77,))))
    assert gate.may_label(listed) == Allowed()


def test_the_labeller_may_cancel_and_a_passer_by_may_not() -> None:
    low = {"permission": "read", "role_name": "triage"}
    assert gate.may_end(request(), found(person=Person(id=5, login="theo"), **low)) == Allowed()
    assert isinstance(gate.may_end(request(), found(**low)), Refused)


def test_an_approval_binds_digest_base_issue_person_and_time() -> None:
    approval = gate.approval_from(proposal(), found())
    assert approval.plan_digest == DIGEST
    assert (approval.base_commit, approval.issue_digest) == ("b" * 40, ISSUE)
    assert (approval.person, approval.source_id) == (MIRA, 9)
    assert approval.expires_at == NOW + timedelta(days=7)


@pytest.mark.parametrize(
    "change",
    [
        {"person": Person(id=2, login="mira")},
        {"permission": "read", "role_name": "read"},
        {"source_digest": "f" * 64},
        {"source_found": Found.DELETED},
        {"plan_comment": Found.EDITED},
        {"said_at": NOW - timedelta(minutes=6)},
        {"issue_digest": "f" * 64},
        {"policy": None},
    ],
)
def test_before_a_write_everything_is_asked_again(change: dict[str, Any]) -> None:
    approval = gate.approval_from(proposal(), found())
    assert gate.still_approved(approval, found(), proposal(), NOW) == Allowed()
    assert isinstance(gate.still_approved(approval, found(**change), proposal(), NOW), Refused)


def test_an_approval_that_is_over_is_over() -> None:
    approval = gate.approval_from(proposal(), found())
    assert isinstance(gate.still_approved(approval, found(), proposal(), approval.expires_at), Refused)


def test_no_verdict_at_all_is_a_refusal() -> None:
    assert isinstance(all_of(), Refused)
    assert all_of(Allowed(), Allowed()) == Allowed()
    assert all_of(Allowed(), Refused("no")) == Refused("no")
