"""Versions side by side: which code can work with a schema that a newer version has brought the ledger to.

Each migration says `oldest`: the schema whose code can still work once it has run. One that only adds what older code
neither reads nor must write leaves the older one; one that changes or takes away names its own. The ledger keeps the
newest word of them all, so that code that knows nothing of a migration can read it.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime

from sqlalchemy import Connection, inspect, select, text

from app.ledger.engine import Database
from app.ledger.schema import REVISION, rounds

UPGRADE = "upgrade"
"""The row that says how far the schema came."""

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def revision_in(connection: Connection) -> str | None:
    """The newest migration that the database has seen; None for one without a ledger."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found


def unfit(connection: Connection, found: str) -> str:
    """Why this version cannot work with the schema `found`, which is not its own, and what to do; empty: it can."""
    if found < REVISION:
        return (
            f"The ledger's schema is {found}, and this version works with {REVISION}. "
            "Run `countersign migrate` with this version, which changes the ledger and keeps what is in it."
        )
    position = connection.scalar(select(rounds.c.position).where(rounds.c.name == UPGRADE))
    word = json.loads(position) if position else {}
    oldest = word["oldest"] if word.get("revision") == found else found
    if oldest <= REVISION:
        return ""
    return (
        f"The ledger's schema is {found}, and this version works with {REVISION}: a newer version has migrated the "
        f"ledger, and code for a schema older than {oldest} cannot work with it. Start the newest version instead; "
        "`countersign migrate` of this one cannot take that back, and a back-up of before can be restored."
    )


def keep_oldest(database: Database, connection: Connection, words: Iterable[str]) -> None:
    """The ledger says which is the oldest code that fits, by the words of all its migrations."""
    position = json.dumps({"revision": REVISION, "oldest": max(words)})
    row = database.insert(rounds).values(name=UPGRADE, due_at=_NEVER, position=position, failures=0, trouble="")
    connection.execute(row.on_conflict_do_update(index_elements=["name"], set_={"position": position}))
