"""Two deliveries of one meaning are one run, one look and one execution; in whatever order deliveries come."""

from datetime import datetime, timedelta
from itertools import permutations

import pytest

from app.core import facts as f
from app.core.budget import Spent
from app.core.effects import LookUpAuthority, Purpose, SourceKind
from app.core.run import Approved, Closed, NeedsInput, State
from app.core.verb import Verb
from app.ledger.store import Ledger
from tests.fakes.deliveries import Told, a_delivery, on_issue
from tests.fakes.facts import MIRA, OTTO, START, TEXTS, a_request, found, labelled, sha

SECOND = timedelta(seconds=1)


def set_at(at: datetime, run: str, person: object = MIRA) -> f.Labelled:
    """The label, set at this time by GitHub's clock."""
    request = a_request(run=run).model_copy(update={"labeller": person, "labelled_at": at})
    return labelled(request).model_copy(update={"happened_at": at})


def state_of(told: Told) -> State:
    view = told.ledger.run(told.request.run)
    assert view is not None
    return view.state


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_label_that_was_set_taken_off_and_set_again_leaves_one_open_run(
    ledger: Ledger, order: tuple[int, ...]
) -> None:
    off = f.LabelRemoved(at=START, happened_at=START + SECOND, person=MIRA)
    deliveries = (set_at(START, "r-000001"), off, set_at(START + 2 * SECOND, "r-000002"))
    for number in order:
        # Each comes twice: by its guid it is known.
        for _ in range(2):
            ledger.receive(a_delivery(f"g-{number}"), on_issue(deliveries[number], a_request()))
    assert [run.open for run in ledger.runs()].count(True) == 1


def test_a_label_that_is_heard_of_after_a_later_one_had_its_run_opens_no_other(ledger: Ledger) -> None:
    late, later, again = (set_at(START + number * SECOND, f"r-00000{number}") for number in (1, 3, 5))
    over = f.IssueEnded(at=START, happened_at=START + 4 * SECOND, how=f.IssueEnd.CLOSED, person=MIRA)
    for number, fact in enumerate((later, over)):
        ledger.receive(a_delivery(f"g-{number}"), on_issue(fact, a_request()))
    received = ledger.receive(a_delivery("g-late"), on_issue(late, a_request()))
    assert received.outcome == "ignored: that label, or a later one, had its run, r-000003"
    assert [run.open for run in ledger.runs()] == [False]
    assert ledger.receive(a_delivery("g-again"), on_issue(again, a_request())).outcome == "opened run r-000005"


def test_the_label_set_by_two_people_in_one_second_is_one_run_with_one_look(ledger: Ledger) -> None:
    for number, person in enumerate((MIRA, OTTO), start=1):
        fact = set_at(START, f"r-00000{number}", person)
        ledger.receive(a_delivery(f"g-{number}"), on_issue(fact, a_request()))
    (run,) = ledger.runs()
    view = ledger.run(run.id)
    assert view is not None
    assert [one.effect.key for one in view.effects if one.effect.kind == "look_up_authority"] == ["authority:label"]


def late_news(request_at: datetime) -> dict[str, f.Fact]:
    """What an earlier run was told, and this one hears of once more."""
    when = {"at": START, "happened_at": request_at - SECOND}
    return {
        "the label taken off": f.LabelRemoved(**when, person=MIRA),
        "the issue closed": f.IssueEnded(**when, how=f.IssueEnd.CLOSED, person=MIRA),
        "an older text": f.IssueChanged(**when, issue_digest=TEXTS[1], person=MIRA),
        "a command": f.CommandGiven(**when, verb=Verb.CANCEL, comment_id=1, comment_digest=sha("c"), person=MIRA),
        "almost a command": f.CommandUnclear(**when, written="/aprove", meant="/approve", comment_id=1, person=MIRA),
        "a comment": f.Answered(**when, comment_id=1, person=MIRA),
    }


@pytest.mark.parametrize("what", late_news(START))
def test_news_of_an_earlier_run_are_none_of_this_one_s(ledger: Ledger, what: str) -> None:
    fact = set_at(START, "r-000001")
    told = Told(ledger, fact.request)
    told.deliver(fact)
    before = ledger.run("r-000001")
    late = late_news(START)[what]
    assert told.deliver(late).outcome.startswith("ignored: It happened before")
    assert ledger.run("r-000001") == before
    same_moment = late.model_copy(update={"happened_at": START})
    assert "happened before" not in told.deliver(same_moment).outcome


def test_two_approvals_of_one_plan_lead_to_one_execution(told: Told) -> None:
    told.approved()
    for number, person in enumerate((MIRA, OTTO), start=1):
        given = f.CommandGiven(
            at=told.tick(), verb=Verb.APPROVE, comment_id=number, comment_digest=sha("/approve"), person=person
        )
        # The same comment in two deliveries is one look.
        assert [len(told.deliver(given).rings) for _ in range(2)] == [2, 0]
        assert told.deliver(given).outcome == "ignored: This comment was told of before."
    for number in (1, 2):
        look = LookUpAuthority(
            key="k", purpose=Purpose.APPROVE, person=MIRA, source=SourceKind.COMMENT, source_id=number
        )
        told.ledger.record(told.request.run, found(look, told.tick(), plan_version=1))
    view = told.ledger.run(told.request.run)
    assert view is not None and isinstance(view.state, Approved)
    assert [one.effect.kind for one in view.effects].count("execute") == 1


def test_an_edit_that_was_read_for_the_approval_does_not_void_it_when_it_is_told_later(told: Told) -> None:
    told.approved()
    state = state_of(told)
    assert isinstance(state, Approved)
    edited = f.IssueChanged(at=told.tick(), issue_digest=sha("another"), person=MIRA)
    long_ago = state.approval.approved_at - timedelta(minutes=6)
    assert told.deliver(edited.model_copy(update={"happened_at": long_ago})).outcome.startswith("ignored: It was read")
    assert isinstance(state_of(told), Approved)
    # Clocks differ: what may have happened later voids it.
    told.deliver(edited.model_copy(update={"happened_at": state.approval.approved_at - timedelta(minutes=4)}))
    assert not isinstance(state_of(told), Approved)


def test_a_comment_from_long_before_the_question_is_no_answer_to_it(told: Told) -> None:
    told.allowed()
    asked = told.tick()
    told.ledger.record(told.request.run, f.InputNeeded(at=asked, version=1, question="Which?", spent=Spent()))
    author = told.request.author
    assert author is not None
    answer = f.Answered(at=told.tick(), happened_at=asked - timedelta(hours=1), comment_id=1, person=author)
    assert told.deliver(answer).outcome == "ignored: The comment is older than the question."
    assert isinstance(state_of(told), NeedsInput)
    told.deliver(answer.model_copy(update={"happened_at": asked - timedelta(minutes=1)}))
    assert not isinstance(state_of(told), NeedsInput | Closed)
