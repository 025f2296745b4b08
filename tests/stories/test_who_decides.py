"""Who may say yes: as many people as the policy asks for, the right ones, and nobody else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.belts import Belt
from app.core.run import Approved, Closed, Proposed, Published
from tests.fakes.greeting import FILES, PLAN, calls, planned, planning, script, stepping, submitting
from tests.fakes.household import Furnishing
from tests.fakes.story import REPO, Story

Making = Callable[..., Story]
POLICY = ".github/countersign.yml"


def ruled(make_story: Making, policy: str, **files: str) -> Story:
    """A story in a repository with this policy, and nobody to carry a plan out."""
    story = make_story(files=FILES | {POLICY: policy} | {name.replace("_", "/"): text for name, text in files.items()})
    story.away.add(Belt.EXECUTOR)
    return story


def is_called_off(story: Story) -> None:
    """The plan was approved; nothing of it is carried out."""
    assert isinstance(story.state(), Approved), story.said()
    story.mira.says("/cancel")
    story.away.clear()
    story.ends(Closed, "cancelled")


def test_two_people_have_to_approve_where_the_policy_says_so(make_story: Making) -> None:
    story = ruled(make_story, "approve: {count: 2}\n")
    story.mira.labels()
    assert "It takes 2 approvals, each by somebody else." in story.plan_is_read()["body"]
    story.mira.says("/approve")
    story.next_comment("@mira", "Your approval counts", "1 more person has to approve")
    story.read_status("waits for another maintainer", "Approved so far by mira (1 of 2)")
    story.mira.says("/approve")
    story.next_comment("@mira", "1 more person has to approve")
    assert isinstance(story.state(), Proposed)
    story.rita.says("/approve")
    story.next_comment("@rita", "read permission")
    story.max.says("/approve")
    story.read_status("was approved by mira and max")
    is_called_off(story)


@pytest.mark.needs_userns
def test_both_approvers_stand_in_the_draft(make_story: Making) -> None:
    story = make_story(files=FILES | {POLICY: "approve: {count: 2}\n"})
    story.mira.labels()
    story.plan_is_read()
    story.max.says("/approve")
    story.next_comment("1 more person has to approve")
    story.mira.says("/approve")
    pull = story.draft()
    assert "approved by max (write) with a comment on" in pull["body"] and "and by mira (maintain)" in pull["body"]
    story.ends(Published, "Draft pull request")


def test_an_approval_that_was_taken_back_before_the_second_voids_both_aloud(make_story: Making) -> None:
    """Nobody asks about the first one when the second comes; before anything is carried out it is asked about."""
    story = make_story(files=FILES | {POLICY: "approve: {count: 2}\n"})
    story.mira.labels()
    story.plan_is_read()
    comment = story.max.says("/approve")
    story.next_comment("1 more person has to approve")
    story.max.deletes(comment)
    story.mira.says("/approve")
    story.next_comment("The approval does not stand", "comment is gone")
    assert isinstance(story.state(), Proposed) and "Approved so far" not in story.read_status()
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_an_edited_issue_takes_back_what_was_approved_so_far(make_story: Making) -> None:
    story = ruled(make_story, "approve: {count: 2}\n")
    story.mira.labels()
    story.plan_is_read()
    body = "greet.sh says helo, it should say hello."
    story.mira.says("/approve")
    story.next_comment("1 more person has to approve")
    story.olga.edits_the_issue(body="Something else.")
    story.next_comment("The issue was edited")
    story.olga.edits_the_issue(body=body)
    story.max.says("/approve")
    story.next_comment("@max", "1 more person has to approve")
    story.mira.says("/approve")
    is_called_off(story)


LOCKED = {"id": 3, "kind": "change", "path": "poetry.lock", "intent": "Raise it.", "done_when": "It is raised."}


def test_a_plan_that_touches_a_protected_path_takes_a_second_person(make_story: Making) -> None:
    plan = planned(steps=[*PLAN["steps"], LOCKED], budget={"files": 3})
    files = FILES | {"poetry.lock": "old\n"}
    story = make_story(script(planning(calls(("submit_plan", plan)))), files)
    story.away.add(Belt.EXECUTOR)
    story.mira.labels()
    body = story.plan_is_read()["body"]
    assert "It takes 2 approvals, each by somebody else, since it touches `poetry.lock` (lock file)." in body
    story.mira.says("/approve")
    story.next_comment("since the plan touches poetry.lock, which takes 2")
    story.max.says("/approve")
    is_called_off(story)


CI = ".github/workflows/ci.yml"
GRANTED = {"contents": "write", "issues": "write", "pull_requests": "write", "members": "read", "workflows": "write"}
PIN = {"id": 3, "kind": "change", "path": CI, "intent": "Test pushes.", "done_when": "Pushes are tested."}


@pytest.mark.needs_userns
def test_a_workflow_file_is_changed_where_operator_policy_app_and_two_people_let_it(
    make_story: Making, tmp_path: Path
) -> None:
    (tmp_path / "bounds.yml").write_text("workflows: true\n")
    plan = submitting(steps=[*PLAN["steps"], PIN], budget={"files": 3})
    edit = ("replace", {"path": CI, "old": "pull_request", "new": "push"})
    story = make_story(
        script(plan, stepping(3, edit)),
        FILES | {CI: "on: pull_request\n", POLICY: "workflows: second_approver\nprotected: {approvals: 1}\n"},
        furnishing=Furnishing(env={"COUNTERSIGN_BOUNDS": str(tmp_path / "bounds.yml")}),
    )
    story.mira.labels()
    assert f"It takes 2 approvals, each by somebody else, since it touches `{CI}`" in story.plan_is_read()["body"]
    story.mira.says("/approve")
    story.next_comment("1 more person has to approve")
    story.max.says("/approve")
    story.next_comment("The approval does not stand", "may not write those here", "`workflows: write`")
    story.control.set_installation_permissions("acme", GRANTED)
    story.mira.says("/approve")
    story.next_comment("1 more person has to approve")
    story.max.says("/approve")
    assert story.control.branch_files(REPO, story.draft()["head"]["ref"])[CI] == b"on: push\n"
    story.ends(Published, "Draft pull request")


def test_a_policy_that_became_stricter_after_the_plan_was_posted_counts(make_story: Making) -> None:
    """And the planner is held to it when it is asked for another version."""
    story = ruled(make_story, "{}")
    story.mira.labels()
    story.plan_is_read()
    story.control.push_commit(REPO, "main", {POLICY: "forbidden_paths: [greet.sh]\n"}, as_login="mira")
    story.mira.says("/approve")
    story.next_comment("touches greet.sh, which this repository's policy forbids now (`greet.sh`)")
    story.mira.says("/revise leave greet.sh alone")
    story.next_comment("The revision could not be made", "greet.sh is forbidden by this repository's policy")
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_one_maintainer_can_say_that_one_is_enough_for_protected_paths(make_story: Making) -> None:
    plan = planned(steps=[*PLAN["steps"], LOCKED], budget={"files": 3})
    files = FILES | {"poetry.lock": "old\n", POLICY: "protected: {approvals: 1}\n"}
    story = make_story(script(planning(calls(("submit_plan", plan)))), files)
    story.away.add(Belt.EXECUTOR)
    story.mira.labels()
    assert "It takes" not in story.plan_is_read()["body"]
    story.mira.says("/approve")
    is_called_off(story)


def test_a_code_owner_has_to_be_among_those_who_approve(make_story: Making) -> None:
    story = ruled(make_story, "approve: {code_owners: must}\n", CODEOWNERS="* @mira\n/greet.sh @acme/shell\n")
    story.control.set_team("acme", "shell", ["max"])
    story.mira.labels()
    assert "Code owners of everything that it touches" in story.plan_is_read()["body"]
    story.mira.says("/approve")
    story.next_comment("A code owner of greet.sh has to approve: acme/shell")
    story.max.says("/approve")
    story.read_status("approved by mira and max")
    is_called_off(story)


def test_a_code_owner_of_everything_may_approve_without_a_role_where_the_policy_says_so(make_story: Making) -> None:
    owners = "* @mira\n/greet.sh @rita\n/tests/ @rita\n"
    story = ruled(make_story, "approve: {code_owners: may}\n", CODEOWNERS=owners)
    story.mira.labels()
    story.plan_is_read()
    story.theo.says("/approve")
    story.next_comment("@theo", "triage permission")
    story.rita.says("/approve")
    is_called_off(story)


WHO = {
    "by name": "approve: {role: nobody, users: [Rita]}\n",
    "by team": "approve: {role: nobody, teams: [acme/core]}\n",
}


@pytest.mark.parametrize("how", WHO)
def test_somebody_who_is_named_may_approve_and_nobody_else(make_story: Making, how: str) -> None:
    story = ruled(make_story, WHO[how] + "cancel: {role: write}\n")
    story.control.set_team("acme", "core", ["rita"])
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/approve")
    story.next_comment("@mira", "maintain permission", "to approve takes")
    story.rita.says("/approve")
    story.read_status("approved by rita")
    is_called_off(story)


@pytest.mark.parametrize("left_out", ["labeller_may_approve", "author_may_approve"])
def test_whoever_asked_can_be_kept_from_approving(make_story: Making, left_out: str) -> None:
    story = ruled(make_story, f"approve: {{role: nobody, users: [mira, olga, max], {left_out}: false}}\n")
    story.mira.labels()
    assert "Somebody other than who" in story.plan_is_read()["body"]
    asker = story.mira if left_out.startswith("labeller") else story.olga
    asker.says("/approve")
    story.next_comment("Policy asks that somebody other than")
    story.max.says("/approve")
    is_called_off(story)


def test_why_says_who_can_unblock_and_what_is_missing(make_story: Making) -> None:
    story = ruled(make_story, "approve: {role: maintain, count: 2, users: [max]}\nrevise: {role: write}\n")
    story.mira.labels()
    story.plan_is_read()
    story.rita.says("/why")
    story.next_comment(
        "Somebody with maintain permission or being named in the policy (max) can unblock this",
        "It takes 2 approvals",
        "`/revise` is for somebody with write permission",
    )
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_of_several_labels_the_first_in_the_policy_counts(make_story: Making) -> None:
    """Both labels stand when authority is asked about; the run is one."""
    story = ruled(make_story, "templates: {docs: docs, '': bugfix}\n")
    story.away.add(Belt.PUBLISHER)
    story.mira.labels()
    story.mira.labels("countersign:docs")
    story.away.remove(Belt.PUBLISHER)
    story.crank()
    story.next_comment("already being made")
    assert story.state().request.label_word == "docs"
    story.away.clear()
    # The usual plan of a defect does not fit the template that was chosen.
    story.ends(Closed, "promises what this template does not know")


def test_a_policy_beyond_the_operators_bounds_lets_nobody_do_anything_and_says_why(
    make_story: Making, tmp_path: Path
) -> None:
    (tmp_path / "bounds.yml").write_text("most_days: 14\n")
    furnishing = Furnishing(env={"COUNTERSIGN_BOUNDS": str(tmp_path / "bounds.yml")})
    story = make_story(files=FILES | {POLICY: "approve:\n  days: 30\n"}, furnishing=furnishing)
    story.mira.labels()
    story.ends(Closed, "line 2", "approve.days", "30 is more than 14, as the operator of this installation says")


def test_a_broken_policy_is_said_with_its_line_and_key(make_story: Making) -> None:
    story = make_story(files=FILES | {POLICY: "approve:\n  days: 3\n  rol: admin\n"})
    story.mira.labels()
    story.ends(Closed, "line 3", "approve.rol", "did you mean")
