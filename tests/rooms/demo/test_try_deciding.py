"""What a trial asks its one person next, how it stands meanwhile, and what it says before it begins: pure."""

import io
from datetime import timedelta
from decimal import Decimal

import pytest
from rich.console import Console

from app.core.belts import Belt
from app.core.budget import Spent
from app.core.effects import DraftPlan, LookUpAuthority, Purpose, SourceKind
from app.core.policy import Policy
from app.core.run import Approval, ApprovalSource, Closed, ClosedReason, NeedsInput, Proposal, Proposed, Wanted
from app.core.span import Span, SpanKind
from app.ledger.outcomes import EffectView, FactView, RunView
from infra.demo.deciding import Answer, Decide, Over, next_act, why_none
from infra.demo.progress import Progress, standing
from infra.demo.stage import DemoRefused
from infra.demo.trying import _arguments, refuse_early
from tests.fakes.facts import MIRA, START, a_request, found, sha

PROPOSAL = Proposal(
    version=1, digest=sha("plan 1"), base_branch="main", base_commit="c" * 40, issue_digest=sha("the issue"),
    drafted_at=START, expires_at=START + timedelta(days=7), comment_id=5, paths=("src/sizes.py",),
)  # fmt: skip
PROPOSED = Proposed(request=a_request(), proposal=PROPOSAL)
ASKED = NeedsInput(request=a_request(), question="Which\nunit?", last_version=1)
TWO = Policy.model_validate({"version": 1, "approve": {"count": 2}})
GIVEN = Approval(
    person=MIRA, permission="write", role_name="write", source=ApprovalSource.COMMENT, source_id=9, plan_version=1,
    plan_digest=PROPOSAL.digest, base_commit="c" * 40, issue_digest=sha("the issue"), approved_at=START,
    expires_at=START + timedelta(days=1),
)  # fmt: skip


def a_view(state, decisions=0, effects=()):
    look = LookUpAuthority(key="k", purpose=Purpose.APPROVE, person=MIRA, source=SourceKind.COMMENT, source_id=9)
    facts = tuple(FactView(number, found(look, START), None) for number in range(decisions))
    return RunView("r-000001", state, facts, effects, START, START)


def test_a_plan_is_asked_about_once_it_can_be_read_and_once_alone():
    unsaid = PROPOSED.model_copy(update={"proposal": PROPOSAL.model_copy(update={"comment_id": None})})
    assert next_act(a_view(unsaid), []) is None
    assert next_act(a_view(PROPOSED.model_copy(update={"drafting": True})), []) is None
    act = next_act(a_view(PROPOSED), [])
    assert act == Decide(PROPOSAL.digest, 5)
    assert next_act(a_view(PROPOSED), [act.key]) is None
    other = PROPOSED.model_copy(update={"proposal": PROPOSAL.model_copy(update={"digest": sha("plan 2")})})
    assert next_act(a_view(other, decisions=1), [act.key]) == Decide(sha("plan 2"), 5)
    assert next_act(a_view(other, decisions=1), [act.key, f"plan:{sha('plan 2')}"]) is None


def test_a_policy_that_asks_for_several_people_ends_it_and_says_how_many():
    waits = PROPOSED.model_copy(update={"policy": TWO, "given": (GIVEN,)})
    assert next_act(a_view(waits, decisions=1), [f"plan:{PROPOSAL.digest}"]) == Over()
    assert "asks 2 people to approve this plan, and here is one" in why_none(waits)
    assert "does not let one maintainer approve it" in why_none(PROPOSED)


def test_a_question_is_put_once_and_one_without_an_answer_is_told():
    assert next_act(a_view(ASKED), []) == Answer("Which\nunit?", 1)
    assert next_act(a_view(ASKED), ["question:1"]) is None
    assert next_act(a_view(ASKED.model_copy(update={"last_version": 2})), ["question:1"]) == Answer("Which\nunit?", 2)
    assert "Which\nunit?" in why_none(ASKED) and "type it" in why_none(ASKED)


def test_what_ended_is_over_and_says_why():
    ended = Closed(request=a_request(), reason=ClosedReason.FAILED, words="It failed.", remedy="Try again.")
    assert next_act(a_view(ended), []) == Over() and why_none(ended) == "It failed. Try again."
    assert next_act(a_view(Wanted(request=a_request())), []) is None
    assert why_none(None) == "Nothing was approved, so nothing was carried out."


def working(effect_id=3, lease=START):
    effect = DraftPlan(key="plan:1", version=1)
    return EffectView(effect_id, effect, Belt.PLANNER, START, None, 1, 1, 0, lease, None, "")


def a_span(kind, name, seconds, **more):
    base = {"run": "r-000001", "belt": Belt.PLANNER, "outcome": "ok", "seconds": 1.0, "effect_id": 3}
    return Span(kind=kind, name=name, began_at=START + timedelta(seconds=seconds), **(base | more))


SPANS = (
    a_span(SpanKind.MODEL, "planner", 1, usd=Decimal("0.25")), a_span(SpanKind.TOOL, "read_file", 2),
    a_span(SpanKind.MODEL, "planner", 3, priced=False, unpriced_calls=1),
)  # fmt: skip


def test_progress_tells_each_belt_at_work_its_calls_cost_and_cap():
    view = a_view(Wanted(request=a_request(), allowed=True, policy=Policy()), effects=(working(), working(4, None)))
    lines = standing(view, SPANS[:2], START + timedelta(seconds=65)).lines()
    assert lines == [
        "planner: investigates and plans (1:05, last: read_file)", "1 model calls, $0.2500 of at most $10",
    ]  # fmt: skip
    cost = standing(a_view(Wanted(request=a_request())), SPANS, START).cost
    assert cost == "2 model calls, $0.2500 (and 1 calls without a known price)"
    loud = standing(view, (a_span(SpanKind.TOOL, "a\x1b[2Jb", 1),), START).lines()[0]
    assert "\x1b" not in loud


class Spans:
    """A ledger's answer about a run's spans."""

    def spans(self, run):
        return SPANS[:2]


def test_without_a_terminal_progress_is_a_line_when_work_changes_and_now_and_then(capsys):
    now = [0.0]
    progress = Progress(Spans(), Console(file=io.StringIO()), lambda: now[0])
    view = a_view(Wanted(request=a_request(), policy=Policy()), effects=(working(),))
    with progress.shown():
        for now[0] in (0.0, 0.1, 1.0, 2.0, 29.0, 31.0):
            progress.watch(view)
        progress.watch(a_view(Wanted(request=a_request())))
        progress.say("A fact.")
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(" (")[0] for line in said] == ["  planner: investigates and plans"] * 2 + ["A fact."]
    assert said[0].endswith("$0.2500 of at most $10")


def test_at_a_terminal_progress_stands_below_the_lines_and_is_gone_afterwards():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=60, color_system=None, _environ={"TERM": "xterm"})
    progress = Progress(Spans(), console, lambda: 0.0)
    with pytest.raises(KeyboardInterrupt), progress.shown():
        progress.watch(a_view(Wanted(request=a_request()), effects=(working(),)))
        progress.say("A fact that is longer than the terminal is wide, and stays one line.")
        raise KeyboardInterrupt
    text = screen.getvalue()
    assert "planner: investigates and plans" in text
    assert "A fact that is longer than the terminal is wide, and stays one line.\n" in text
    assert text.endswith("\x1b[?25h") or "\x1b[2K" in text.rpartition("model calls")[2]
    assert "\x1b[?25h" in text


KEY = {"ANTHROPIC_API_KEY": "a key", "PATH": "/usr/local/bin:/usr/bin:/bin"}
EARLY = {
    "no key": (["octo/greet#1"], KEY | {"ANTHROPIC_API_KEY": " "}, True, "ANTHROPIC_API_KEY is not set"),
    "no terminal": (["octo/greet#1"], KEY, False, "--yes approves any plan"),
    "no git": (["octo/greet#1"], KEY | {"PATH": "/nowhere"}, True, "git is not installed"),
    "no folder": (["nowhere", "issue.md"], KEY, True, "nowhere is not a folder"),
    "no issue": (["/tmp"], KEY, True, "/tmp is a folder, and the issue's file is missing"),
    "no number": (["octo/greet"], KEY, True, "octo/greet is no issue of GitHub's; those are written OWNER/REPO#N"),
    "a number of nothing": (["octo/greet#0"], KEY, True, "is no issue of GitHub's"),
    "another place": (["octo/..#1"], KEY, True, "is no issue of GitHub's"),
}


@pytest.mark.parametrize("what", EARLY)
def test_what_cannot_begin_is_refused_before_anything_does(what):
    words, env, at_terminal, said = EARLY[what]
    with pytest.raises(DemoRefused) as refused:
        refuse_early(_arguments(words), env, at_terminal)
    assert said in str(refused.value)


def test_what_can_begin_does_with_a_script_too():
    refuse_early(_arguments(["octo/greet#1", "--yes"]), KEY, False)
    refuse_early(_arguments(["/tmp", "issue.md"]), KEY, True)


def test_what_is_spent_is_summed_over_models_alone():
    assert standing(a_view(PROPOSED), SPANS, START).spent == Spent(
        calls=2, usd=Decimal("0.25"), unpriced_calls=1, model_seconds=2.0
    )
