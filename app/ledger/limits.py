"""GitHub's limits are an installation's: one row for each says how far it is, to every worker on every machine.

It stands among the rounds, as what may be done again at a time. It is written when an effect is claimed that creates
content, and when a limit was met; no request costs a write.
"""

import json
from datetime import UTC, datetime

from sqlalchemy import Connection, or_, select, update

from app.core.belts import EffectKind
from app.core.pacing import LONGEST_PAUSE, PIECES, Pace
from app.ledger.engine import Database
from app.ledger.schema import rounds

LIMIT = "limit "
"""How the name of such a row begins; the installation's id follows."""

CONTENT = "GitHub takes no more of the App's words for this account at the moment."

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def held_up(
    database: Database, connection: Connection, installation_id: int, kind: EffectKind, now: datetime
) -> tuple[datetime, str] | None:
    """Until when an effect of this kind must not begin, and why; None, and it counts as begun, where it may."""
    row = select(rounds).where(rounds.c.name == f"{LIMIT}{installation_id}")
    if kind in PIECES:
        # Whoever writes waits for its turn at the row.
        _begin(database, connection, installation_id)
        row = row.with_for_update()
    found = connection.execute(row).one_or_none()
    if found is None:
        return None
    used = json.loads(found.position).get("used_until")
    pace = Pace(None if used is None else datetime.fromisoformat(used), found.due_at)
    until = pace.not_before(kind, now)
    if until is not None:
        return until, found.trouble if until == found.due_at else CONTENT
    if kind in PIECES and (after := pace.after(kind, now).used_until) is not None:
        there = update(rounds).where(rounds.c.name == found.name)
        connection.execute(there.values(position=json.dumps({"used_until": after.isoformat()})))
    return None


def pause(database: Database, connection: Connection, installation_id: int, until: datetime, reason: str) -> None:
    """From now on nothing of the installation begins before `until`; a longer pause that stands is not cut short."""
    _begin(database, connection, installation_id)
    shorter = or_(rounds.c.due_at < until, rounds.c.due_at > until + LONGEST_PAUSE)
    there = update(rounds).where(rounds.c.name == f"{LIMIT}{installation_id}", shorter)
    connection.execute(there.values(due_at=until, trouble=reason))


def _begin(database: Database, connection: Connection, installation_id: int) -> None:
    row = database.insert(rounds).values(
        name=f"{LIMIT}{installation_id}", due_at=_NEVER, position="{}", failures=0, trouble=""
    )
    connection.execute(row.on_conflict_do_nothing())
