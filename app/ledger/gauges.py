"""How much there is now, for machines that ask every few seconds: by indexes, whatever the ledger has grown to."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from app.core.belts import Belt
from app.core.span import Span
from app.ledger.engine import OnDatabase
from app.ledger.schema import LIVE, OPEN, effects, mints, missed, runs, spans

MOST_SPANS = 5_000
"""Spans that are read at once."""


@dataclass(frozen=True, slots=True)
class OwedKind:
    """What is owed of one kind: how many, since when the oldest, and the most attempts at one of them."""

    belt: str
    kind: str
    count: int
    oldest: datetime
    attempts: int


@dataclass(frozen=True, slots=True)
class Standing:
    """What there is in one moment."""

    runs: Mapping[str, int]
    """By state; closed ones among them."""
    owed: tuple[OwedKind, ...]
    leases: Mapping[str, int]
    """Effects that somebody holds, by belt."""
    tokens_cut: int
    """All that were ever asked for, refusals among them."""
    tokens_alive: int
    missed: int
    """Deliveries that GitHub could not deliver and that have not come yet."""


class Gauges(OnDatabase):
    """Reading changes nothing."""

    def standing(self, now: datetime) -> Standing:
        """What is open is found by the partial indexes; of what has ended, entries of an index are counted."""
        unsettled = effects.c.settled_at.is_(None)
        live = (LIVE, mints.c.expires_at > now)
        with self._database.reading() as connection:
            return Standing(
                runs=_runs(connection),
                owed=_owed(connection),
                leases=_by_belt(
                    connection.execute(
                        select(effects.c.belt, func.count())
                        .where(unsettled, effects.c.lease_until > now)
                        .group_by(effects.c.belt)
                    ).all()
                ),
                tokens_cut=connection.scalar(select(func.count(mints.c.id))) or 0,
                tokens_alive=connection.scalar(select(func.count(mints.c.id)).where(*live)) or 0,
                missed=connection.scalar(select(func.count()).where(missed.c.settled_at.is_(None))) or 0,
            )

    def newest_span(self) -> int:
        """Id of the newest span; 0 where there is none."""
        with self._database.reading() as connection:
            return connection.scalar(select(func.max(spans.c.id))) or 0

    def spans_after(self, id: int) -> tuple[tuple[int, Span], ...]:
        """Spans with a greater id, with their ids, in that order; at most `MOST_SPANS`."""
        query = select(spans.c.id, spans.c.body).where(spans.c.id > id).order_by(spans.c.id).limit(MOST_SPANS)
        with self._database.reading() as connection:
            return tuple((row.id, Span.model_validate(json.loads(row.body))) for row in connection.execute(query))


def _runs(connection: Connection) -> dict[str, int]:
    still = select(runs.c.state, func.count()).where(OPEN).group_by(runs.c.state)
    found = {str(state): int(count) for state, count in connection.execute(still)}
    every = connection.scalar(select(func.count(runs.c.id))) or 0
    return found | {"closed": every - sum(found.values())}


def _owed(connection: Connection) -> tuple[OwedKind, ...]:
    found = (
        select(
            effects.c.belt,
            effects.c.kind,
            func.count().label("owed"),
            func.min(effects.c.owed_since).label("oldest"),
            func.max(effects.c.attempts).label("attempts"),
        )
        .where(effects.c.settled_at.is_(None))
        .group_by(effects.c.belt, effects.c.kind)
        .order_by(effects.c.belt, effects.c.kind)
    )
    rows = connection.execute(found)
    return tuple(OwedKind(row.belt, row.kind, row.owed, row.oldest, row.attempts) for row in rows)


def _by_belt(rows: object) -> dict[str, int]:
    return {str(belt): 0 for belt in Belt} | {str(belt): int(count) for belt, count in rows}  # type: ignore[attr-defined]
