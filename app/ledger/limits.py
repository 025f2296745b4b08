"""GitHub's limits are an installation's: one row for each says how far it is, to every worker on every machine.

It stands among the rounds, as what may be done again at a time. It is written when an effect is claimed that creates
content, and when a limit was met; a request reads it, and costs no write. Only one that creates content takes a turn,
in a row of its own: those are a second apart wherever they are sent from (github-facts 169). How many requests go out
at once is bounded by the effects that are in hand, which their leases say.
"""

import json
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, func, select, update

from app.core.belts import EffectKind
from app.core.leasing import LONGEST_LEASE
from app.core.pacing import HANDS, NEXT_TURN, PIECES, Pace, turn_of
from app.ledger.engine import Database, OnDatabase
from app.ledger.schema import effects, rounds, runs

LIMIT = "limit "
"""How the name of such a row begins; the installation's id follows."""

CONTENT = "GitHub takes no more of the App's words for this account at the moment."

BUSY = "As much of this account's work is in hand as GitHub takes requests for at once."

TURNS = f"{LIMIT}turns "
"""How the name of the row begins that says when the next request may create content."""

OF_THE_APP = 0
"""Stands for an installation where a limit is the App's own: that of its key (github-facts 20, 48)."""

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class Limits(OnDatabase):
    """How far GitHub's limits are reached, as everybody who asks GitHub knows it."""

    def paused(self, installation_id: int, now: datetime) -> tuple[datetime, str] | None:
        """Until when nothing may be asked for this installation, or `OF_THE_APP`, and why; None where it may."""
        row = select(rounds.c.due_at, rounds.c.trouble).where(rounds.c.name == f"{LIMIT}{installation_id}")
        with self._database.reading() as connection:
            found = connection.execute(row).one_or_none()
        until = None if found is None else Pace(None, found.due_at).paused(now)
        return None if found is None or until is None else (until, found.trouble)

    def pause(self, installation_id: int, until: datetime, reason: str, now: datetime) -> None:
        """A limit was met: nobody asks anything for this installation, or `OF_THE_APP`, before `until`, or later where
        limits are met again and again."""

        def work(connection: Connection) -> None:
            pause(self._database, connection, installation_id, (until, reason), now)

        self._database.writing(work)

    def turn(self, installation_id: int, now: datetime, gap: timedelta) -> datetime:
        """When a request of the installation that creates content may be sent: for `gap` afterwards no other may."""
        name = f"{TURNS}{installation_id}"

        def work(connection: Connection) -> datetime:
            _begin(self._database, connection, name)
            row = select(rounds.c.due_at).where(rounds.c.name == name).with_for_update()
            at = turn_of(connection.execute(row).one().due_at, now)
            connection.execute(update(rounds).where(rounds.c.name == name).values(due_at=at + gap))
            return at

        return self._database.writing(work)


def held_up(
    database: Database, connection: Connection, installation_id: int, kind: EffectKind, now: datetime
) -> tuple[datetime, str] | None:
    """Until when an effect of this kind must not begin, and why; None, and it counts as begun, where it may."""
    _begin(database, connection, f"{LIMIT}{installation_id}")
    # Whoever claims waits for its turn at the row, so that no two count the same hands.
    row = select(rounds).where(rounds.c.name == f"{LIMIT}{installation_id}").with_for_update()
    found = connection.execute(row).one()
    used = json.loads(found.position).get("used_until")
    pace = Pace(None if used is None else datetime.fromisoformat(used), found.due_at)
    until = pace.not_before(kind, now)
    if until is not None:
        return until, found.trouble if until == found.due_at else CONTENT
    if _in_hand(connection, installation_id, now) >= HANDS:
        return now + NEXT_TURN, BUSY
    if kind in PIECES and (after := pace.after(kind, now).used_until) is not None:
        there = update(rounds).where(rounds.c.name == found.name)
        connection.execute(there.values(position=json.dumps({"used_until": after.isoformat()})))
    return None


def pause(
    database: Database, connection: Connection, installation_id: int, wait: tuple[datetime, str], now: datetime
) -> None:
    """From now on nothing of the installation begins before the time of `wait`; its words say why."""
    _begin(database, connection, f"{LIMIT}{installation_id}")
    here = rounds.c.name == f"{LIMIT}{installation_id}"
    found = connection.execute(select(rounds).where(here).with_for_update()).one()
    before = Pace(None, found.due_at, found.failures)
    after = before.met(wait[0], now)
    why = found.trouble if before.paused(now) == after.paused_until else wait[1]
    values = {"due_at": after.paused_until, "failures": after.in_a_row, "trouble": why}
    connection.execute(update(rounds).where(here).values(**values))


def _in_hand(connection: Connection, installation_id: int, now: datetime) -> int:
    """Effects of the installation that somebody holds; a holder whose lease is over counts no more."""
    held = effects.c.settled_at.is_(None) & effects.c.lease_until.between(now, now + LONGEST_LEASE)
    here = select(func.count()).select_from(effects).join(runs, runs.c.id == effects.c.run_id)
    return connection.scalar(here.where(held, runs.c.installation_id == installation_id)) or 0


def _begin(database: Database, connection: Connection, name: str) -> None:
    row = database.insert(rounds).values(name=name, due_at=_NEVER, position="{}", failures=0, trouble="")
    connection.execute(row.on_conflict_do_nothing())
