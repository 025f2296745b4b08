"""Effects are claimed under a lease with a fencing number, and settled once."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, or_, select, update

from app.core.belts import Belt
from app.core.branches import branch_name
from app.core.effects import FindDraft, OpenDraft
from app.core.facts import DraftOpened, DraftUnsettled, EffectAbandoned, Fact, PublishFailed
from app.core.leasing import LONGEST_LEASE, LONGEST_WAIT, stands
from app.core.owed import still_owed
from app.core.redact import redact
from app.core.verdict import Refused, Verdict
from app.ledger.answering import drop_answers
from app.ledger.engine import OnDatabase
from app.ledger.errors import RunLeftAside
from app.ledger.folding import Living, facts_of, folded, locked, taken
from app.ledger.limits import held_up, pause
from app.ledger.outcomes import Claim, DebtView, Recorded
from app.ledger.schema import effects, mints, runs
from app.ledger.written import effect_read

SURPASSED = Refused("Somebody else holds this effect now, or it is settled.")
"""The answer to a holder whose fencing number is no longer the newest."""


class Claims(OnDatabase):
    """Who does what is owed. Time is the caller's: `now` is an aware time.

    A lease holds for an hour at the most, and nothing is put off for more than a day (`app.core.leasing`)."""

    def claim(self, effect_id: int, belt: Belt, now: datetime, lease: timedelta) -> Claim | Refused:
        """Takes the effect for `lease`: nobody else can until then.

        Refused where it is settled, not due, held, or another belt's. Where the run needs it no longer it is
        settled with that reason, and refused; what comes to be owed by that is for the sweep to ring. Where its
        installation is at a limit of GitHub's it is put off until that is over, which is no attempt. What cannot
        be read here is refused and stays as it is.
        """

        def work(connection: Connection) -> Claim | Refused:
            found = self._locked_effect(connection, effect_id)
            if found is None:
                return Refused(f"There is no effect {effect_id}.")
            living, row = found
            if (refused := _not_to_be_had(row, belt, now)) is not None:
                return refused
            effect = effect_read(row.body, living.id)
            verdict = still_owed(effect, living.state)
            if isinstance(verdict, Refused):
                self._end((connection, living, row), (), f"not done: {verdict}", now)
                return verdict
            wait = held_up(self._database, connection, living.state.request.installation_id, effect.kind, now)
            if wait is not None:
                connection.execute(update(effects).where(effects.c.id == effect_id).values(**_waiting(*wait, now)))
                return Refused(wait[1])
            claim = Claim(
                effect_id=effect_id,
                run=living.id,
                effect=effect,
                state=living.state,
                fence=row.fence + 1,
                attempts=row.attempts + 1,
                postponements=row.postponements,
                lease_until=now + lease,
            )
            held = {"fence": claim.fence, "attempts": claim.attempts, "lease_until": claim.lease_until}
            connection.execute(update(effects).where(effects.c.id == effect_id).values(**held))
            return claim

        try:
            return self._database.writing(work)
        except RunLeftAside as aside:
            self.say_left_aside(aside)
            return Refused(str(aside))

    def renew(self, claim: Claim, now: datetime, lease: timedelta) -> Claim | Refused:
        """Holds the effect for `lease` from now on; refused once somebody else has it."""

        def work(connection: Connection) -> Claim | Refused:
            longer = update(effects).where(_held_by(claim)).values(lease_until=now + lease)
            if connection.execute(longer).rowcount == 0:
                return SURPASSED
            return replace(claim, lease_until=now + lease)

        return self._database.writing(work)

    def wanted(self, claim: Claim) -> Verdict:
        """Whether what is being done is still to be done: the claim is held, and the run needs its effect."""
        with self._database.reading() as connection:
            held = connection.scalar(select(effects.c.id).where(_held_by(claim)))
            if held is None:
                return SURPASSED
            return still_owed(claim.effect, folded(claim.run, facts_of(connection, claim.run)))

    def settle(self, claim: Claim, facts: Sequence[Fact], outcome: str, now: datetime) -> Recorded | Refused:
        """The effect is done: its facts count and it is settled, both or neither.

        A fact that `advance()` refuses, since the run moved on meanwhile, is not recorded; the effect's outcome
        says so.
        """

        def work(connection: Connection) -> Recorded | Refused:
            found = self._locked_effect(connection, claim.effect_id)
            if found is None or not _is_held(found[1], claim):
                return SURPASSED
            living, row = found
            words, counted = [outcome], []
            for fact in facts:
                refused = taken(self._database, connection, living, fact)
                if refused is None:
                    counted.append(fact)
                else:
                    words.append(f"{fact.kind} was not recorded: {refused}")
            self._end((connection, living, row), counted, "; ".join(words), now)
            return Recorded(tuple(living.rings))

        return self._database.writing(work)

    def tell(self, claim: Claim, fact: Fact) -> Recorded | Refused:
        """Records a fact of work in hand, which goes on. Refused, with nothing recorded, once somebody else holds the
        effect or the run has no use for the fact."""

        def work(connection: Connection) -> Recorded | Refused:
            found = self._locked_effect(connection, claim.effect_id)
            if found is None or not _is_held(found[1], claim):
                return SURPASSED
            living, _ = found
            refused = taken(self._database, connection, living, fact)
            return refused or Recorded(tuple(living.rings))

        return self._database.writing(work)

    def abandon(self, claim: Claim, reason: str, now: datetime, branch: str = "") -> Recorded | Refused:
        """The effect will not be done: it is settled, and the run learns why. `branch` is what was made of it; of a
        draft that could not be looked for it is the name that it would have."""
        kind, key, tried = claim.effect.kind, claim.effect.key, claim.attempts - claim.postponements
        if isinstance(claim.effect, FindDraft):
            request = claim.state.request
            branch = branch_name(request.issue_number, request.run, claim.effect.plan_digest)
        given_up = EffectAbandoned(at=now, effect=kind, key=key, reason=reason, tried=tried, branch=branch)
        return self.settle(claim, [given_up], f"abandoned: {reason}", now)

    def postpone(self, claim: Claim, until: datetime, reason: str, now: datetime) -> Refused | None:
        """Gives the effect back, not to be claimed before `until`; `reason` says what it waits for."""
        return self._database.writing(lambda connection: _postponed(connection, claim, (until, reason), now))

    def park(self, claim: Claim, until: datetime, reason: str, now: datetime) -> Refused | None:
        """As `postpone` at a limit of GitHub's, which is the whole installation's (github-facts 163, 165): no worker
        claims any of its effects before `until`."""

        def work(connection: Connection) -> Refused | None:
            refused = _postponed(connection, claim, (until, reason), now)
            pause(self._database, connection, claim.state.request.installation_id, (until, reason), now)
            return refused

        return self._database.writing(work)

    def retry(self, claim: Claim, until: datetime, reason: str, now: datetime) -> Refused | None:
        """Gives the effect back after a failure: as `postpone`, but the attempt counts as one that failed."""

        def work(connection: Connection) -> Refused | None:
            later = (
                update(effects)
                .where(_held_by(claim))
                .values(
                    available_at=min(until, now + LONGEST_WAIT),
                    fence=effects.c.fence + 1,
                    lease_until=None,
                    outcome=redact(f"failed at {now:%Y-%m-%d %H:%M:%S} UTC: {reason}"),
                )
            )
            return None if connection.execute(later).rowcount else SURPASSED

        return self._database.writing(work)

    def owed(self, belt: Belt, now: datetime, limit: int = 100) -> tuple[int, ...]:
        """Ids of the belt's effects that can be claimed now.

        Installations take turns, within one its repositories, and within one of those its runs; within a run the
        oldest comes first. So nobody's hundred runs or repositories stand before somebody else's one.
        """
        in_run = func.row_number().over(partition_by=effects.c.run_id, order_by=effects.c.id)
        due = (
            select(effects.c.id, runs.c.installation_id, runs.c.repository_id, in_run.label("turn_in_run"))
            .join(runs, runs.c.id == effects.c.run_id)
            .where(
                effects.c.belt == str(belt),
                effects.c.settled_at.is_(None),
                _is_over(effects.c.available_at, now, LONGEST_WAIT),
                _is_over(effects.c.lease_until, now, LONGEST_LEASE),
            )
            .subquery()
        )
        turn = func.row_number().over(partition_by=due.c.repository_id, order_by=(due.c.turn_in_run, due.c.id))
        there = select(due.c.id, due.c.installation_id, turn.label("turn")).subquery()
        turn = func.row_number().over(partition_by=there.c.installation_id, order_by=(there.c.turn, there.c.id))
        turns = select(there.c.id, turn.label("turn")).subquery()
        query = select(turns.c.id).order_by(turns.c.turn, turns.c.id).limit(limit)
        with self._database.reading() as connection:
            return tuple(connection.scalars(query))

    def debts(self) -> tuple[DebtView, ...]:
        """Everything that is owed and not settled, oldest first."""
        query = select(effects).where(effects.c.settled_at.is_(None)).order_by(effects.c.id)
        with self._database.reading() as connection:
            return tuple(
                DebtView(
                    effect_id=row.id,
                    run=row.run_id,
                    key=row.key,
                    kind=row.kind,
                    belt=Belt(row.belt),
                    available_at=row.available_at,
                    attempts=row.attempts,
                    lease_until=row.lease_until,
                    why=row.outcome,
                )
                for row in connection.execute(query)
            )

    def _end(
        self, held: tuple[Connection, Living, Row[Any]], counted: Sequence[Fact], outcome: str, now: datetime
    ) -> None:
        """The effect is settled. Of a draft the run learns as well that it is not known how far that came, unless what
        counted tells: whoever died over it, or never heard an answer of GitHub's, may have left it there."""
        connection, living, row = held
        effect = effect_read(row.body, row.run_id)
        if isinstance(effect, OpenDraft) and not _is_told(counted, row.attempts) and _was_begun(connection, row):
            unsettled = DraftUnsettled(at=now, plan_digest=effect.plan_digest, key=effect.key)
            taken(self._database, connection, living, unsettled)
        _settled(connection, row.id, outcome, now)

    def _locked_effect(self, connection: Connection, effect_id: int) -> tuple[Living, Row[Any]] | None:
        """The effect's run, locked, then the effect: always in this order, so that no two wait for each other."""
        run = connection.scalar(select(effects.c.run_id).where(effects.c.id == effect_id))
        living = locked(connection, run) if run is not None else None
        if living is None:
            return None
        row = connection.execute(select(effects).where(effects.c.id == effect_id).with_for_update()).one()
        return living, row


def _is_over(column: ColumnElement[datetime], now: datetime, longest: timedelta) -> ColumnElement[bool]:
    return or_(column.is_(None), column <= now, column > now + longest)


def _waiting(until: datetime, reason: str, now: datetime) -> dict[str, Any]:
    why = redact(f"waits since {now:%Y-%m-%d %H:%M:%S} UTC: {reason}")
    return {"available_at": min(until, now + LONGEST_WAIT), "outcome": why}


def _postponed(connection: Connection, claim: Claim, wait: tuple[datetime, str], now: datetime) -> Refused | None:
    later = (
        update(effects)
        .where(_held_by(claim))
        .values(
            # The old number must not settle what was given back.
            fence=effects.c.fence + 1,
            postponements=effects.c.postponements + 1,
            lease_until=None,
            **_waiting(*wait, now),
        )
    )
    return None if connection.execute(later).rowcount else SURPASSED


def _held_by(claim: Claim) -> ColumnElement[bool]:
    return and_(
        effects.c.id == claim.effect_id,
        effects.c.fence == claim.fence,
        effects.c.settled_at.is_(None),
    )


def _is_held(row: Row[Any], claim: Claim) -> bool:
    return row.fence == claim.fence and row.settled_at is None


def _not_to_be_had(row: Row[Any], belt: Belt, now: datetime) -> Refused | None:
    if row.belt != belt:
        return Refused(f"This effect is for the {row.belt} belt, not for the {belt} belt.")
    if row.settled_at is not None:
        return Refused("This effect is settled.")
    if stands(row.available_at, now, LONGEST_WAIT):
        return Refused(f"This effect is not due before {row.available_at:%Y-%m-%d %H:%M:%S} UTC.")
    if stands(row.lease_until, now, LONGEST_LEASE):
        return Refused(f"Somebody holds this effect until {row.lease_until:%Y-%m-%d %H:%M:%S} UTC.")
    return None


def _is_told(counted: Sequence[Fact], attempts: int) -> bool:
    """Whether what counted says all that was made of a draft: a failure speaks for its own attempt alone."""
    return any(isinstance(one, DraftOpened) or (isinstance(one, PublishFailed) and attempts == 1) for one in counted)


def _was_begun(connection: Connection, row: Row[Any]) -> bool:
    """Whether a token was cut for the effect, or may have been: without one nothing can have been written."""
    cut = select(mints.c.body).where(mints.c.run_id == row.run_id, ~mints.c.refused)
    found = (json.loads(body) for body in connection.scalars(cut).all())
    return any((one["effect_id"], one["purpose"]) == (row.id, row.kind) for one in found)


def _settled(connection: Connection, effect_id: int, outcome: str, now: datetime) -> None:
    values = {"settled_at": now, "lease_until": None, "outcome": redact(outcome)}
    connection.execute(update(effects).where(effects.c.id == effect_id).values(**values))
    drop_answers(connection, effect_id)
