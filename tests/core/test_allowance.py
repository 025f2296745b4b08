"""The allowance of a run: what counts against it, whose word renews it, and the end where it is used up."""

from typing import Literal

import pytest

from app.comments.status import render
from app.core import facts as f
from app.core.allowance import MOST_FAILED, beyond, told
from app.core.budget import Spent
from app.core.effects import Execute, Purpose, Say, SourceKind
from app.core.run import Approved, Closed, ClosedReason, Proposed, Reporting, StallCode
from app.core.stalling import stall_of, waits_for
from tests.core.test_advance_table import Life
from tests.fakes.facts import OUTSIDER, drafted, labelled, sha

Kind = Literal["say", "react", "look_up_authority", "draft_plan"]


def abandoned(life: Life, effect: Kind = "say", tried: int = 5, key: str = "status:x") -> f.EffectAbandoned:
    return f.EffectAbandoned(at=life.now(), effect=effect, key=key, reason="GitHub refuses it.", tried=tried)


def failed(life: Life) -> int:
    assert life.state is not None
    return life.state.failed


@pytest.fixture
def life() -> Life:
    """A plan is being made."""
    made = Life()
    made.tell(labelled())
    made.decide(Purpose.LABEL, SourceKind.LABEL)
    return made


def test_attempts_that_failed_are_counted_over_all_effects_and_what_hangs_on_anybodys_words_is_not(life: Life) -> None:
    effects: tuple[Kind, ...] = ("say", "react", "look_up_authority", "say")
    for effect in effects:
        life.tell(abandoned(life, effect, tried=3))
    assert failed(life) == 6 and life.state is not None
    assert told(life.state) == f"6 of {MOST_FAILED} attempts that may fail"


def test_replies_which_anybody_can_call_forth_use_nothing_up(life: Life) -> None:
    """A stranger asks, and asks again, while GitHub takes no comments."""
    for about in ("help:13:wanted:v0", "unclear:13:abc:v0", "approve:13:v0:abc"):
        life.tell(abandoned(life, key=f"reply:{about}"))
    assert failed(life) == 0


def test_what_an_older_version_recorded_counts_nothing_so_that_no_log_of_before_reads_otherwise(life: Life) -> None:
    life.tell(f.EffectAbandoned.model_validate({"at": life.now(), "effect": "say", "key": "k", "reason": "no"}))
    assert failed(life) == 0 and life.state is not None and told(life.state) == ""


def test_a_run_that_is_beyond_its_allowance_ends_with_a_reason_and_the_next_act(life: Life) -> None:
    """However often something was told of it: no silence is waited for."""
    while failed(life) < MOST_FAILED:
        assert life.state is not None and stall_of(life.state, [], life.at, life.at) is None
        life.tell(abandoned(life))
    over = stall_of(life.state, [], life.at, life.now()) if life.state else None
    assert over is not None and (over.code, over.over) == (StallCode.ATTEMPTS, True)
    life.tell(over)
    assert isinstance(life.state, Closed) and life.state.reason is ClosedReason.FAILED
    words = render(life.state)
    assert f"failed {MOST_FAILED} times since a person last said" in words and "`/retry`" in words
    assert life.owes(Say)


@pytest.mark.parametrize("purpose", [Purpose.RETRY, Purpose.REFRESH])
def test_a_person_who_may_takes_it_up_again_with_a_whole_allowance(life: Life, purpose: Purpose) -> None:
    life.tell(abandoned(life, tried=MOST_FAILED))
    over = stall_of(life.state, [], life.at, life.now()) if life.state else None
    assert over is not None
    life.tell(over)
    assert failed(life) == MOST_FAILED
    life.decide(purpose)
    assert life.state is not None and (life.state.name, failed(life)) == ("wanted", 0)
    assert stall_of(life.state, [], life.at, life.at) is None


def test_an_approval_and_a_wish_renew_it_and_a_refused_word_and_an_authors_answer_do_not(life: Life) -> None:
    life.tell(abandoned(life))
    life.tell(f.InputNeeded(at=life.now(), version=1, question="Which?", spent=Spent()))
    life.tell(f.Answered(at=life.now(), comment_id=life.fresh(), person=OUTSIDER))
    assert failed(life) == 5
    life.tell(drafted(2, life.now()))
    life.post(2)
    life.decide(Purpose.REVISE, permission="read", role_name="read")
    life.decide(Purpose.APPROVE, permission="read", role_name="read")
    assert isinstance(life.state, Proposed) and failed(life) == 5
    life.decide(Purpose.REVISE)
    assert failed(life) == 0
    life.tell(abandoned(life))
    life.decide(Purpose.APPROVE)
    assert isinstance(life.state, Approved) and failed(life) == 0


def test_a_run_that_waits_for_people_is_not_ended_by_it(life: Life) -> None:
    life.tell(drafted(1, life.now()))
    life.post(1)
    life.tell(abandoned(life, tried=2 * MOST_FAILED))
    assert life.state is not None and waits_for(life.state) == ""
    assert beyond(life.state, "", life.now()) is None


def test_a_report_that_could_not_be_said_is_said_after_a_retry_and_not_worked_out_again(life: Life) -> None:
    life.tell(drafted(1, life.now()))
    life.post(1)
    life.decide(Purpose.APPROVE)
    assert isinstance(life.state, Approved)
    digest = life.state.proposal.digest
    life.tell(f.QuestionsAnswered(at=life.now(), plan_digest=digest, findings_ref=sha("found"), spent=Spent()))
    assert isinstance(life.state, Reporting)
    life.tell(abandoned(life, key=waits_for(life.state)))
    assert isinstance(life.state, Closed) and failed(life) == 5
    life.decide(Purpose.RETRY)
    assert isinstance(life.state, Reporting) and not life.owes(Execute) and failed(life) == 0
