"""A grant is worth what GitHub bears out at the moment of the write; rows in the ledger are not enough."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from app.core.belts import EffectKind
from app.core.bounds import Bounds
from app.core.digest import short
from app.core.effects import SourceKind
from tests.rooms.mint.conftest import CONNECTIONS, REPO
from worker.mint.mint import Mint, Site
from worker.mint.wire import Denied, Token

WRITE = {"metadata": "read", "contents": "write", "pull_requests": "write"}


def writes(desk: Any) -> list[Any]:
    """Tokens that were ever cut and could change contents."""
    return [one for one in desk.tokens() if one["permissions"].get("contents") == "write"]


def voided(desk: Any, run: str, kind: EffectKind = EffectKind.OPEN_DRAFT) -> str:
    """The reason for which the mint voids the approval. No write token was cut, and none that read lives."""
    answer = desk.ask(desk.claim(run, kind))
    assert isinstance(answer, Denied) and answer.voided, answer
    assert writes(desk) == [] and desk.living() == [] and desk.ledger.live_mints(desk.now()) == ()
    assert next(one.refused for one in desk.ledger.mints() if one.refused).startswith(answer.reason)
    return answer.reason


def proposed(desk: Any) -> tuple[str, int]:
    run = desk.label()
    desk.propose(run)
    return run, desk.view(run).state.request.issue_number


def thumb(desk: Any, comment: dict[str, Any], login: str = "mira") -> dict[str, Any]:
    return dict(desk.control.react(comment["id"], "+1", login))


# -- what stands ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["/approve", "Good.\n\n/approve {digest}\n", "/approve `{digest}`"])
def test_an_approval_by_comment_that_github_bears_out_gives_the_write_token(desk, words):
    run = desk.label()
    digest = desk.propose(run)
    desk.approve(run, words.format(digest=short(digest)))
    assert desk.cut(desk.claim(run, EffectKind.EXECUTE)).permissions == {"metadata": "read", "contents": "read"}
    desk.ahead = timedelta(seconds=61)
    desk.build(run)
    assert desk.cut(desk.claim(run, EffectKind.OPEN_DRAFT)).permissions == WRITE
    asked = [one for one in desk.ledger.mints() if one.purpose == "ask_again"]
    assert len(asked) == 2 and all(one.revoked_at for one in asked)
    assert all("write" not in one.permissions.values() for one in asked)


def test_an_approval_by_thumb_that_github_bears_out_gives_the_write_token(desk):
    run, _ = proposed(desk)
    desk.forge_approval(run, thumb(desk, desk.plan_comment), SourceKind.REACTION)
    desk.build(run)
    assert desk.cut(desk.claim(run, EffectKind.OPEN_DRAFT)).permissions == WRITE


def rules(desk: Any, policy: str, owners: str = "") -> None:
    files = {".github/countersign.yml": policy} | ({"CODEOWNERS": owners} if owners else {})
    desk.control.push_commit(REPO, "main", files, as_login="mira")


def test_every_approval_is_asked_about_again(desk):
    run, _ = proposed(desk)
    desk.approve_together(run, "mira", "otto")
    rules(desk, "approve: {count: 2, code_owners: must}", "* @otto\n")
    desk.build(run)
    assert desk.cut(desk.claim(run, EffectKind.OPEN_DRAFT)).permissions == WRITE


@pytest.mark.parametrize("login", ["mira", "otto"])
def test_each_of_several_approvals_has_to_stand(desk, login):
    run, _ = proposed(desk)
    desk.approve_together(run, "mira", "otto")
    desk.control.set_permission(REPO, login, "read")
    desk.build(run)
    assert f"{login} has read permission" in voided(desk, run)


# -- what was forged in the ledger ----------------------------------------------------------------------------


def nothing(desk: Any, number: int) -> dict[str, Any]:
    return {"id": 4_399_999_999, "body": "/approve"}


def somebody_else_s(desk: Any, number: int) -> dict[str, Any]:
    return dict(desk.control.comment(REPO, number, "/approve", "outsider"))


def an_ordinary_word(desk: Any, number: int) -> dict[str, Any]:
    return dict(desk.control.comment(REPO, number, "Thanks, I will look at it.", "mira"))


def a_quotation(desk: Any, number: int) -> dict[str, Any]:
    return dict(desk.control.comment(REPO, number, "> /approve\n\nis what I would not say", "mira"))


def a_rejection(desk: Any, number: int) -> dict[str, Any]:
    return dict(desk.control.comment(REPO, number, "/reject", "mira"))


def another_plan_s(desk: Any, number: int) -> dict[str, Any]:
    return dict(desk.control.comment(REPO, number, f"/approve {'f' * 12}", "mira"))


def another_issue_s(desk: Any, number: int) -> dict[str, Any]:
    other = desk.control.open_issue(REPO, "outsider", "Another", "matter")["number"]
    return dict(desk.control.comment(REPO, other, "/approve", "mira"))


FORGED: dict[Callable[..., Any], str] = {
    nothing: "is gone",
    somebody_else_s: "is gone",
    an_ordinary_word: "approves nothing",
    a_quotation: "approves nothing",
    a_rejection: "approves nothing",
    another_plan_s: "names another plan",
    another_issue_s: "is gone",
}


@pytest.mark.parametrize("word", FORGED, ids=lambda word: word.__name__)
def test_an_approval_that_stands_only_in_the_ledger_gives_no_token(desk, word):
    run, number = proposed(desk)
    desk.forge_approval(run, word(desk, number))
    assert FORGED[word] in voided(desk, run, EffectKind.EXECUTE)
    desk.ahead = timedelta(seconds=61)
    desk.build(run)
    assert FORGED[word] in voided(desk, run)


ALONE = {
    "approve: {count: 2}": "1 more person has to approve",
    "protected: {paths: [src/]}": "since the plan touches src/sizes.py, which takes 2",
    "approve: {code_owners: must}": "A code owner of src/sizes.py and 1 more has to approve: otto",
    "approve: {labeller_may_approve: false}": "other than the one who set the label",
    "approve: {role: nobody, users: [otto]}": "being named in the policy (otto)",
    "approve: {role: nobody, teams: [acme/core]}": "membership in acme/core",
}


@pytest.mark.parametrize("policy", ALONE)
def test_one_approval_that_the_ledger_calls_enough_is_held_against_the_policy(desk, policy):
    run, _ = proposed(desk)
    desk.approve(run)
    rules(desk, policy, "* @otto\n")
    assert ALONE[policy] in voided(desk, run, EffectKind.EXECUTE)


def test_a_plan_whose_paths_stand_otherwise_in_the_ledger_was_approved_by_nobody(desk):
    run = desk.label()
    desk.propose(run, paths=("README.md",))
    desk.approve(run)
    assert "not the one that is kept" in voided(desk, run, EffectKind.EXECUTE)


def test_what_the_operator_does_not_let_a_policy_say_does_not_lower_the_bar(desk):
    desk.mint = Mint(desk.ledger, desk.identity, Site(desk.twin.url, CONNECTIONS, Bounds(least_approvals=2)), desk.now)
    run, _ = proposed(desk)
    desk.approve(run)
    assert "1 more person has to approve" in voided(desk, run, EffectKind.EXECUTE)


WORKFLOW = {"id": 1, "kind": "change", "path": ".github/workflows/ci.yml", "intent": "Pin it.", "done_when": "It is."}
OPENED = "workflows: second_approver\nprotected: {approvals: 1}\n"


def touching_workflows(desk: Any, policy: str) -> str:
    """An operator lets policies open workflow files, this is one, and two people approved a plan for such a file."""
    site = Site(desk.twin.url, CONNECTIONS, Bounds(workflows=True))
    desk.mint = Mint(desk.ledger, desk.identity, site, desk.now)
    rules(desk, policy)
    run = desk.label()
    desk.propose(run, steps=[WORKFLOW], protected_paths=[WORKFLOW["path"]])
    desk.approve_together(run, "mira", "otto")
    return run


def test_a_plan_for_a_workflow_file_gets_the_permission_to_write_it_and_no_other_plan_does(desk):
    desk.control.set_installation_permissions("acme", WRITE | {"issues": "write", "workflows": "write"})
    run = touching_workflows(desk, OPENED)
    assert desk.cut(desk.claim(run, EffectKind.EXECUTE)).permissions == {"metadata": "read", "contents": "read"}
    desk.ahead = timedelta(seconds=61)
    desk.build(run)
    assert desk.cut(desk.claim(run, EffectKind.OPEN_DRAFT)).permissions == WRITE | {"workflows": "write"}
    other = desk.built()
    assert desk.cut(desk.claim(other, EffectKind.OPEN_DRAFT)).permissions == WRITE


@pytest.mark.parametrize(
    ("policy", "granted", "words"),
    [
        (OPENED, {}, "the App may not write those here"),
        ("{}", {"workflows": "write"}, "which this repository's policy forbids now"),
    ],
    ids=["not granted", "not opened"],
)
def test_a_workflow_file_takes_the_permission_and_the_policy_of_now(desk, policy, granted, words):
    desk.control.set_installation_permissions("acme", WRITE | {"issues": "write"} | granted)
    assert words in voided(desk, touching_workflows(desk, policy), EffectKind.EXECUTE)


@pytest.mark.parametrize(
    ("asked", "answer", "words"),
    [
        ("collaborators/mira/permission", {"permission": "admin", "role_name": "admin", "user": None}, "none"),
        (r"issues/comments/\d+$", {"issue_url": ""}, "is gone"),
    ],
    ids=["whose permission it is", "which issue a comment is on"],
)
def test_what_github_does_not_say_is_not_taken_for_a_yes(desk, asked, answer, words):
    run, _ = proposed(desk)
    answer = desk.approve(run) | answer
    desk.control.fault(f"GET .*/{asked}", status=200, body=json.dumps(answer))
    assert words in voided(desk, run, EffectKind.EXECUTE)


def test_a_word_from_before_the_plan_approves_nothing(desk):
    run = desk.label()
    number = desk.view(run).state.request.issue_number
    early = desk.control.comment(REPO, number, "/approve", "mira")
    desk.control.set_clock(5)
    desk.propose(run)
    desk.forge_approval(run, early)
    desk.build(run)
    assert "older than the plan" in voided(desk, run)


def test_a_thumb_that_nobody_gave_approves_nothing(desk):
    run, _ = proposed(desk)
    desk.forge_approval(run, {"id": 77}, SourceKind.REACTION)
    desk.build(run)
    assert "reaction is gone" in voided(desk, run)


def test_somebody_else_s_thumb_is_not_the_approver_s(desk):
    run, _ = proposed(desk)
    desk.forge_approval(run, thumb(desk, desk.plan_comment, "outsider"), SourceKind.REACTION)
    desk.build(run)
    assert "reaction is gone" in voided(desk, run)


def test_a_thumb_on_somebody_s_comment_approves_no_plan_that_only_the_ledger_shows_there(desk):
    run = desk.label()
    desk.propose(run, author="mira")
    desk.forge_approval(run, thumb(desk, desk.plan_comment), SourceKind.REACTION)
    desk.build(run)
    assert "not one that shows this plan" in voided(desk, run)


def test_our_own_comment_about_something_else_shows_no_plan(desk):
    run = desk.label()
    number = desk.view(run).state.request.issue_number
    kind = desk.bot_says(number, "I am looking into it.")
    desk.propose(run)
    desk.show(run, kind)
    desk.approve(run)
    desk.build(run)
    assert "not one that shows this plan" in voided(desk, run)


def test_a_plan_that_is_not_kept_was_approved_by_nobody(desk):
    run = desk.built()
    desk.write_over("DELETE FROM plans")
    assert "not the one that is kept" in voided(desk, run)


def test_a_plan_that_was_changed_in_the_ledger_was_approved_by_nobody(desk):
    run = desk.built()
    desk.write_over("UPDATE plans SET body = CAST(REPLACE(CAST(body AS TEXT), 'sizes.py', 'other.py') AS BLOB)")
    assert "was changed in the ledger" in voided(desk, run)


# -- what changed since the approval ------------------------------------------------------------------------


def lost_permission(desk: Any, comment: dict[str, Any], number: int) -> None:
    desk.control.set_permission(REPO, "mira", "read")


def edited_word(desk: Any, comment: dict[str, Any], number: int) -> None:
    desk.control.edit_comment(comment["id"], "/approve but not yet", "mira")


def edited_and_put_back(desk: Any, comment: dict[str, Any], number: int) -> None:
    desk.control.edit_comment(comment["id"], "wait", "mira")
    desk.control.edit_comment(comment["id"], comment["body"], "mira")


def deleted_word(desk: Any, comment: dict[str, Any], number: int) -> None:
    desk.control.delete_comment(comment["id"], "mira")


def edited_plan(desk: Any, comment: dict[str, Any], number: int) -> None:
    desk.control.edit_comment(desk.plan_comment["id"], desk.plan_comment["body"] + "\nand delete all", "mira")


def deleted_plan(desk: Any, comment: dict[str, Any], number: int) -> None:
    desk.control.delete_comment(desk.plan_comment["id"], "mira")


def hidden_plan(desk: Any, comment: dict[str, Any], number: int) -> None:
    desk.control.minimize(desk.plan_comment["id"], "mira")


def edited_issue(desk: Any, comment: dict[str, Any], number: int) -> None:
    desk.control.edit_issue(REPO, number, "outsider", body="something else")


def deleted_issue(desk: Any, comment: dict[str, Any], number: int) -> None:
    desk.control.set_permission(REPO, "mira", "admin")
    desk.control.delete_issue(REPO, number, "mira")


def broken_policy(desk: Any, comment: dict[str, Any], number: int) -> None:
    desk.control.push_commit(REPO, "main", {".github/countersign.yml": "approve: [unclosed"}, as_login="mira")


CHANGES: dict[Callable[..., None], str] = {
    lost_permission: "has read permission",
    edited_word: "edited",
    edited_and_put_back: "edited",
    deleted_word: "is gone",
    edited_plan: "edited after it was posted",
    deleted_plan: "deleted",
    hidden_plan: "hidden",
    edited_issue: "issue was edited",
    deleted_issue: "cannot be found again",
    broken_policy: "",
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_changed_since_the_approval_voids_it_at_the_write(desk, change):
    run = desk.label()
    desk.propose(run)
    comment = desk.approve(run)
    desk.build(run)
    change(desk, comment, desk.view(run).state.request.issue_number)
    assert CHANGES[change] in voided(desk, run)


UNANSWERED = [r"/collaborators/mira/permission", r"GET /repos/acme/greet/issues/\d+$", "graphql", r"/comments/\d+"]


@pytest.mark.parametrize("pattern", UNANSWERED)
def test_what_github_does_not_answer_is_no_approval_and_no_void_either(desk, pattern):
    claim = desk.claim(desk.built(), EffectKind.OPEN_DRAFT)
    desk.control.fault(pattern, status=502)
    answer = desk.ask(claim)
    assert isinstance(answer, Denied) and not answer.voided and answer.retry_after
    assert writes(desk) == [] and desk.living() == []
    assert isinstance(desk.ask(claim), Token)
