"""The gate once more, before anything is written: what is stored is judged as if nobody had looked at it."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from app.core.facts import PublishFailed
from app.core.patch import FileChange, Patch, StepChanges
from app.core.policy import Policy
from app.core.report import NOT_RUN, Answer, CheckRun, Report, Review, When
from app.core.run import Built
from tests.fakes.plans import BASE, plan
from tests.rooms.comments.test_words import APPROVAL, PROPOSAL, REQUEST
from worker.belts.landing import Finished, open_draft

NOW = datetime(2026, 3, 4, tzinfo=UTC)
(CHECK,) = plan().checks


def changed(path: str) -> FileChange:
    return FileChange(kind="change", path=path, mode="100644", content_ref="1" * 64, base_blob="2" * 40)


PATHS = ("src/sizes.py", "tests/test_sizes.py")
STEPS = tuple(StepChanges(step=number, changes=(changed(path),)) for number, path in enumerate(PATHS, 1))
PATCH = Patch(base_commit=BASE, changes=tuple(changed(path) for path in PATHS), steps=STEPS)


def ran(when: When, status: int, **more: Any) -> CheckRun:
    values = {"name": CHECK.name, "argv": CHECK.argv, "when": when, "ended": "exited", "exit_status": status}
    return CheckRun.model_validate(values | {"seconds": 1, "output_ref": "3" * 64} | more)


def report(*runs: CheckRun, **more: Any) -> Report:
    shown = runs or (ran(When.TESTS_ONLY, 1), ran(When.AFTER, 0))
    return Report.model_validate({"runs": shown, "diff_ref": "4" * 64, "changed_lines": 2} | more)


STOP = Review(agrees=False, answer=Answer.STOP, words="It is wrong.")
UNRUN = report(*(ran(when, 0, ended=NOT_RUN, excerpt="no Python") for when in (When.TESTS_ONLY, When.AFTER)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"report": report(ran(When.TESTS_ONLY, 1), ran(When.AFTER, 1))}, "did not pass after the change"),
        ({"report": report(review=STOP)}, "The reviewer says to stop: It is wrong."),
        ({"report": UNRUN}, "could not be run"),
        ({"patch": PATCH.model_copy(update={"steps": STEPS[:1]})}, "not the steps of the plan"),
        ({"patch": PATCH.model_copy(update={"changes": PATCH.changes[:1]})}, "left no change in tests/test_sizes.py"),
    ],
    ids=["red", "stopped by the reviewer", "not run", "a step is missing", "its change is missing"],
)
def test_what_the_gate_refuses_is_never_written(changes: dict[str, Any], words: str) -> None:
    state = Built(
        request=REQUEST,
        policy=Policy(),
        proposal=PROPOSAL,
        approval=APPROVAL,
        patch_ref="5" * 64,
        report_ref="6" * 64,
    )
    good: dict[str, Any] = {"state": state, "plan": plan(), "patch": PATCH, "report": report()}
    good["content"] = lambda reference: b""
    nobody = cast(Any, None)  # Whoever asks it to write anything fails.
    told = open_draft(nobody, Finished(**(good | changes)), NOW)
    (fact,) = told.facts
    assert isinstance(fact, PublishFailed) and words in fact.reason and "Nothing was written." in fact.remedy
    with pytest.raises(AttributeError):
        open_draft(nobody, Finished(**good), NOW)
