"""The watchdog: what a run waits for and does not make progress is said on its issue, and ended after a bound."""

from datetime import datetime

from app.core.stalling import PATIENCE, Debt, stall_of
from app.ledger.outcomes import EffectView
from worker.shop import Shop


def look_around(shop: Shop, at: datetime) -> None:
    """Every run that waits for us without progress has been told so, once for each way of waiting."""
    for run in shop.ledger.at_work_since(at - PATIENCE):
        with shop.ledger.leaving_aside():
            view = shop.ledger.run(run)
            if view is None:
                continue
            debts = [_debt(one) for one in view.effects if one.settled_at is None]
            stalled = stall_of(view.state, debts, shop.ledger.last_sign(run) or view.opened_at, at)
            if stalled is not None:
                shop.tell(run, stalled)


def _debt(row: EffectView) -> Debt:
    why = row.outcome.partition("UTC: ")[2] or row.outcome
    return Debt(row.effect.key, row.belt, row.owed_since, row.available_at, row.lease_until, why)
