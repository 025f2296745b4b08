"""What past executions cost, read back for the next estimate."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.core import facts as f
from app.core.budget import Spent
from app.core.digest import digest
from app.core.effects import DraftPlan, Execute, LookUpAuthority, Purpose, SourceKind
from app.core.estimate import PastRun
from app.core.plan import Basis, Estimate, TemplatePin
from app.core.verdict import Refused
from app.ledger.store import Ledger
from tests.fakes.deliveries import Told
from tests.fakes.facts import MIRA, START, WIDE, a_request, amendment, drafted, found, kept_repair, kept_step, sha
from tests.fakes.plans import plan

BUGFIX, DOCS = TemplatePin(name="bugfix", version="1.0.0"), TemplatePin(name="docs", version="1.0.0")
MANY = 2
"""So many steps are kept where a repair came after them."""
SIZE = Estimate(low="0.10", high="0.20", basis=Basis.BUDGET, runs=0, files=321)
Carry = Callable[..., None]


@pytest.fixture
def carried_out(ledger: Ledger) -> Carry:
    """Tells of a run whose plan was carried out, for so much money."""
    numbers = iter(range(1, 100))

    def tell(
        usd: str, template: TemplatePin = BUGFIX, kind: type[Any] = f.StepsDone, kept: int = 0, **spent: int
    ) -> None:
        number = next(numbers)
        told = Told(ledger)
        told.request = a_request(f"r-{number:06}", number, WIDE + number % 2)
        told.now = START + timedelta(days=number)
        told.allowed()
        made = plan(run=told.request.run, template=template, estimate=SIZE if number > 1 else None)
        ledger.put_plan(told.request.run, made)
        told.settle(told.claim(DraftPlan), drafted(1, told.tick(), digest=digest(made), template=template))
        _approve(ledger, told)
        cost = Spent(**{"calls": 3, "usd": Decimal(usd), **spent})
        fact = {"at": told.tick(), "plan_digest": digest(made), "spent": cost}
        more = {
            f.StepsDone: {"patch_ref": sha("patch"), "report_ref": sha("report")},
            f.QuestionsAnswered: {"findings_ref": sha("findings")},
            f.ExecutionFailed: {"reason": "It could not be done."},
        }[kind]
        claim = told.claim(Execute)
        for step in range(1, kept + 1):
            ledger.tell(claim, kept_step(digest(made), claim.effect.key, step, told.tick()))
        if kept == MANY:
            ledger.tell(claim, kept_repair(digest(made), claim.effect.key, 1, told.tick()))
        told.settle(claim, kind(**fact, **more))

    return tell


def _approve(ledger: Ledger, told: Told, version: int = 1) -> None:
    posted = f.Said(
        at=told.tick(),
        slot="plan",
        plan_version=version,
        comment_id=told.fresh(),
        node_id="IC",
        comment_digest=sha("plan"),
    )
    look = LookUpAuthority(key="k", purpose=Purpose.APPROVE, person=MIRA, source=SourceKind.COMMENT, source_id=version)
    for fact in (posted, found(look, told.tick(), plan_version=version)):
        assert not isinstance(ledger.record(told.request.run, fact), Refused)


def test_nothing_was_carried_out_yet(ledger: Ledger) -> None:
    assert ledger.past_runs("bugfix") == ()


def test_executions_of_the_template_are_found_newest_first_with_repository_and_size(
    ledger: Ledger, carried_out: Carry
) -> None:
    carried_out("0.25")
    carried_out("9.00", DOCS)
    carried_out("0.75", kind=f.ExecutionFailed)
    carried_out("0.125", kind=f.QuestionsAnswered)
    assert ledger.past_runs("bugfix") == (
        PastRun(WIDE, Decimal("0.125"), 321),
        PastRun(WIDE + 1, Decimal("0.75"), 321),
        PastRun(WIDE + 1, Decimal("0.25"), None),
    )


def test_what_was_kept_cost_a_part_of_what_its_execution_cost(ledger: Ledger, carried_out: Carry) -> None:
    carried_out("0.25", kept=MANY)
    carried_out("0.25", kind=f.ExecutionFailed, kept=1)
    assert [one.usd for one in ledger.past_runs("bugfix")] == [Decimal("0.35"), Decimal("0.65")]


def test_an_amended_plan_is_one_execution_with_the_cost_of_both_parts(ledger: Ledger) -> None:
    told = Told(ledger)
    told.allowed()
    before = plan(run=told.request.run, template=BUGFIX, estimate=SIZE)
    after = before.model_copy(update={"version": 2})
    for made in (before, after):
        ledger.put_plan(told.request.run, made)
    told.settle(told.claim(DraftPlan), drafted(1, told.tick(), digest=digest(before), template=BUGFIX))
    _approve(ledger, told)
    claim = told.claim(Execute)
    more = amendment(digest(before), claim.effect.key, 2, told.tick())
    told.settle(claim, more.model_copy(update={"digest": digest(after)}))
    assert ledger.past_runs("bugfix") == ()
    ledger.put_plan(told.request.run, after.model_copy(update={"summary": "Of an attempt that died."}))
    assert ledger.plan(told.request.run, 2) == after
    _approve(ledger, told, 2)
    cost, refs = Spent(calls=1, usd=Decimal("0.40")), {"patch_ref": sha("patch"), "report_ref": sha("report")}
    told.settle(told.claim(Execute), f.StepsDone(at=told.tick(), plan_digest=digest(after), spent=cost, **refs))
    assert ledger.past_runs("bugfix") == (PastRun(WIDE + 2, Decimal("0.45"), 321),)


def test_what_has_no_known_price_and_what_asked_no_model_is_left_out(ledger: Ledger, carried_out: Carry) -> None:
    carried_out("0.25", unpriced_calls=1)
    carried_out("0.00", calls=0, kind=f.ExecutionFailed)
    assert ledger.past_runs("bugfix") == ()
