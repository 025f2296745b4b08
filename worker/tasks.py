"""The tasks: claim an effect, have it done, settle it, ring what comes next. What goes wrong is decided here, once."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from datetime import datetime, timedelta

from app.core.allowance import beyond
from app.core.belts import Belt
from app.core.facts import ApprovalVoided, ExecutionHeld, Expired, Fact, Stalled
from app.core.run import Approved, Built, Closed, StallCode
from app.core.span import SpanKind
from app.core.stalling import waits_for
from app.core.verdict import Refused
from app.ledger.errors import LedgerUnreachable, RunLeftAside
from app.ledger.outcomes import Claim, Recorded
from app.logs import about
from worker.ending import REASON
from worker.evidence.recalling import Recollection
from worker.evidence.trace import Trace
from worker.github.errors import Moved
from worker.late_labels import LateLabels
from worker.outcomes import (
    MOST_WAITS,
    Abandon,
    Away,
    DayOver,
    Drop,
    GiveBack,
    Held,
    Limited,
    Outage,
    Outcome,
    Retry,
    Void,
    Wait,
    may_wait,
    outcome_of,
    rest_of,
)
from worker.renaming import of_moved
from worker.repo.mirror import RepositoryMoved
from worker.rereading import Rereading
from worker.shop import Done, Shop
from worker.watchdog import look_around
from worker.watching import Watch

MOST_FAULTS = 5
"""Claims of one effect that may fail, a killed worker's among them, before it is abandoned with words."""

LEDGER_SECONDS = 60.0
"""How long work that is done waits for a ledger that does not answer, such as a server that starts again."""

AGAIN_SECONDS = 0.5

WANTED_SECONDS = 1.0
"""How often it is asked whether work in hand is still wanted."""

_LOG = logging.getLogger("countersign.tasks")


def work(shop: Shop, effect_id: int) -> None:
    """The effect is done and settled, given back with a reason, or abandoned aloud; or it was not ours to do."""
    if shop.ending.begun:
        return
    claim = shop.ledger.claim(effect_id, shop.belt, shop.clock(), shop.settings.lease)
    if isinstance(claim, Refused):
        return
    if claim.attempts - claim.postponements > MOST_FAULTS:
        _conclude(shop, claim, Abandon(f"It was tried {MOST_FAULTS} times and did not end well; the log says how."))
        return
    with about(run=claim.run, belt=str(shop.belt), effect=claim.effect_id):
        _work(shop, claim)


def _work(shop: Shop, claim: Claim) -> None:
    trace = Trace(claim.run, shop.belt, claim.effect_id, write=shop.write, holds=bool(shop.settings.days))
    if claim.attempts > 1 and shop.settings.model is not None:
        trace.memory = Recollection(claim.effect_id, shop.ledger.answers(claim.effect_id))
    else:
        trace.memory = Recollection(claim.effect_id)
    with _lease_kept(shop, claim, trace), shop.ending.minding(trace, lambda: _give_back(shop, claim, REASON)):
        try:
            with trace.noting(SpanKind.EFFECT, claim.effect.kind):
                facts, outcome = _duties(shop.belt)[type(claim.effect)](shop, claim, trace)
        except Exception as error:
            decided = outcome_of(error)
            if isinstance(error, Moved | RepositoryMoved):
                decided = of_moved(shop, claim, error) or decided
            if isinstance(decided, Retry) and decided.unexpected:
                _LOG.exception("effect %s of %s", claim.effect.kind, claim.run)
            _conclude(shop, claim, decided)
        else:
            _settle(shop, claim, facts, outcome)
        finally:
            shop.note(trace)
            _tell_end(shop, claim)


def _tell_end(shop: Shop, claim: Claim) -> None:
    """A run that has ended is told as a whole, by the one who says so on its issue."""
    if shop.export is None or shop.belt is not Belt.PUBLISHER or not isinstance(claim.state, Closed):
        return
    view = shop.ledger.run(claim.run)
    if view is not None:
        shop.export.add_run(claim.run, view.opened_at, view.updated_at, str(claim.state.reason))


def sweep(shop: Shop, watch: Watch | None, *readers: Rereading | LateLabels) -> None:
    """Rings what is owed and was not heard; the publisher also looks for thumbs, for what has expired, for what
    makes no progress, and for what it was not told."""
    if shop.ending.begun:
        return
    for effect_id in shop.ledger.owed(shop.belt, shop.clock()):
        shop.doorbell.ring([_Owed(shop, effect_id)])
    if watch is not None:
        _expire(shop)
        watch.look(shop.clock())
        look_around(shop, shop.clock())
        for reader in readers:
            reader.look(shop.clock())
    elif shop.ledger.any_open():
        # Work is coming: an idle product stays small, and a waiting person does not wait for imports.
        shop.warm()


def _duties(belt: Belt) -> Mapping[type, Callable[[Shop, Claim, Trace], Done]]:
    """Loaded when there is work, so that an idle process stays small."""
    match belt:
        case Belt.PLANNER:
            from worker.duties import planner as duties
        case Belt.EXECUTOR:
            from worker.duties import executor as duties  # type: ignore[no-redef]
        case Belt.PUBLISHER:
            from worker.duties import publisher as duties  # type: ignore[no-redef]
    return duties.DUTIES


class _Owed:
    def __init__(self, shop: Shop, effect_id: int) -> None:
        self.belt = shop.belt
        self.effect_id = effect_id


def _expire(shop: Shop) -> None:
    for run in shop.ledger.due_to_expire(shop.clock()):
        shop.tell(run, Expired(at=shop.clock()))


def _settle(shop: Shop, claim: Claim, facts: Sequence[Fact], outcome: str) -> None:
    """While its lease is kept, what was done is not thrown away because the ledger is away for a moment."""
    until = time.monotonic() + LEDGER_SECONDS
    while True:
        try:
            settled = shop.ledger.settle(claim, facts, outcome, shop.clock())
            break
        except LedgerUnreachable as trouble:
            if shop.ending.begun or time.monotonic() >= until:
                raise
            _LOG.warning("effect %s is done, and waits for the ledger: %s", claim.effect_id, trouble)
            time.sleep(AGAIN_SECONDS)
    if isinstance(settled, Refused):
        _LOG.warning("effect %s of %s was done, but its claim was lost: %s", claim.effect.kind, claim.run, settled)
        return
    shop.doorbell.ring(settled.rings)


def _conclude(shop: Shop, claim: Claim, decided: Outcome) -> None:
    """What a failure leads to; every way is recorded."""
    match decided:
        case Drop(reason):
            _settle(shop, claim, [], f"called off: {reason}")
        case Void():
            _settle(shop, claim, _voided(claim, decided, shop.clock()), f"approval voided: {decided.reason}")
        case GiveBack(reason):
            _give_back(shop, claim, reason)
        case DayOver() if may_wait(claim):
            _say_day_is_over(shop, claim, decided)
            shop.ledger.postpone(claim, decided.until, decided.reason, shop.clock())
        case Limited(seconds, reason) if may_wait(claim):
            shop.ledger.park(claim, shop.clock() + timedelta(seconds=seconds), reason, shop.clock())
        case Away(_, reason, branch) if isinstance(claim.state, Closed):
            shop.ledger.abandon(claim, reason, shop.clock(), branch)
        case Wait(_, reason) | Outage(reason) if (pause := rest_of(decided, claim)) is not None:
            if isinstance(decided, Held):
                _hold(shop, claim, decided)
            shop.ledger.postpone(claim, shop.clock() + pause, reason, shop.clock())
        case Retry(reason) if claim.attempts - claim.postponements < MOST_FAULTS:
            # 5 s, 25 s, 2 minutes, 10 minutes: an outage of GitHub's ordinary length costs no run.
            pause = timedelta(seconds=5.0 ** (claim.attempts - claim.postponements))
            shop.ledger.retry(claim, shop.clock() + pause, reason, shop.clock())
        case Abandon(reason, branch) | Wait(_, reason, branch) | Retry(reason, branch=branch):
            waited = f" It was waited for {MOST_WAITS} times." if isinstance(decided, Wait) else ""
            abandoned = shop.ledger.abandon(claim, f"{reason}{waited}", shop.clock(), branch)
            if isinstance(abandoned, Recorded):
                shop.doorbell.ring(abandoned.rings)
                _end_beyond_allowance(shop, claim.run)


def _end_beyond_allowance(shop: Shop, run: str) -> None:
    """A run whose work fails again and again ends, whatever renews it, until a person says that it goes on."""
    view = shop.ledger.run(run)
    over = beyond(view.state, waits_for(view.state), shop.clock()) if view is not None else None
    if over is not None:
        shop.tell(run, over)


def _give_back(shop: Shop, claim: Claim, reason: str) -> None:
    """Another worker of this belt can claim it now, and is rung for."""
    shop.ledger.postpone(claim, shop.clock(), reason, shop.clock())
    shop.doorbell.ring([_Owed(shop, claim.effect_id)])


def _voided(claim: Claim, void: Void, at: datetime) -> list[Fact]:
    if not isinstance(claim.state, Approved | Built):
        return []
    digest = claim.state.proposal.digest
    return [ApprovalVoided(at=at, plan_digest=digest, reason=void.reason, remedy=void.remedy)]


def _say_day_is_over(shop: Shop, claim: Claim, over: DayOver) -> None:
    """The run waits for another day's money, and that is said at once."""
    key = claim.effect.key
    fact = Stalled(at=shop.clock(), key=key, code=StallCode.DAY_SPENT, reason=over.reason, remedy=over.remedy)
    shop.tell(claim.run, fact)


def _hold(shop: Shop, claim: Claim, held: Held) -> None:
    """An approved plan that waits for a box is kept, and the waiting is said."""
    if isinstance(claim.state, Approved):
        digest = claim.state.proposal.digest
        fact = ExecutionHeld(at=shop.clock(), plan_digest=digest, reason=held.reason, remedy=held.remedy)
        shop.tell(claim.run, fact)


@contextmanager
def _lease_kept(shop: Shop, claim: Claim, trace: Trace) -> Iterator[None]:
    """The lease is renewed while the block runs, from a thread of its own, since a model call takes minutes.

    The same thread asks whether the work is still wanted: a cancelled run stops within seconds, and so does a holder
    whom somebody surpassed. It also writes down what was spent, so that a process that dies leaves its costs behind.
    Where the ledger does not answer it asks on; where the run cannot be read here any more the work is given back.
    """
    over = threading.Event()
    term = shop.settings.lease.total_seconds() / 3

    def keep() -> None:
        due, away = time.monotonic() + term, False
        while not over.wait(min(term, WANTED_SECONDS)):
            try:
                shop.note(trace)
                verdict = shop.ledger.wanted(claim)
                if not isinstance(verdict, Refused) and time.monotonic() >= due:
                    renewed = shop.ledger.renew(claim, shop.clock(), shop.settings.lease)
                    verdict, due = renewed if isinstance(renewed, Refused) else verdict, time.monotonic() + term
            except RunLeftAside as aside:
                shop.ledger.say_left_aside(aside)
                trace.hand_over(str(aside))
                return
            except Exception as trouble:
                # Whoever gives up here loses the lease with the work in hand, and never hears that nobody wants it.
                if not away:
                    _LOG.warning("whether effect %s is wanted cannot be asked now: %s", claim.effect_id, trouble)
                away = True
                continue
            away = False
            if isinstance(verdict, Refused):
                trace.call_off(str(verdict))
                return

    here = copy_context()
    thread = threading.Thread(target=lambda: here.run(keep), name=f"lease of {claim.effect_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
