"""Deliveries that were made in vain, and the rounds in which they are looked for."""

import json
from datetime import datetime, timedelta

from sqlalchemy import Connection, select, update

from app.core.leasing import LONGEST_WAIT, stands
from app.core.missed import LONGEST_PAUSE, MOST_ASKED, Attempt, Tidings, pause_after
from app.ledger.engine import OnDatabase
from app.ledger.outcomes import MissedView, RoundView, Turn
from app.ledger.schema import deliveries, missed, rounds

PROOF = "proof"
"""The row that is written to show that writing works."""

ANSWERED, RECEIVED, FETCHED = "it was answered", "it was received", "it was fetched"
"""What becomes of a missed delivery that came after all; every other outcome says that it will not."""

LOOKED_BACK = 10
"""How many of the last that were asked for say whether anybody receives what GitHub sends."""


class Rounds(OnDatabase):
    """Work that is done again and again by one process at a time, wherever it runs."""

    def take_turn(self, name: str, now: datetime, at_most: timedelta) -> Turn | None:
        """The round, which nobody else has for `at_most`; None where it is not due."""

        def work(connection: Connection) -> Turn | None:
            row = self._database.insert(rounds).values(name=name, due_at=now, position="{}", failures=0, trouble="")
            connection.execute(row.on_conflict_do_nothing())
            over = (rounds.c.due_at <= now) | (rounds.c.due_at > now + LONGEST_WAIT)
            due = (rounds.c.name == name) & over
            held = update(rounds).where(due).values(due_at=now + at_most)
            found = connection.execute(held.returning(rounds.c.position, rounds.c.failures)).one_or_none()
            return None if found is None else Turn(name, json.loads(found.position), found.failures)

        if stands(self.due_at(name), now, LONGEST_WAIT):
            return None
        return self._database.writing(work)

    def end_turn(self, turn: Turn, due_at: datetime, trouble: str = "") -> None:
        """The round is over, and how far it came is kept; the next one begins at `due_at`. With `trouble` it failed."""
        values = {
            "due_at": due_at,
            "position": json.dumps(turn.position),
            "failures": turn.failures + 1 if trouble else 0,
            "trouble": trouble,
        }
        over = update(rounds).where(rounds.c.name == turn.name).values(**values)
        self._database.writing(lambda connection: connection.execute(over))

    def prove(self, now: datetime) -> None:
        """Something was recorded for good. Raises `LedgerUnreachable` where nothing can be: a database that answers may
        be full, or one that only follows another."""
        row = self._database.insert(rounds).values(name=PROOF, due_at=now, position="{}", failures=0, trouble="")
        again = row.on_conflict_do_update(index_elements=["name"], set_={"due_at": now})
        self._database.writing(lambda connection: connection.execute(again))

    def due_at(self, name: str) -> datetime | None:
        """When the next such round begins; None where there was none yet."""
        with self._database.reading() as connection:
            return connection.scalar(select(rounds.c.due_at).where(rounds.c.name == name))

    def last_round(self, name: str) -> RoundView | None:
        """How that round stands; None where there was none yet."""
        asked = select(rounds.c.due_at, rounds.c.failures, rounds.c.trouble).where(rounds.c.name == name)
        with self._database.reading() as connection:
            row = connection.execute(asked).one_or_none()
        return None if row is None else RoundView(row.due_at, row.failures, row.trouble)


class Missing(OnDatabase):
    """What GitHub's log says did not arrive, and what was done about it."""

    def note(self, told: Tidings, now: datetime) -> None:
        """Each delivery that did not arrive is kept as missed, unless it was received; those that arrived are settled.

        What has no row and arrived needs none.
        """

        def work(connection: Connection) -> None:
            guids = [attempt.guid for attempt in told.missed]
            there = set(connection.scalars(select(deliveries.c.guid).where(deliveries.c.guid.in_(guids))))
            for attempt in told.missed:
                if attempt.guid not in there:
                    self._note_one(connection, attempt, now)
            answered = missed.c.settled_at.is_(None) & missed.c.guid.in_(told.arrived)
            connection.execute(update(missed).where(answered).values(settled_at=now, outcome=ANSWERED))

        if told.missed or told.arrived:
            self._database.writing(work)

    def to_ask_for(self, now: datetime, oldest: datetime, limit: int) -> tuple[MissedView, ...]:
        """The oldest that are due, at most `limit`; a single one while none of the last that were asked for came.

        What was received meanwhile is settled, and so is what failed before `oldest`, which GitHub keeps no longer, or
        what was asked for too often.
        """

        def work(connection: Connection) -> tuple[MissedView, ...]:
            self._settle(connection, now, oldest)
            # A pause that is longer than any was written by a clock that was wrong.
            over = (missed.c.due_at <= now) | (missed.c.due_at > now + LONGEST_PAUSE)
            due = select(missed).where(missed.c.settled_at.is_(None), over)
            first = due.order_by(missed.c.asked, missed.c.failed_at, missed.c.attempt_id)
            most = limit if _somebody_receives(connection) else 1
            return tuple(
                MissedView(row.guid, row.attempt_id, row.event, row.action, row.asked)
                for row in connection.execute(first.limit(most))
            )

        return self._database.writing(work)

    def asking(self, one: MissedView, now: datetime) -> None:
        """It is being asked for; where it does not come, not again before its pause is over."""
        asked = one.asked + 1
        row = update(missed).where(missed.c.guid == one.guid)
        values = {"asked": asked, "asked_at": now, "due_at": now + pause_after(asked)}
        self._database.writing(lambda connection: connection.execute(row.values(**values)))

    def give_up(self, guid: str, why: str, now: datetime) -> None:
        """It will not be asked for any more."""
        row = update(missed).where(missed.c.guid == guid, missed.c.settled_at.is_(None))
        self._database.writing(lambda connection: connection.execute(row.values(settled_at=now, outcome=why)))

    def missing(self) -> tuple[MissedView, ...]:
        """Everything that was missed and has not arrived, the oldest first."""
        query = select(missed).where(missed.c.settled_at.is_(None)).order_by(missed.c.failed_at, missed.c.attempt_id)
        with self._database.reading() as connection:
            return tuple(
                MissedView(row.guid, row.attempt_id, row.event, row.action, row.asked)
                for row in connection.execute(query)
            )

    def labels_given_up(self, after: datetime, now: datetime) -> tuple[datetime, ...]:
        """Of the deliveries of labels that were given up later than `after`, when the last attempts at them failed."""
        lost = missed.c.outcome.not_in((ANSWERED, RECEIVED, FETCHED))
        when = (missed.c.settled_at > after) & (missed.c.settled_at <= now)
        labels = (missed.c.event == "issues") & (missed.c.action == "labeled")
        with self._database.reading() as connection:
            return tuple(connection.scalars(select(missed.c.failed_at).where(when, lost, labels)))

    def _note_one(self, connection: Connection, attempt: Attempt, now: datetime) -> None:
        newest = {"attempt_id": attempt.id, "failed_at": attempt.at, "why": attempt.status}
        first = {"event": attempt.event, "action": attempt.action, "asked": 0, "due_at": now, "outcome": ""}
        row = self._database.insert(missed).values(guid=attempt.guid, **newest, **first)
        newer = missed.c.attempt_id < row.excluded.attempt_id
        connection.execute(row.on_conflict_do_update(index_elements=["guid"], set_=newest, where=newer))

    def _settle(self, connection: Connection, now: datetime, oldest: datetime) -> None:
        still = missed.c.settled_at.is_(None)
        ends = (
            (missed.c.guid.in_(select(deliveries.c.guid)), RECEIVED),
            (missed.c.failed_at < oldest, "GitHub keeps it no longer"),
            ((missed.c.asked >= MOST_ASKED) & (missed.c.due_at <= now), f"it was asked for {MOST_ASKED} times"),
        )
        for ended, outcome in ends:
            connection.execute(update(missed).where(still, ended).values(settled_at=now, outcome=outcome))


def _somebody_receives(connection: Connection) -> bool:
    """False while nothing of what was asked for last came: then asking for more would only be in vain."""
    last = select(missed.c.settled_at).where(missed.c.asked > 0).order_by(missed.c.asked_at.desc()).limit(LOOKED_BACK)
    ends = connection.scalars(last).all()
    return not ends or any(end is not None for end in ends)
