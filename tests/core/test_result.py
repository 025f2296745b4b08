"""Gate 4, whole: steps against the patch, checks that could not be run, and what a review may keep back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.core.patch import FileChange, Patch, StepChanges
from app.core.plan import Expectation
from app.core.policy import Policy
from app.core.report import (
    NOT_RUN,
    Answer,
    CheckRun,
    Judgement,
    Report,
    Review,
    Showing,
    When,
    not_run,
    plan_shown,
    red,
    review_allows,
    showing,
)
from app.core.result import result_fits, steps_fit
from app.core.verdict import Allowed, Refused
from tests.fakes.plans import BASE, plan

CODE, TEST = "src/sizes.py", "tests/test_sizes.py"
OLD, NEW, NEWER = "1" * 64, "2" * 64, "3" * 64


def changed(path: str, content: str = NEW, **more: Any) -> FileChange:
    values = {"kind": "change", "path": path, "mode": "100644", "content_ref": content, "base_blob": "2" * 40}
    return FileChange(**(values | more))


def stepped(*steps: StepChanges, whole: tuple[FileChange, ...] = (changed(CODE), changed(TEST))) -> Patch:
    return Patch(base_commit=BASE, changes=whole, steps=steps)


FIRST, SECOND = StepChanges(step=1, changes=(changed(CODE),)), StepChanges(step=2, changes=(changed(TEST),))


def test_steps_that_come_to_the_patch_fit_with_a_repair_behind_them_or_without_any_record() -> None:
    assert steps_fit(plan(), stepped(FIRST, SECOND), Policy()) == Allowed()
    assert steps_fit(plan(), stepped(), Policy()) == Allowed()
    early = StepChanges(step=1, changes=(changed(CODE, OLD),))
    mended = StepChanges(repair=1, changes=(changed(CODE),))
    assert steps_fit(plan(), stepped(early, SECOND, mended), Policy()) == Allowed()


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((FIRST,), "not the steps of the plan"),
        ((SECOND, FIRST), "not the steps of the plan"),
        ((FIRST, StepChanges(repair=1, changes=()), SECOND), "not the steps of the plan"),
        ((FIRST, StepChanges(step=2, changes=())), "Step 2 was told as done and has changed nothing in tests"),
        ((FIRST, StepChanges(step=2, changes=(changed(TEST), changed(CODE)))), "Step 2 touched src/sizes.py"),
        ((FIRST, SECOND, StepChanges(repair=1, changes=(changed("other.py"),))), "Repair 1 touched other.py"),
        ((StepChanges(step=1, changes=(changed(CODE, OLD),)), SECOND), "do not come to what the patch holds"),
        ((StepChanges(step=1, changes=(changed(CODE, mode="100755"),)), SECOND), "do not come to"),
    ],
)
def test_steps_that_are_not_what_the_patch_holds_are_refused(steps: tuple[StepChanges, ...], words: str) -> None:
    refused = steps_fit(plan(), stepped(*steps), Policy())
    assert isinstance(refused, Refused) and words in refused.reason


def test_a_step_with_nothing_to_do_is_one_where_code_saw_why() -> None:
    idle = StepChanges(step=2, changes=(), nothing_to_do="what it asks for was there already")
    patch = stepped(FIRST, idle, whole=(changed(CODE),))
    assert result_fits(plan(checks=[]), patch, report(), Policy()) == Allowed()
    untold = stepped(whole=(changed(CODE),))
    assert isinstance(result_fits(plan(checks=[]), untold, report(), Policy()), Refused)


def test_the_policys_paths_bind_each_step_and_a_move_went_and_came() -> None:
    assert isinstance(steps_fit(plan(), stepped(FIRST, SECOND), Policy(forbidden_paths=("/src/*",))), Refused)
    moving = [{"id": 1, "kind": "move", "path": "a.py", "to": "b.py", "intent": "i", "done_when": "d"}]
    went = FileChange(kind="delete", path="a.py", mode="100644", base_blob="2" * 40)
    came = FileChange(kind="create", path="b.py", mode="100644", content_ref=NEW)
    whole = (changed("b.py", kind="move", old_path="a.py"),)
    assert steps_fit(plan(steps=moving), stepped(StepChanges(step=1, changes=(went, came)), whole=whole), Policy()) == (
        Allowed()
    )
    with pytest.raises(ValidationError, match="a move is among them"):
        StepChanges(step=1, changes=whole)
    with pytest.raises(ValidationError, match="a step or of a repair"):
        StepChanges(step=1, repair=1, changes=())


# -- checks that could not be run ---------------------------------------------------------------------------------

(CHECK,) = plan().checks
DRAFTS = Policy(checks_not_run="draft")


def ran(when: When, status: int | None = 0, **more: Any) -> CheckRun:
    values = {"name": CHECK.name, "argv": CHECK.argv, "when": when, "ended": "exited", "exit_status": status}
    return CheckRun(**(values | {"seconds": 1, "output_ref": "4" * 64} | more))


def unrun(when: When) -> CheckRun:
    return ran(when, None, ended=NOT_RUN, excerpt="there is no Python 3.14 here")


def report(*runs: CheckRun, review: Review | None = None) -> Report:
    return Report(runs=runs, diff_ref="5" * 64, changed_lines=1, review=review)


def test_a_check_that_could_not_be_run_is_not_shown_to_pass_unless_the_policy_lets_a_draft_say_so() -> None:
    every = report(*(unrun(when) for when in When))
    assert showing(CHECK, every) is Showing.NOT_SHOWN
    assert showing(CHECK, report(ran(When.BEFORE), unrun(When.AFTER))) is Showing.NOT_SHOWN
    assert not_run(plan(), every) == (CHECK,)
    refused = plan_shown(plan(), every, Policy())
    assert isinstance(refused, Refused)
    assert "could not be run" in refused.reason and "no Python 3.14" in refused.reason
    assert "checks_not_run" in refused.remedy
    assert plan_shown(plan(), every, DRAFTS) == Allowed()


@pytest.mark.parametrize("policy", [Policy(), DRAFTS])
@pytest.mark.parametrize(
    "runs",
    [
        (),
        (ran(When.TESTS_ONLY, 1), ran(When.AFTER, 1)),
        (ran(When.TESTS_ONLY, 0), ran(When.AFTER, 0)),
        (ran(When.TESTS_ONLY, 1), ran(When.AFTER, None, ended="timeout")),
    ],
    ids=["never tried", "red", "proves nothing", "over time"],
)
def test_only_what_could_not_be_run_is_let_through(runs: tuple[CheckRun, ...], policy: Policy) -> None:
    assert isinstance(plan_shown(plan(), report(*runs), policy), Refused)


def test_a_red_check_blocks_beside_one_that_could_not_be_run() -> None:
    other = CHECK.model_copy(update={"name": "make test", "argv": ("/usr/bin/make", "test")})
    failed = [one.model_copy(update={"name": other.name, "argv": other.argv}) for one in (ran(When.AFTER, 2),)]
    two = plan(checks=[CHECK.model_dump(), other.model_copy(update={"expect": Expectation.PASSES}).model_dump()])
    both = report(*(unrun(when) for when in When), *failed)
    assert isinstance(plan_shown(two, both, DRAFTS), Refused)
    assert red(two, both, DRAFTS) == tuple(failed)
    assert red(two, both, Policy()) == ()  # No repair helps where a check cannot be run.


# -- reviews ------------------------------------------------------------------------------------------------------


def judgement(met: Any, believed: bool = True) -> Judgement:
    return Judgement(criterion=1, met=met, because="I read it.", where="difference", quote="x = 1", believed=believed)


def reviewed(answer: Answer | None, *judgements: Judgement) -> Review:
    words = "" if answer is Answer.ACCEPT else "The unit is wrong."
    return Review(agrees=answer is Answer.ACCEPT, answer=answer, words=words, judgements=judgements)


@pytest.mark.parametrize(
    ("review", "words"),
    [
        (None, ""),
        (reviewed(None), ""),
        (reviewed(Answer.ACCEPT, judgement("yes"), judgement("unclear", False)), ""),
        (reviewed(Answer.ACCEPT, judgement("no", believed=False)), ""),
        (reviewed(Answer.ACCEPT, judgement("no")), "criterion 1 is not met"),
        (reviewed(Answer.REPAIR, judgement("yes")), "asks for a repair: The unit is wrong."),
        (reviewed(Answer.STOP), "says to stop: The unit is wrong."),
    ],
)
def test_a_review_can_keep_a_patch_back(review: Review | None, words: str) -> None:
    verdict = review_allows(review)
    assert (verdict == Allowed()) is not bool(words)
    assert not words or (isinstance(verdict, Refused) and words in verdict.reason)


@given(st.sampled_from([0, 1, 2]), st.sampled_from([0, 1]), st.sampled_from(["exited", "timeout", NOT_RUN]))
def test_no_review_stands_for_a_check(after: int, alone: int, ended: str) -> None:
    runs = (ran(When.TESTS_ONLY, alone), ran(When.AFTER, after, ended=ended))
    accepted = report(*runs, review=reviewed(Answer.ACCEPT, judgement("yes")))
    without = result_fits(plan(), stepped(FIRST, SECOND), report(*runs), Policy())
    assert result_fits(plan(), stepped(FIRST, SECOND), accepted, Policy()) == without
    assert (without == Allowed()) is (alone == 1 and after == 0 and ended == "exited")


def test_a_report_that_was_stored_before_there_were_repairs_and_judgements_is_read() -> None:
    old = {
        "runs": [ran(When.AFTER).model_dump(mode="json")],
        "environment": "",
        "diff_ref": "5" * 64,
        "changed_lines": 1,
        "review": {"agrees": False, "findings": [{"path": "a", "line": None, "text": "t"}], "model": "m"},
        "notes": [],
    }
    read = Report.model_validate(old)
    assert read.review is not None and read.review.answer is None
    assert (read.repairs, read.unreviewed) == ((), "")
    assert Patch.model_validate({"base_commit": BASE, "changes": []}).steps == ()
