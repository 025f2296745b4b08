"""The gates: who may label and approve, and everything that must still stand when they do."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.core import gate
from app.core.effects import Purpose, SourceKind
from app.core.facts import AuthorityFound, Found
from app.core.issue import Person
from app.core.owners import Owned
from app.core.policy import Approving, Cancelling, Labelling, Policy, Protecting, Who
from app.core.run import Approval, Narrowing, Proposal, Request
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
        "paths": ("src/sizes.py",),
    }
    return Proposal(**(values | changes))


def still_approved(approval: Approval, asked: AuthorityFound, now: datetime = NOW) -> Any:
    return gate.still_approved(request(), approval, asked, proposal(), now)


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
        ({"policy": Policy(forbidden_paths=("src/",))}, "touches src/sizes.py, which this repository's policy forbids"),
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


@pytest.mark.parametrize("gone", [Found.DELETED, Found.NOT_LOOKED_FOR])
def test_a_label_that_is_not_on_the_issue_any_more_asks_for_nothing(gone: Found) -> None:
    refused = gate.may_label(found(purpose=Purpose.LABEL, source=SourceKind.LABEL, source_found=gone))
    assert isinstance(refused, Refused) and "not on the issue any more" in refused.reason


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
    assert still_approved(approval, found()) == Allowed()
    assert isinstance(still_approved(approval, found(**change)), Refused)


def test_an_approval_that_is_over_is_over() -> None:
    approval = gate.approval_from(proposal(), found())
    assert isinstance(still_approved(approval, found(), now=approval.expires_at), Refused)


# -- who may decide -----------------------------------------------------------------------------------------------

READS = {"permission": "read", "role_name": "read"}
CAPTAIN = {"permission": "read", "role_name": "release-captain"}
NOBODY = {"role": "nobody"}
DECIDES: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    ({"role": "maintain"}, {"permission": "write", "role_name": "write"}, False),
    ({"role": "maintain"}, {"permission": "write", "role_name": "maintain"}, True),
    (NOBODY, {"permission": "admin", "role_name": "admin"}, False),
    ({"users": [1]}, READS, True),
    ({"users": ["MIRA"]}, READS, True),
    ({"users": ["mira"]}, {"permission": "none", "role_name": "none"}, False),
    ({"users": [2, "otto"]}, READS, False),
    (NOBODY | {"users": [1]}, READS, True),
    ({"custom_roles": ["release-captain"]}, CAPTAIN, True),
    ({"custom_roles": ["release-captain"]}, READS, False),
    ({"teams": ["acme/core"]}, READS | {"teams": ("Acme/Core",)}, True),
    ({"teams": ["acme/core"]}, READS | {"teams": ("acme/other",)}, False),
    ({"teams": ["acme/core"]}, READS | {"teams_unread": ("acme/core",)}, False),
    ({"users": [77]}, {"person": ROBOT}, False),
]


@pytest.mark.parametrize(("who", "person", "may"), DECIDES)
def test_a_word_counts_by_role_own_role_name_or_team(who: dict[str, Any], person: dict[str, Any], may: bool) -> None:
    asked = found(policy=Policy(approve=Approving(**who)), **person)
    assert isinstance(may_approve(asked), Allowed) is may
    assert isinstance(gate.may_steer(asked), Allowed) is may
    assert isinstance(gate.may_end(request(), asked), Allowed) is may
    assert gate.lacks_level(proposal(), asked) is not may


def test_a_refusal_says_what_somebody_has_and_what_it_takes() -> None:
    who = Approving(role="maintain", custom_roles=("captain",), users=(12, "otto"), teams=("acme/core",))
    asked = found(policy=Policy(approve=who), permission="read", role_name="helper", teams_unread=("acme/core",))
    refused = may_approve(asked)
    assert isinstance(refused, Refused)
    assert refused.reason == (
        "mira has read permission here (as helper); to approve takes maintain permission or the role captain or "
        "membership in acme/core or being named in the policy (id 12, otto). The members of acme/core could not be "
        "read."
    )
    nobody = may_approve(found(policy=Policy(approve=Approving(role="nobody"))))
    assert "more than anybody has, since the policy names nobody" in str(nobody)


def test_whoever_labelled_or_wrote_the_issue_may_be_left_out_and_is_asked_about_again() -> None:
    theo, author = Person(id=5, login="theo"), Person(id=6, login="olga")
    wanted = request(author=author)
    for who, left_out in ((theo, {"labeller_may_approve": False}), (author, {"author_may_approve": False})):
        strict = found(policy=Policy(approve=Approving(**left_out)), person=who)
        assert isinstance(may_approve(strict, wanted=wanted), Refused)
        assert may_approve(found(person=who), wanted=wanted) == Allowed()
        approval = gate.approval_from(proposal(), found(person=who))
        assert isinstance(gate.still_approved(wanted, approval, strict, proposal(), NOW), Refused)


def test_revising_and_ending_can_be_for_others_than_approving() -> None:
    policy = Policy(revise=Who(role="triage"), cancel=Cancelling(role="admin", labeller_may_cancel=False))
    triage = found(policy=policy, permission="read", role_name="triage")
    assert gate.may_steer(triage) == Allowed()
    assert isinstance(may_approve(triage), Refused)
    assert isinstance(gate.may_end(request(), triage), Refused)
    theo = found(policy=policy, person=Person(id=5, login="theo"))
    assert isinstance(gate.may_end(request(), theo), Refused)
    assert gate.may_end(request(), found(policy=policy, permission="admin", role_name="admin")) == Allowed()


# -- how many, and whose code it is --------------------------------------------------------------------------------

OTTO = Person(id=2, login="otto")
TOUCHES_LOCK = ("src/sizes.py", "poetry.lock")


def given(*people: Person, teams: tuple[str, ...] = ()) -> list[Approval]:
    return [gate.approval_from(proposal(), found(person=one, teams=teams)) for one in people]


def missing(people: list[Approval], paths: tuple[str, ...] | None = ("src/sizes.py",), **asked: Any) -> str:
    return " ".join(gate.missing(proposal(paths=paths), found(**asked), people))


def test_one_approval_is_enough_by_default_and_two_of_one_person_are_one() -> None:
    assert missing(given(MIRA)) == ""
    two = {"policy": Policy(approve=Approving(count=2))}
    assert missing(given(MIRA), **two) == "1 more person has to approve."
    assert missing(given(MIRA, MIRA), **two) == "1 more person has to approve."
    assert missing(given(MIRA, OTTO), **two) == ""
    assert missing(given(MIRA), policy=Policy(approve=Approving(count=3))) == "2 more people have to approve."
    assert missing(given(MIRA), policy=None) != ""


def test_protected_paths_take_a_second_person_unless_the_policy_says_one() -> None:
    assert missing(given(MIRA), TOUCHES_LOCK) == (
        "1 more person has to approve, since the plan touches poetry.lock, which takes 2."
    )
    assert missing(given(MIRA, OTTO), TOUCHES_LOCK) == ""
    assert missing(given(MIRA), TOUCHES_LOCK, policy=Policy(protected=Protecting(approvals=1))) == ""
    sql = Policy(protected=Protecting(paths=("*.sql", "db/")))
    assert "touches a.sql and 1 more, which takes 2" in missing(given(MIRA), ("a.sql", "db/x", "b"), policy=sql)
    assert "not known which paths" in missing(given(MIRA), None)


def test_a_workflow_file_takes_two_people_whatever_the_policy_says_and_none_where_it_says_nothing() -> None:
    opened = Policy(workflows="second_approver", protected=Protecting(approvals=1))
    paths = ("src/sizes.py", ".GitHub/Workflows/ci.yml")
    assert missing(given(MIRA), paths, policy=opened) == (
        "1 more person has to approve, since the plan touches .GitHub/Workflows/ci.yml, which takes 2."
    )
    assert missing(given(MIRA, OTTO), paths, policy=opened) == ""
    assert missing(given(MIRA), TOUCHES_LOCK, policy=opened) == ""
    assert missing(given(MIRA), None, policy=opened) != ""
    assert may_approve(found(policy=opened), proposal(paths=paths)) == Allowed()
    assert "policy forbids now" in str(may_approve(found(), proposal(paths=paths)))
    assert "policy forbids now" in str(may_approve(found(policy=opened), proposal(paths=(".gitmodules",))))


OWNED = (
    Owned(path="src/sizes.py", count=2, owners=("@otto", "@acme/core")),
    Owned(path="db/x.sql", count=1, owners=("dba@example.com",)),
)


def test_code_owners_may_be_needed_for_every_path_that_has_some() -> None:
    must = {"policy": Policy(approve=Approving(code_owners="must"))}
    assert missing(given(MIRA), **must) == ""
    words = "A code owner of src/sizes.py and 1 more has to approve: otto, acme/core."
    assert missing(given(MIRA), owners=OWNED[:1], **must) == words
    assert missing(given(MIRA, OTTO), owners=OWNED[:1], **must) == ""
    assert missing(given(MIRA, teams=("acme/core",)), owners=OWNED[:1], **must) == ""
    assert "dba@example.com" in missing(given(MIRA, OTTO), owners=OWNED, **must)
    assert missing(given(MIRA), owners=OWNED[:1], policy=Policy(approve=Approving(code_owners="may"))) == ""
    assert missing(given(MIRA), owners_problem="The code owners could not be read.", **must) != ""


def test_a_code_owner_of_everything_may_be_let_approve_whatever_the_role() -> None:
    may = {"policy": Policy(approve=Approving(code_owners="may")), **READS}
    everything = found(person=OTTO, owners=(Owned(path="src/sizes.py", count=1, owners=("@otto",)),), **may)
    assert may_approve(everything) == Allowed()
    assert isinstance(may_approve(everything, proposal(paths=("src/sizes.py", "b"))), Refused)
    assert isinstance(may_approve(everything, proposal(paths=None)), Refused)
    assert isinstance(may_approve(found(person=OTTO, owners=(), **may), proposal(paths=())), Refused)
    assert isinstance(may_approve(found(person=MIRA, owners=everything.owners, **may)), Refused)
    gone = everything.model_copy(update={"permission": "none", "role_name": "none"})
    assert isinstance(may_approve(gone), Refused)
    no = everything.model_copy(update={"policy": Policy()})
    assert isinstance(may_approve(no), Refused)


def test_no_verdict_at_all_is_a_refusal() -> None:
    assert isinstance(all_of(), Refused)
    assert all_of(Allowed(), Allowed()) == Allowed()
    assert all_of(Allowed(), Refused("no")) == Refused("no")


def test_a_plan_whose_paths_changed_on_its_branch_is_stale() -> None:
    stale = may_approve(found(paths_moved=("src/a.py", "src/b.py")))
    assert isinstance(stale, Refused)
    assert stale.reason == "The plan is stale: src/a.py and 1 more changed on its branch since it was made."
    assert "`/refresh`" in stale.remedy
    assert may_approve(found(moved_problem="There is no branch main any more.")) == Refused(
        "There is no branch main any more.", "`/refresh` makes a plan on the newest commit."
    )


def narrowing(**changes: Any) -> Narrowing:
    values: dict[str, Any] = {"version": 1, "digest": DIGEST, "person": MIRA, "comment_id": 9, "approves": True}
    return Narrowing(**(values | {"argument": "steps 1", "shown_at": NOW - timedelta(minutes=9)} | changes))


def test_a_word_that_dropped_steps_approves_what_is_left_where_policy_says_so_and_only_that_word() -> None:
    """It is older than the comment of what is left, and newer than that of the whole."""
    policy = Policy(approve=Approving(dropped_steps="approve"))
    left = proposal(narrowing=narrowing())
    word = found(argument="steps 1", policy=policy, said_at=NOW - timedelta(minutes=6))
    assert may_approve(word, left) == Allowed()
    assert isinstance(may_approve(word), Refused)
    for other in (
        word.model_copy(update={"source_id": 8}),
        word.model_copy(update={"policy": Policy()}),
        word.model_copy(update={"said_at": NOW - timedelta(minutes=10)}),
        word.model_copy(update={"source": SourceKind.REACTION}),
    ):
        assert isinstance(may_approve(other, left), Refused), other
    assert isinstance(may_approve(word, proposal(narrowing=narrowing(approves=False))), Refused)
    assert isinstance(may_approve(word, proposal(narrowing=narrowing(shown_at=None))), Refused)
