"""Labels and deliveries: who may ask for a plan, how often one is made, and what strange payloads lead to."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.core.run import Closed, Proposed
from tests.fakes.greeting import FILES
from tests.fakes.story import REPO, Story

Making = Callable[..., Story]
POLICY = ".github/countersign.yml"
BOT = 2_700_000_001


def runs(story: Story) -> int:
    return len(story.ledger.runs())


def plans(story: Story) -> int:
    return sum(kind == "plan_drafted" for kind in story.kinds())


def test_only_the_label_that_was_just_set_counts(story: Story) -> None:
    """Case LB-01: further labels with the trigger still on the issue; two at once; off and on again."""
    story.mira.labels()
    story.plan_is_read()
    for label in ("bug", "p1"):
        story.mira.labels(label)
    assert (runs(story), plans(story)) == (1, 1)
    story.olga.opens_an_issue("Another thing", "greet.sh again.")
    story.control.label(REPO, 2, "bug", "mira")
    story.control.label(REPO, 2, "countersign", "mira")
    story.crank()
    story.next_comment("### Plan, version 1")
    assert runs(story) == 2
    story.mira.unlabels()
    story.mira.labels()
    story.next_comment("### Plan, version 1")
    assert runs(story) == 3
    story.mira.says("/reject", number=2)
    story.read_status("rejected", number=2)
    story.mira.says("/reject")
    story.ends(Closed, "rejected by mira")


def test_a_label_that_is_set_again_while_a_plan_waits_is_answered_and_starts_nothing(story: Story) -> None:
    """Case LB-01: the removal was not heard of."""
    story.mira.labels()
    story.plan_is_read()
    story.control.treat_deliveries("drop", "issues", "unlabeled")
    story.mira.unlabels()
    story.mira.labels()
    story.next_comment("@mira", "A plan is already waiting for approval", "/cancel")
    assert (runs(story), plans(story)) == (1, 1)
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_deliveries_that_come_twice_and_in_the_wrong_order_change_nothing(story: Story) -> None:
    story.control.treat_deliveries("duplicate", times=None)
    story.mira.labels()
    story.plan_is_read()
    story.control.clear_treatments()
    story.control.treat_deliveries("hold", times=None)
    story.control.label(REPO, 1, "bug", "mira")
    story.rita.writes("Nice.")
    story.mira.writes("/reject")
    story.control.release_deliveries("last-first")
    story.control.clear_treatments()
    story.crank()
    assert (runs(story), plans(story)) == (1, 1)
    story.ends(Closed, "rejected")


def by_a_bot(story: Story) -> None:
    """The label is set by an App account: the twin knows no bot as a collaborator, so the delivery is changed."""
    story.control.add_user("dispatcher[bot]", id=BOT, kind="Bot")
    story.control.treat_deliveries("drop", "issues", "labeled")
    story.control.label(REPO, 1, "countersign", "mira")
    story.control.fault("GET .*/collaborators/dispatcher", status=404, body='{"message": "Not Found"}', times=99)
    payload = story.last_delivery("issues", "labeled")
    payload["sender"] |= {"id": BOT, "login": "dispatcher[bot]", "type": "Bot"}
    assert story.deliver("issues", json.dumps(payload).encode()) == 202
    story.crank()


def test_a_label_set_by_an_app_that_is_not_on_the_list_is_refused_aloud(story: Story) -> None:
    """Case LB-02, (a)."""
    by_a_bot(story)
    assert plans(story) == 0
    story.ends(Closed, "app account dispatcher", "not on this repository", f"add the id {BOT}")


def test_a_label_set_by_an_app_on_the_list_gives_a_plan(make_story: Making) -> None:
    """Case LB-02, (b)."""
    story = make_story()
    story.control.push_commit(REPO, "main", {POLICY: f"label: {{apps: [{BOT}]}}\n"}, as_login="mira")
    by_a_bot(story)
    story.next_comment("### Plan, version 1")
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_a_label_set_by_somebody_without_the_right_is_refused_aloud(make_story: Making) -> None:
    story = make_story(labels=["countersign"])
    story.theo.labels()
    story.ends(Closed, "theo has triage permission here; to ask for a plan takes write")


def test_an_issue_form_sets_the_label_for_anybody_and_that_is_not_enough(make_story: Making) -> None:
    story = make_story(labels=["countersign"])
    story.olga.opens_an_issue("From a form", "Please.", labels=["countersign"], through="form")
    story.ends(Closed, "olga has read permission here", number=2)


# -- strange payloads ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["literal", "escaped", "spaced"])
def test_text_beyond_ascii_is_signed_as_it_is_sent(make_story: Making, form: str) -> None:
    """Case WH-01: the bytes count, not the text; a changed byte is refused and leaves nothing."""
    story = make_story(issue="naïve 😀 ç\nGrüße, greet.sh says helo.")
    story.control.treat_deliveries("drop", "issues", "labeled")
    story.control.label(REPO, 1, "countersign", "mira")
    payload = story.last_delivery("issues", "labeled")
    backwards = dict(reversed(payload.items()))
    body = {
        "literal": json.dumps(payload, ensure_ascii=False),
        "escaped": json.dumps(payload, ensure_ascii=True),
        "spaced": json.dumps(backwards, ensure_ascii=False, indent=3, separators=(" ,", " :  ")),
    }[form].encode()
    forged = body.replace(b"helo", b"hell")
    assert story.deliver("issues", forged, signed=body) == 401
    assert (story.ledger.deliveries(), story.ledger.runs()) == ((), ())
    assert story.deliver("issues", body) == 202
    story.crank()
    story.plan_is_read()
    assert "naïve 😀 ç" in story.shown_to("planner")[0]
    assert story.ledger.runs()[0].issue_title == "naïve 😀 ç"
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def labelled_with(story: Story, change: Callable[[dict[str, Any]], object]) -> None:
    story.control.treat_deliveries("drop", "issues", "labeled")
    story.control.label(REPO, 1, "countersign", "mira")
    payload = story.last_delivery("issues", "labeled")
    change(payload)
    assert story.deliver("issues", json.dumps(payload).encode()) == 202
    story.crank()


def test_a_label_of_nobody_gives_no_authority_and_the_reason_is_said(story: Story) -> None:
    """Case WH-02, (a)."""
    labelled_with(story, lambda payload: payload.pop("sender"))
    assert plans(story) == 0
    story.ends(Closed, "GitHub did not say who set the label", "Take the label off and set it again")


def test_an_issue_of_a_deleted_account_is_planned_like_any_other(story: Story) -> None:
    """Case WH-02, (b)."""
    story.control.do("forget_author", repo=REPO, number=1)
    story.mira.labels()
    story.plan_is_read()
    assert "issue by a deleted account" in story.shown_to("planner")[0]
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_an_issue_without_a_description_is_planned_like_any_other(make_story: Making) -> None:
    """Case WH-02, (c)."""
    story = make_story(issue="greet.sh says helo")
    story.control.do("edit_issue", repo=REPO, number=1, as_login="olga", body=None, title="greet.sh says helo!")
    labelled_with(story, lambda payload: payload["issue"].update(body=None))
    story.plan_is_read()
    assert "(no description)" in story.shown_to("planner")[0]
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


# -- the policy file ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("approve: {role: writer}\n", "`approve.role`"),
        ("aprove: {role: write}\n", "`aprove`"),
        ("label:\n  role: [write\n", "line 3: not YAML"),
        ("- a list\n", "must be a mapping"),
    ],
)
def test_a_policy_that_cannot_be_believed_stops_everything_and_says_where(
    make_story: Making, text: str, words: str
) -> None:
    story = make_story(files=FILES | {POLICY: text})
    story.mira.labels()
    assert plans(story) == 0
    story.ends(Closed, words, "Mend the policy file on the default branch")


def test_a_policy_that_breaks_while_a_plan_waits_lets_nobody_approve(story: Story) -> None:
    story.mira.labels()
    story.plan_is_read()
    story.control.push_commit(REPO, "main", {POLICY: "approve: {role: writer}\n"}, as_login="mira")
    story.mira.says("/approve")
    story.next_comment("@mira", "`approve.role`")
    assert isinstance(story.state(), Proposed)
    story.control.push_commit(REPO, "main", {POLICY: None}, as_login="mira")
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_a_policy_may_ask_for_an_admin(make_story: Making) -> None:
    story = make_story(files=FILES | {POLICY: "approve: {role: admin}\n"})
    story.control.set_permission(REPO, "max", "admin")
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/approve")
    story.next_comment("@mira", "has maintain permission here; to approve takes admin")
    story.mira.says("/why")
    story.next_comment("@mira", "Somebody with admin permission")
    assert isinstance(story.state(), Proposed)
    story.max.says("/reject")
    story.ends(Closed, "rejected by max")


def test_a_policy_may_keep_the_labeller_from_approving(make_story: Making) -> None:
    story = make_story(files=FILES | {POLICY: "approve: {labeller_may_approve: false}\n"})
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/approve")
    story.next_comment("@mira", "somebody other than the one who set the label")
    assert isinstance(story.state(), Proposed)
    story.mira.says("/reject")
    story.ends(Closed, "rejected by mira")


def test_a_policy_on_another_branch_is_not_read(make_story: Making) -> None:
    story = make_story(files=FILES | {POLICY: "label: {role: admin}\n"})
    story.control.push_commit(REPO, "mine", {POLICY: "label: {role: triage}\n"}, as_login="max")
    story.max.labels()
    story.ends(Closed, "max has write permission here; to ask for a plan takes admin")
