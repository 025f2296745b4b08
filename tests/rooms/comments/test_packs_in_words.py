"""Plans by rule, plans of questions and reports, as they are read on GitHub."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.comments import draft, report
from app.comments import plan as plan_comment
from app.comments.markdown import MAX_BODY, split
from app.core.plan import Evidence, Plan, made_visible
from app.core.report import Finding, Findings, QuestionAnswered, Report, Review
from tests.fakes.plans import plan
from tests.rooms.comments.test_words import APPROVAL, PROPOSAL, SPENT

URL = "https://github.test/acme/sizes"
QUESTIONS = [{"id": 1, "kind": "answer", "intent": "Who calls @mira's `load`?", "done_when": "All are named."}]
ANSWERED = QuestionAnswered(
    step=1,
    question="Who calls it?",
    answer="Only one.\nSee below.",
    evidence=(Evidence(path="src/a.py", start=3, end=4, shows="The call."),),
)


def asked(**changes: Any) -> Plan:
    return plan(**({"steps": QUESTIONS, "checks": []} | changes))


def by_rule(rule: dict[str, Any]) -> Plan:
    step = {"id": 1, "kind": "change", "path": "a.py", "intent": "2 places.", "done_when": "d", "who": "rule"}
    steps = [step | {"tools": [], "rule": {"places": 2, "result": "1" * 64}}]
    budget = {"usd": "0", "calls": 0, "minutes": 10, "files": 1, "lines": 4}
    return plan(rule=rule, steps=steps, budget=budget, checks=[])


def test_a_plan_of_questions_says_that_nothing_is_changed() -> None:
    text = plan_comment.render(asked(), PROPOSAL, URL)
    assert "Nothing is changed" in text
    assert "pull request" not in text
    assert "**Checks**" not in text
    assert "answered when: All are named." in text
    assert "@mira" not in text


def test_a_plan_by_rule_shows_the_rule_and_that_no_model_has_a_part() -> None:
    rule = {"kind": "regex", "pattern": "a``` b", "replacement": "", "paths": ["src/**", "!x"]}
    text = plan_comment.render(by_rule(rule), PROPOSAL, URL)
    assert "````\na``` b\n````" in text
    assert "is taken out." in text
    assert "`src/**`, `!x`" in text
    assert "no model call" in text
    assert "planner strong-1" not in text
    assert "None: no command will show that the change works." in text
    text = plan_comment.render(by_rule({"kind": "syntax", "text": "rule: x", "paths": ["**"]}), PROPOSAL, URL)
    assert "```yaml\nrule: x\n```" in text


def test_a_draft_by_rule_says_so_and_that_no_check_was_run() -> None:
    rule = {"kind": "literal", "pattern": "a", "replacement": "b", "paths": ["**"]}
    text = draft.body(by_rule(rule), APPROVAL, Report(runs=(), diff_ref="1" * 64, changed_lines=2), SPENT)
    assert "made by the plan's rule, without a model" in text
    assert "None was run: the approved plan names none." in text


def test_a_report_holds_answers_with_their_places_what_is_open_and_a_second_reading() -> None:
    review = Review(agrees=False, findings=(Finding(path="src/a.py", line=9, text="Another one."),), model="strong-1")
    still = QuestionAnswered(step=2, question="Why?", answer="", open="Nobody says.")
    text = report.render(asked(), APPROVAL, Findings(answers=(ANSWERED, still), review=review), SPENT, URL)
    assert f"[`src/a.py:3–4`]({URL}/blob/{'b' * 40}/src/a.py#L3-L4): The call." in text
    assert "**2. Why?**\n\nNot answered: Nobody says." in text
    assert "has doubts" in text and "`src/a.py:9`: Another one." in text
    assert "approved by mira" in text and "Nothing was changed." in text


SEEN = st.text(max_size=80).map(lambda text: made_visible(text)[:80])


@given(st.text(max_size=80), SEEN)
def test_nobodys_words_in_a_report_are_live(answer: str, shows: str) -> None:
    live = f"@mira #12 <b>{answer}"
    place = Evidence(path="src/a.py", start=1, end=1, shows=f"@mira {shows}")
    one = QuestionAnswered(step=1, question=live, answer=live, evidence=(place,), open="")
    text = report.render(asked(), APPROVAL, Findings(answers=(one,)), SPENT, URL)
    assert "@mira" not in text
    assert "#12" not in text
    assert "<b>" not in text


def test_a_long_report_is_said_in_several_comments() -> None:
    many = tuple(ANSWERED.model_copy(update={"step": n, "answer": "word " * 2_000}) for n in range(1, 12))
    parts = split(report.render(asked(), APPROVAL, Findings(answers=many), SPENT, URL))
    assert len(parts) > 1
    assert all(len(part) <= MAX_BODY for part in parts)
