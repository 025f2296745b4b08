"""Days of money: a row for all and one for each repository say what a day has cost, to every worker on every machine.

They stand among the rounds, as what may be spent again at a time. A row is written where money is held before a call,
and in the transaction that records what was spent. Whoever writes takes the row of all first, so that no two wait for
each other.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection, select, update

from app.core.days import Day, DayCaps, DaySpent, Held, Paid, day_of, days_read, days_written, next_day
from app.core.span import Span
from app.ledger.engine import Database, OnDatabase
from app.ledger.schema import rounds, runs

MONEY = "money"
"""The name of the row of all; a repository's is followed by its id."""

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class Money(OnDatabase):
    """What models may cost in a day, held before it is spent."""

    def hold(self, run: str, usd: Decimal, caps: DayCaps, now: datetime) -> Held | DaySpent:
        """So much of today is the caller's to spend, whoever else asks; or a day has no room for it.

        Raises KeyError where there is no such run.
        """

        def work(connection: Connection) -> Held | DaySpent:
            repository_id = connection.scalar(select(runs.c.repository_id).where(runs.c.id == run))
            if repository_id is None:
                raise KeyError(run)
            held = Held(secrets.token_hex(6), day_of(now), usd, repository_id)
            rows = ((MONEY, caps.installation, True), (_of(repository_id), caps.repository, False))
            found = [(name, _locked(self._database, connection, name)) for name, _, _ in rows]
            for (_, cap, whole), (_, days) in zip(rows, found, strict=True):
                if cap is not None and not days.get(held.day, Day()).has_room(usd, cap):
                    return DaySpent(whole, cap, next_day(held.day))
            for name, days in found:
                _write(connection, name, days | {held.day: days.get(held.day, Day()).holding(held)}, held.day)
            return held

        return self._database.writing(work)

    def give_back(self, held: Held) -> None:
        """Nothing was billed: the day has that much more room."""
        self._database.writing(lambda connection: settle(self._database, connection, [Paid(held, Decimal(0))]))

    def day(self, now: datetime, repository_id: int | None = None) -> Day:
        """What today has cost so far: all of it, or one repository's part."""
        name = MONEY if repository_id is None else _of(repository_id)
        with self._database.reading() as connection:
            position = connection.scalar(select(rounds.c.position).where(rounds.c.name == name))
        return days_read(json.loads(position or "{}")).get(day_of(now), Day())


def settle(database: Database, connection: Connection, paid: Iterable[Paid]) -> None:
    """Of each, the price takes the place of what was held; one that was settled before changes nothing."""
    changes = [
        (name, one.held.day, partial(_settle_one, paid=one))
        for one in paid
        for name in (MONEY, _of(one.held.repository_id))
    ]
    _change(database, connection, changes)


def count(database: Database, connection: Connection, spent: Sequence[Span]) -> None:
    """What was spent and never held is in the sums of the day in which it began."""
    changes = [
        (name, day_of(span.began_at), partial(_add, day=day_of(span.began_at), usd=span.spent().usd))
        for span in spent
        if span.spent().usd
        for name in _rows_of(connection, span.run)
    ]
    _change(database, connection, changes)


_Change = tuple[str, str, Callable[[dict[str, Day]], None]]
"""The name of the row, the day, and what becomes of the days."""


def _change(database: Database, connection: Connection, changes: Sequence[_Change]) -> None:
    # The row of all comes first in the order of names.
    for name in sorted({name for name, _, _ in changes}):
        days = _locked(database, connection, name)
        mine = [(day, change) for of, day, change in changes if of == name]
        for _, change in mine:
            change(days)
        _write(connection, name, days, max(day for day, _ in mine))


def _settle_one(days: dict[str, Day], paid: Paid) -> None:
    # A day of which nothing is kept any more has no room to give back.
    if paid.held.day in days:
        days[paid.held.day] = days[paid.held.day].settled(paid)


def _add(days: dict[str, Day], day: str, usd: Decimal) -> None:
    days[day] = days.get(day, Day()).plus(usd)


def _of(repository_id: int) -> str:
    return f"{MONEY} {repository_id}"


def _rows_of(connection: Connection, run: str) -> tuple[str, ...]:
    """The rows of a run's money; of one that is not there only that of all."""
    found = connection.scalar(select(runs.c.repository_id).where(runs.c.id == run))
    return (MONEY,) if found is None else (MONEY, _of(found))


def _locked(database: Database, connection: Connection, name: str) -> dict[str, Day]:
    """The row's days; whoever else writes it waits."""
    row = database.insert(rounds).values(name=name, due_at=_NEVER, position="{}", failures=0, trouble="")
    connection.execute(row.on_conflict_do_nothing())
    position = connection.scalar(select(rounds.c.position).where(rounds.c.name == name).with_for_update())
    return days_read(json.loads(position or "{}"))


def _write(connection: Connection, name: str, days: dict[str, Day], today: str) -> None:
    there = update(rounds).where(rounds.c.name == name)
    connection.execute(there.values(position=json.dumps(days_written(days, today))))
