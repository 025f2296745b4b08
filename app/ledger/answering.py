"""What models and tools answered in the doing of an effect: kept with the span that says what it cost, until the effect
is settled. A worker that goes on with the effect asks for none of it again."""

from collections.abc import Iterable

import zstandard
from sqlalchemy import Connection, delete, select

from app.core.kept_answer import KeptAnswer
from app.core.redact import hide_bytes
from app.ledger.engine import Database
from app.ledger.errors import LedgerCorrupt
from app.ledger.schema import answers, effects

ZSTD_LEVEL = 3


def keep_answers(database: Database, connection: Connection, told: Iterable[KeptAnswer]) -> None:
    """They are kept, without this process' secrets, unless their effect is settled; and the first stays."""
    for one in told:
        owed = select(effects.c.id).where(effects.c.id == one.effect_id, effects.c.settled_at.is_(None))
        if connection.scalar(owed.with_for_update(read=True)) is None:
            continue
        body = zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(hide_bytes(one.body))
        row = database.insert(answers).values(effect_id=one.effect_id, question=one.question, nth=one.nth, body=body)
        connection.execute(row.on_conflict_do_nothing())


def answers_of(database: Database, effect_id: int) -> dict[tuple[str, int], bytes]:
    """By question and turn. Raises `LedgerCorrupt` for one that is not as it was written."""
    query = select(answers.c.question, answers.c.nth, answers.c.body).where(answers.c.effect_id == effect_id)
    with database.reading() as connection:
        rows = connection.execute(query).all()
    try:
        return {(question, nth): zstandard.ZstdDecompressor().decompress(body) for question, nth, body in rows}
    except zstandard.ZstdError as error:
        raise LedgerCorrupt(f"An answer kept for effect {effect_id} cannot be unpacked: {error}") from error


def drop_answers(connection: Connection, effect_id: int) -> None:
    """Nothing is kept for the effect any more."""
    connection.execute(delete(answers).where(answers.c.effect_id == effect_id))


def drop_left_answers(connection: Connection) -> None:
    """Nothing is kept for settled effects: code of before this table settles without dropping."""
    settled = select(effects.c.id).where(effects.c.settled_at.is_not(None))
    connection.execute(delete(answers).where(answers.c.effect_id.in_(settled)))
