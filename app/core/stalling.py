"""Stalls: a run waits for work of ours, and that work makes no progress. Pure; time is the caller's."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.core.allowance import beyond
from app.core.belts import Belt
from app.core.facts import Stalled
from app.core.move import draft, execute_key, last_work, report_key
from app.core.run import Approved, Built, Proposed, Reporting, StallCode, State, Wanted

PATIENCE = timedelta(minutes=15)
"""How long work may wait or lie untouched before that is said."""

SILENCE = timedelta(minutes=45)
"""How long work in hand may show no sign of progress before that is said: longer than any command may run."""

MOST_SILENCE = timedelta(hours=6)
"""After so long without a sign the run is ended."""


@dataclass(frozen=True, slots=True)
class Debt:
    """What the ledger says of one effect that is not settled."""

    key: str
    belt: Belt
    owed_since: datetime
    available_at: datetime | None
    lease_until: datetime | None
    why: str
    """Why it waits, if it does."""


def waits_for(state: State) -> str:
    """Key of the effect without which the run cannot go on; empty where it waits for people."""
    if isinstance(state, Wanted) and not state.allowed:
        return "authority:label"
    if isinstance(state, Wanted) or (isinstance(state, Proposed) and state.drafting):
        return draft(state.last_version + 1).key
    if isinstance(state, Approved):
        return execute_key(state.approval)
    if isinstance(state, Built):
        return last_work(state).key
    if isinstance(state, Reporting):
        return report_key(state.approval, state.findings_ref)
    return ""


def stall_of(state: State, debts: Sequence[Debt], last_sign: datetime, now: datetime) -> Stalled | None:
    """How the run is stalled, if it is. `last_sign`: when something was last told or done for it."""
    key = waits_for(state)
    if not key:
        return None
    if (over := beyond(state, key, now)) is not None:
        return over
    debt = next((one for one in debts if one.key == key), None)
    if debt is None:
        return _nothing_owed(key, now) if now - last_sign > PATIENCE else None
    if debt.lease_until is not None and debt.lease_until > now:
        return _held(debt, max(last_sign, debt.owed_since), now)
    if now - debt.owed_since <= PATIENCE:
        return None
    if debt.available_at is not None and debt.available_at > now:
        remedy = f"It is tried again by itself, at {debt.available_at:%Y-%m-%d %H:%M} UTC. `/cancel` ends the run."
        return Stalled(at=now, key=key, code=StallCode.WAITS, reason=debt.why, remedy=remedy)
    if now - max(last_sign, debt.available_at or debt.owed_since) <= PATIENCE:
        return None
    minutes = PATIENCE.seconds // 60
    reason = f"The {debt.belt} has not taken it up for {minutes} minutes: it is busy with other runs, or does not run."
    remedy = "Who operates this installation can see to it. `/cancel` ends the run."
    return Stalled(at=now, key=key, code=StallCode.NOT_TAKEN_UP, reason=reason, remedy=remedy)


def _held(debt: Debt, since: datetime, now: datetime) -> Stalled | None:
    silent = now - since
    if silent > MOST_SILENCE:
        hours = MOST_SILENCE.seconds // 3600
        reason = f"The {debt.belt} showed no sign of progress for {hours} hours."
        return Stalled(at=now, key=debt.key, code=StallCode.NO_PROGRESS, reason=reason, over=True)
    if silent <= SILENCE:
        return None
    minutes, hours = SILENCE.seconds // 60, MOST_SILENCE.seconds // 3600
    reason = f"The {debt.belt} is at it and has shown no sign of progress for {minutes} minutes."
    remedy = f"After {hours} hours without one the run is ended. `/cancel` ends it now."
    return Stalled(at=now, key=debt.key, code=StallCode.NO_PROGRESS, reason=reason, remedy=remedy)


def _nothing_owed(key: str, now: datetime) -> Stalled:
    reason = "Nothing is being done for this run any more, though something should be."
    return Stalled(at=now, key=key, code=StallCode.NOTHING_OWED, reason=reason, over=True)
