"""What is kept of work in hand: recorded under its claim alone, and what it cost over all of its attempts."""

from decimal import Decimal

from app.core.belts import Belt
from app.core.budget import Spent
from app.core.run import Approved
from app.core.span import Span, SpanKind
from app.core.verdict import Refused
from app.ledger.outcomes import Claim, Recorded
from tests.fakes.deliveries import LEASE, Told
from tests.fakes.facts import START, kept_step


def kept(told: Told) -> list[int]:
    view = told.ledger.run(told.request.run)
    assert view is not None and isinstance(view.state, Approved)
    return [step.id for step in view.state.work.steps]


def test_a_step_is_recorded_under_its_claim_while_the_work_goes_on(told: Told) -> None:
    claim = told.approved()
    digest = claim.state.proposal.digest if isinstance(claim.state, Approved) else ""
    assert isinstance(told.ledger.tell(claim, kept_step(digest, claim.effect.key, 1, told.tick())), Recorded)
    assert kept(told) == [1]
    assert claim.effect_id in [debt.effect_id for debt in told.ledger.debts()]
    again = told.ledger.tell(claim, kept_step(digest, claim.effect.key, 1, told.tick()))
    assert again == Refused("The step is kept already.")


def test_whoever_was_surpassed_keeps_nothing_and_the_next_one_sees_what_was_kept(told: Told) -> None:
    claim = told.approved()
    digest = claim.state.proposal.digest if isinstance(claim.state, Approved) else ""
    told.ledger.tell(claim, kept_step(digest, claim.effect.key, 1, told.tick()))
    told.now += LEASE
    next_one = told.ledger.claim(claim.effect_id, Belt.EXECUTOR, told.now, LEASE)
    assert isinstance(next_one, Claim) and isinstance(next_one.state, Approved)
    assert [step.id for step in next_one.state.work.steps] == [1]
    assert isinstance(told.ledger.tell(claim, kept_step(digest, claim.effect.key, 2, told.tick())), Refused)
    assert kept(told) == [1]


def test_what_an_effect_cost_is_the_sum_of_all_replies_in_its_doing(told: Told) -> None:
    told.labelled()

    def reply(effect_id: int, kind: SpanKind = SpanKind.MODEL, **more: object) -> Span:
        fixed = {"run": told.request.run, "belt": Belt.EXECUTOR, "name": "executor", "outcome": "ok", "seconds": 2.0}
        return Span(**fixed | {"kind": kind, "began_at": START, "effect_id": effect_id} | more)  # type: ignore[arg-type]

    told.ledger.add_spans(
        [
            reply(7, usd=Decimal("0.25"), input_tokens=10, output_tokens=3, cached_tokens=5),
            reply(7, calls=3, unpriced_calls=2, usd=Decimal("0.5")),
            reply(7, SpanKind.TOOL),
            reply(8, usd=Decimal(9)),
        ]
    )
    assert told.ledger.spent_on(told.request.run, 7) == Spent(
        calls=4,
        input_tokens=10,
        output_tokens=3,
        cached_tokens=5,
        usd=Decimal("0.75"),
        unpriced_calls=2,
        model_seconds=4.0,
    )
