"""What was answered is kept with the span that paid for it, and no longer than its effect is owed."""

import pytest
from sqlalchemy import insert

from app.core.effects import DraftPlan, LookUpAuthority
from app.core.kept_answer import KeptAnswer
from app.ledger.errors import LedgerCorrupt
from app.ledger.schema import answers
from app.ledger.store import Ledger
from tests.fakes.deliveries import Told
from tests.fakes.facts import found, labelled
from tests.ledger.test_ledger_keeping import a_span


def planning(ledger: Ledger) -> Told:
    told = Told(ledger)
    told.deliver(labelled(told.request, told.now))
    look = told.claim(LookUpAuthority)
    told.settle(look, found(look.effect, told.tick()))  # type: ignore[arg-type]
    return told


def test_answers_are_kept_in_their_turns_until_the_effect_is_settled_and_not_after(ledger: Ledger) -> None:
    told = planning(ledger)
    claim = told.claim(DraftPlan)
    first, second = (KeptAnswer(claim.effect_id, "a" * 64, nth, b'{"n": %d}' % nth) for nth in (0, 1))
    ledger.add_spans([a_span(run=told.request.run)], None, [first, second])
    ledger.add_spans([], None, [KeptAnswer(claim.effect_id, "a" * 64, 0, b"another attempt said this")])
    assert ledger.answers(claim.effect_id) == {("a" * 64, 0): first.body, ("a" * 64, 1): second.body}
    told.settle(claim)
    assert ledger.answers(claim.effect_id) == {}
    ledger.add_spans([], None, [first])
    assert ledger.answers(claim.effect_id) == {}


def test_an_answer_that_was_changed_in_the_ledger_is_not_believed(ledger: Ledger) -> None:
    claim = planning(ledger).claim(DraftPlan)
    row = {"effect_id": claim.effect_id, "question": "a" * 64, "nth": 0, "body": b"not packed"}
    ledger._database.writing(lambda connection: connection.execute(insert(answers), [row]))
    with pytest.raises(LedgerCorrupt, match="cannot be unpacked"):
        ledger.answers(claim.effect_id)


def test_pruning_drops_what_code_of_before_left_behind(ledger: Ledger) -> None:
    told = planning(ledger)
    claim = told.claim(DraftPlan)
    told.settle(claim)
    row = {"effect_id": claim.effect_id, "question": "a" * 64, "nth": 0, "body": b""}
    ledger._database.writing(lambda connection: connection.execute(insert(answers), [row]))
    ledger.prune(told.now)
    ledger._database.writing(lambda connection: connection.execute(insert(answers), [row]))
