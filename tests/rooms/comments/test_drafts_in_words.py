"""What a draft says of its making: the review, the repairs, what was not shown; and what its commits say."""

from typing import Any

import pytest

from app.comments import draft
from app.comments.opinion import opinion, reviewed
from app.core.budget import Spent
from app.core.patch import StepChanges
from app.core.report import NOT_RUN, Answer, CheckRun, Judgement, Repair, Report, Review, When
from tests.fakes import plans
from tests.rooms.comments.test_words import APPROVAL

EVIL = "<b>@rita</b> `x` closes #3"


def report(**more: Any) -> Report:
    return Report.model_validate({"runs": (), "diff_ref": "1" * 64, "changed_lines": 2} | more)


def judged(**more: Any) -> Judgement:
    said = {"criterion": 1, "met": "yes", "because": EVIL, "where": "difference", "quote": "x = 1", "believed": True}
    return Judgement.model_validate(said | more)


def test_each_judgement_is_told_with_what_it_cites_and_whether_code_found_it() -> None:
    review = Review(
        agrees=True,
        answer=Answer.ACCEPT,
        model="strong-1",
        judgements=(judged(), judged(criterion=2, believed=False), judged(criterion=3, met="unclear", believed=False)),
    )
    lines = opinion(review).splitlines()
    assert lines[0] == "**A second model's reading** (strong-1): accepts."
    assert lines[1].startswith("- Criterion 1: met.") and lines[1].endswith("(difference: `x = 1`)")
    assert lines[2].endswith("**Not believed:** what it cites is not there.") and "x = 1" not in lines[2]
    assert lines[3].startswith("- Criterion 3: unclear.") and "Not believed" not in lines[3]
    assert "<b>" not in opinion(review) and " @rita" not in opinion(review)


def test_an_opinion_from_before_is_told_as_it_was_and_so_is_that_there_was_none() -> None:
    assert opinion(Review(agrees=False, model="m")) == "**A second model's reading** (m): has doubts."
    assert reviewed(plans.plan(), report()) == "**No second model reviewed this**."
    assert reviewed(plans.plan(), report(unreviewed="No money is left.")).endswith("this**: No money is left.")
    rule = {"kind": "literal", "pattern": "old", "replacement": "new", "paths": ["src/**"]}
    steps = [{"id": 1, "kind": "change", "path": "src/a.py", "intent": "i", "done_when": "d", "who": "rule"}]
    by_rule = plans.plan(rule=rule, steps=[steps[0] | {"tools": [], "rule": {"places": 1, "result": "1" * 64}}])
    assert reviewed(by_rule, report()) == ""


def test_repairs_are_told_with_their_reason_and_cost() -> None:
    repair = Repair(number=1, asked_by="checks", because=EVIL, note="It is mended.", paths=("a.py",), calls=4)
    body = draft.body(plans.plan(), APPROVAL, report(repairs=(repair,)), Spent())
    assert "**Repairs** after the steps" in body
    assert "1. Asked for by the checks: " in body and "Mended: It is mended. (`a.py`; 4 model calls)" in body
    assert "<b>" not in body and " @rita" not in body
    assert "Repairs" not in draft.body(plans.plan(), APPROVAL, report(), Spent())


def test_what_could_not_be_run_is_told_in_title_text_and_table() -> None:
    (check,) = plans.plan().checks
    run = CheckRun(
        name=check.name, argv=check.argv, when=When.AFTER, ended=NOT_RUN, seconds=0, output_ref="2" * 64, excerpt=EVIL
    )
    body = draft.unshown_body(draft.body(plans.plan(), APPROVAL, report(runs=(run,)), Spent()), (check,))
    assert draft.unshown_title("Sizes") == "[not shown to pass] Sizes"
    assert "could not be run here: `pytest`" in body and "run the checks before you merge" in body
    assert "| `pytest` | after | could not be run: " in body and "`pytest`: not shown" in body
    assert "<details>" not in body and "<b>" not in body


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("as_the_rules_ask", ["Thanks", "fix: Thanks", "Thanks", "fix: Thanks"]),
        ("plain", ["Thanks", "Thanks"]),
        ("conventional", ["fix: Thanks", "fix: Thanks"]),
    ],
)
def test_a_steps_commit_says_what_it_does_in_the_form_that_the_policy_wants(form: Any, begins: list[str]) -> None:
    intent = f"Thanks @max for #9. {'word ' * 30}"
    steps = [{"id": 4, "kind": "change", "path": "a.py", "done_when": "d", "intent": intent}]
    words = draft.Words(plans.plan(steps=steps), APPROVAL, (), form)
    subjects = [one.splitlines()[0] for one in words.of(StepChanges(step=4, changes=()))]
    assert [one.startswith(begin) for one, begin in zip(subjects, begins, strict=True)] == [True] * len(begins)
    assert all(len(one) <= 72 and "@max" not in one and "#9" not in one and "word" not in one for one in subjects)
    whole = words.of(StepChanges(step=4, changes=()))[0]
    assert "Step 4 of plan version 1, for issue 3." in whole and f"Plan-Digest: {'d' * 64}" in whole
    assert "Approved-By: mira (id 1)" in whole
    assert "Repair 2 of plan version 1" in words.of(StepChanges(repair=2, changes=()))[0]
