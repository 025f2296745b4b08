"""What is said on GitHub: whole, bounded, and never in the voice of anybody else."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.comments import draft, plan, reply, status
from app.comments.markdown import split
from app.core.budget import Spent
from app.core.effects import ReplySaying, ReplyTopic
from app.core.issue import Person
from app.core.plan import Plan, made_visible
from app.core.report import CheckRun, Finding, Report, Review, When
from app.core.run import Approval, ApprovalSource, Approved, Closed, ClosedReason, Proposal, Proposed, Request, Wanted
from tests.fakes import plans

NOW = datetime(2026, 3, 3, 12, tzinfo=UTC)
MIRA = Person(id=1, login="mira")
REQUEST = Request(
    run="r-abcdefghijkl",
    installation_id=1,
    repository_id=7,
    repository="acme/sizes",
    issue_number=3,
    issue_title="t",
    issue_digest=plans.ISSUE,
    label="countersign",
    author=MIRA,
    labeller=MIRA,
)
PROPOSAL = Proposal(
    version=1,
    digest="d" * 64,
    base_branch="main",
    base_commit=plans.BASE,
    issue_digest=plans.ISSUE,
    drafted_at=NOW,
    expires_at=NOW + timedelta(days=7),
)
APPROVAL = Approval(
    person=MIRA,
    permission="write",
    role_name="maintain",
    source=ApprovalSource.COMMENT,
    source_id=9,
    plan_version=1,
    plan_digest="d" * 64,
    base_commit=plans.BASE,
    issue_digest=plans.ISSUE,
    approved_at=NOW,
    expires_at=NOW + timedelta(days=7),
)
SPENT = Spent(calls=4, input_tokens=1000, output_tokens=50, usd=Decimal("0.0213"))


def report(**changes: Any) -> Report:
    run = CheckRun(
        name="pytest",
        argv=("/usr/bin/python3", "-m", "pytest"),
        when=When.AFTER,
        ended="exited",
        exit_status=0,
        seconds=1.25,
        output_ref="1" * 64,
        excerpt="3 passed",
    )
    values: dict[str, Any] = {"runs": (run,), "diff_ref": "2" * 64, "changed_lines": 12}
    return Report(**(values | changes))


def test_the_plan_comment_shows_what_is_approved_and_how() -> None:
    body = plan.render(plans.plan(), PROPOSAL, "https://github.example/acme/sizes")
    assert body.startswith("### Plan, version 1 · `dddddddddddd`")
    for said in (
        "`/approve dddddddddddd`",
        "👍",
        "The offer stands until 2026-03-10 12:00 UTC.",
        f"[`src/sizes.py:3–5`](https://github.example/acme/sizes/blob/{plans.BASE}/src/sizes.py#L3-L5)",
        "- [x] **1. Change** `src/sizes.py`: Choose the unit after the rounding.",
        "must fail without the fix and pass with it",
        "`/usr/bin/python3 -m pytest tests/test_sizes.py`",
        "Hard limits: $1.00, 20 model calls, 10 minutes, 3 files, 60 changed lines.",
    ):
        assert said in body


def test_hidden_text_is_told_to_the_approver() -> None:
    """Case PI-01."""
    noticed = PROPOSAL.model_copy(update={"notices": ("Hidden in the description: run make setup",)})
    assert "Hidden in the description: run make setup" in plan.render(plans.plan(), noticed, "")


def test_a_plan_of_three_hundred_steps_is_said_in_parts_that_github_accepts() -> None:
    """Case GH-03."""
    step = {"kind": "change", "intent": "Write 😀 " * 60, "done_when": "It is there."}
    steps = [{**step, "id": n, "path": f"src/file_{n}.py"} for n in range(1, 301)]
    parts = split(plan.render(plans.plan(steps=steps), PROPOSAL, ""))
    assert len(parts) > 1
    assert all(len(part) < 65_536 for part in parts)
    assert "`/approve dddddddddddd`" in parts[0] and "### Plan, version 1" in parts[0]
    assert all(f"`src/file_{n}.py`" in "\n".join(parts) for n in range(1, 301))


HOSTILE = "x @mira fixes #12 ![i](https://evil.example/a.png) [l](javascript:1) <img src=x> ``` \n# Head\n> [!NOTE]"


DOUBTS = Review(agrees=False, findings=(Finding(path="a", text=HOSTILE),))


def hostile_plan() -> Plan:
    return plans.plan(
        summary=HOSTILE,
        hypothesis=HOSTILE,
        risks=[HOSTILE],
        constraints=[HOSTILE],
        steps=[
            {"id": 1, "kind": "change", "path": "a`b @x.py", "intent": HOSTILE, "done_when": HOSTILE},
            {"id": 2, "kind": "move", "path": "c.py", "to": "d#1.py", "intent": HOSTILE, "done_when": HOSTILE},
        ],
    )


@pytest.mark.parametrize(
    "body",
    [
        plan.render(hostile_plan(), PROPOSAL, "https://github.example/acme/sizes"),
        draft.body(
            hostile_plan(),
            APPROVAL,
            report(review=Review(agrees=False, findings=(Finding(path="a", text=HOSTILE),))),
            SPENT,
        ),
        status.render(Closed(request=REQUEST, reason=ClosedReason.FAILED, words=HOSTILE, remedy=HOSTILE)),
        reply.render(ReplySaying(topic=ReplyTopic.QUESTION, reason=HOSTILE), Wanted(request=REQUEST)),
    ],
    ids=["plan", "draft", "status", "question"],
)
def test_a_models_words_mention_close_link_and_load_nothing(body: str) -> None:
    assert "@mira" not in body
    assert "#12" not in body
    assert not re.search(r"(?<!\\)\]\((?!https://github\.example/)", body)
    assert "<img" not in body
    assert "\n# Head" not in body


def test_the_draft_holds_the_facts_in_a_form_that_no_model_wrote() -> None:
    body = draft.body(plans.plan(), APPROVAL, report(review=Review(agrees=True, model="strong-1")), SPENT)
    assert body.startswith("Fixes #3\n")
    for said in (
        f"digest `{'d' * 64}`",
        "approved by mira (maintain) with a comment on 2026-03-03 12:00 UTC",
        "| `pytest` | after | passed | 0 | 1.2 |",
        "4 model calls, $0.0213",
        "12 changed lines",
        "(strong-1): agrees",
    ):
        assert said in body


def test_soft_limits_are_said_in_the_draft() -> None:
    soft = report(runs=(report().runs[0].model_copy(update={"limits": "soft"}),))
    assert "soft limits" in draft.body(plans.plan(), APPROVAL, soft, SPENT)
    assert "soft limits" not in draft.body(plans.plan(), APPROVAL, report(), SPENT)


def test_a_draft_that_would_be_too_long_keeps_its_closing_line_and_its_facts() -> None:
    runs = tuple(
        report().runs[0].model_copy(update={"excerpt": "x\n" * 1_900, "name": f"check-{n}"}) for n in range(40)
    )
    body = draft.body(plans.plan(), APPROVAL, report(runs=runs), SPENT)
    assert len(body) <= 60_000
    assert body.startswith("Fixes #3\n") and "check-39" in body
    assert body.count("<details>") == body.count("</details>")


def test_where_there_are_no_drafts_the_pull_request_says_that_nobody_reviewed_it() -> None:
    """Case GH-01."""
    assert draft.undrafted_title("Sizes").startswith("[not reviewed]")
    assert "must not be merged" in draft.undrafted_body("words")


def test_a_commit_names_plan_and_approver_and_mentions_nobody() -> None:
    """github-facts 137."""
    message, *others = draft.Words(plans.plan(summary="Thanks @everyone, fixes it"), APPROVAL).whole()
    assert f"Plan-Digest: {'d' * 64}" in message
    assert "Approved-By: mira (id 1)" in message
    assert "@everyone" not in message
    # A repository whose rules ask for conventional commits or for the issue's number gets the same in that form.
    subjects = [one.splitlines()[0] for one in (message, *others)]
    assert [bool(re.match(r"fix: ", one)) for one in subjects] == [False, True, False, True]
    assert [one.endswith(" (#3)") for one in subjects] == [False, False, True, True]
    assert {one.partition("\n")[2] for one in others} == {message.partition("\n")[2]}


def test_a_long_summary_is_cut_and_no_subject_is_longer_than_editors_show() -> None:
    subjects = [one.splitlines()[0] for one in draft.Words(plans.plan(summary="long words " * 40), APPROVAL).whole()]
    assert max(map(len, subjects)) == 72
    assert subjects[3].endswith("… (#3)")


def test_each_stage_says_what_comes_next() -> None:
    assert "/approve" in status.render(Proposed(request=REQUEST, proposal=PROPOSAL))
    held = Approved(request=REQUEST, proposal=PROPOSAL, approval=APPROVAL, held="There is no box here.")
    assert "kept: There is no box here." in status.render(held)


def test_the_cost_says_what_it_does_not_know() -> None:
    assert status.cost(Spent()) == "no model call so far"
    assert status.cost(SPENT) == "4 model calls, $0.0213, 1,000 tokens in, 50 tokens out".replace(" tokens out", " out")
    assert "2 calls of unknown price" in status.cost(SPENT.model_copy(update={"unpriced_calls": 2}))
    assert "4 model calls of unknown price" in status.cost(SPENT.model_copy(update={"unpriced_calls": 4}))


def test_only_the_person_who_asked_is_called_and_a_bot_never() -> None:
    """github-facts 190."""
    refused = ReplySaying(topic=ReplyTopic.REFUSED, to=MIRA, reason="No.")
    assert reply.render(refused, Wanted(request=REQUEST)).startswith("@mira That was not done.")
    robot = refused.model_copy(update={"to": Person(id=2, login="copilot", is_bot=True)})
    assert "@" not in reply.render(robot, Wanted(request=REQUEST))


def test_why_says_who_can_unblock() -> None:
    asked = ReplySaying(topic=ReplyTopic.WHY, to=MIRA)
    assert "Somebody with write permission" in reply.render(asked, Proposed(request=REQUEST, proposal=PROPOSAL))


@given(st.text(max_size=500).map(lambda text: made_visible(text)[:500]))
def test_any_summary_gives_a_title_of_one_line(text: str) -> None:
    title = draft.title(plans.plan(summary=made_visible(text) or "x"))
    assert 0 < len(title) <= 256
    assert "\n" not in title


@pytest.mark.parametrize(
    "unseen", ["\r", "\x1b]x\x07", "\u200b", "\U000e0041", "\u202e", "\ue000", "\U000e0101", "\u3164", "\u2028"]
)
def test_a_plan_cannot_hold_what_nobody_would_see(unseen: str) -> None:
    steps = [{"id": 1, "kind": "change", "path": "a.py", "intent": f"Spell{unseen} it.", "done_when": "d"}]
    with pytest.raises(ValueError, match="nobody would see"):
        plans.plan(steps=steps)


def test_a_plan_may_hold_a_sign_that_is_written_with_a_selector() -> None:
    assert "\u26a0\ufe0f" in plans.plan(summary="\u26a0\ufe0f Careful.").summary


def test_every_word_of_the_longest_plan_is_in_its_comment() -> None:
    long = " ".join(f"w{n}" for n in range(700))
    path = "/".join(["deep" * 10] * 20) + "/a.py"
    steps = [{"id": 1, "kind": "change", "path": path, "intent": f"{long} END1", "done_when": f"{long} END2"}]
    evidence = [{"path": "a.py", "start": 1, "end": 1, "shows": f"{long} END3"}]
    body = plan.render(plans.plan(steps=steps, evidence=evidence, hypothesis=f"{long} END4"), PROPOSAL, "")
    assert all(f"END{n}" in body for n in (1, 2, 3, 4))
    assert path in body
    assert "…" not in body


def test_a_title_closes_refers_and_skips_nothing() -> None:
    title = draft.title(plans.plan(summary="Closes #99, fixes acme/other#3 and GH-4 [skip ci]"))
    assert "#99" not in title and "#3" not in title and "GH-4" not in title and "[skip" not in title
