"""Retention by age: full outputs and bodies of deliveries go, facts stay; nothing that is still needed goes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Delete, Update, delete, func, select, update

from app.ledger.answering import drop_left_answers
from app.ledger.engine import OnDatabase
from app.ledger.keeping import DROPPED, unpacked
from app.ledger.schema import artifacts, deliveries, facts, missed, plans, runs, spans

AT_ONCE = 200
"""So much is dropped in one transaction: nobody waits long for the write lock."""

_REFERENCE = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


@dataclass(frozen=True, slots=True)
class Prunable:
    """What is older than the time that was asked for and needed by nothing younger."""

    artifacts: tuple[str, ...]
    artifact_bytes: int
    deliveries: tuple[str, ...]
    delivery_bytes: int


class Pruning(OnDatabase):
    """What may go by its age. An artifact stays while a run names it, directly or in another one, that is open or was
    told anything since."""

    def prunable(self, before: datetime) -> Prunable:
        """What `prune` would drop now; nothing is changed."""
        old = _old_artifacts(before)
        bodies = (deliveries.c.received_at < before) & (deliveries.c.body != DROPPED)
        with self._database.reading() as connection:
            needed = _needed(connection, before)
            found = connection.execute(select(artifacts.c.sha256, func.length(artifacts.c.body)).where(old))
            going = [(sha, size) for sha, size in found if sha not in needed]
            told = connection.execute(select(deliveries.c.guid, func.length(deliveries.c.body)).where(bodies)).all()
        return Prunable(
            tuple(sha for sha, _ in going),
            sum(size for _, size in going),
            tuple(guid for guid, _ in told),
            sum(size for _, size in told),
        )

    def prune(self, before: datetime) -> Prunable:
        """Drops it: of an artifact its hash, size and kind stay, of a delivery everything but its body; so a reference
        leads to words, and a guid is known. What was kept again meanwhile stays."""
        found = self.prunable(before)
        for some in _some(found.artifacts):
            mine = _old_artifacts(before) & artifacts.c.sha256.in_(some)
            self._write(update(artifacts).where(mine).values(body=DROPPED))
        for some in _some(found.deliveries):
            self._write(update(deliveries).where(deliveries.c.guid.in_(some)).values(body=DROPPED))
        self._write(delete(missed).where(missed.c.settled_at < before))
        self._database.writing(drop_left_answers)
        return found

    def _write(self, change: Update | Delete) -> None:
        self._database.writing(lambda connection: connection.execute(change))

    def is_dropped(self, sha: str) -> bool:
        """True for an artifact that was kept once and was dropped by its age."""
        with self._database.reading() as connection:
            return connection.scalar(select(artifacts.c.body == DROPPED).where(artifacts.c.sha256 == sha)) or False


def _old_artifacts(before: datetime) -> ColumnElement[bool]:
    return (artifacts.c.kept_since < before) & (artifacts.c.body != DROPPED)


def _needed(connection: Connection, before: datetime) -> set[str]:
    """Every artifact that a run which goes on, or ended since, can lead to."""
    kept = select(runs.c.id).where(runs.c.open | (runs.c.updated_at >= before))
    there = set(connection.scalars(select(artifacts.c.sha256)))
    needed: set[str] = set()
    ahead = {
        reference
        for table in (facts, spans, plans)
        for body in connection.scalars(select(table.c.body).where(table.c.run_id.in_(kept)))
        for reference in _references(body)
    } & there
    while ahead:
        needed |= ahead
        ahead = {found for content in _contents(connection, ahead) for found in _references(content)} & there - needed
    return needed


def _contents(connection: Connection, shas: Iterable[str]) -> Iterator[bytes]:
    for some in _some(sorted(shas)):
        found = select(artifacts.c.sha256, artifacts.c.body).where(artifacts.c.sha256.in_(some))
        for sha, body in connection.execute(found):
            yield unpacked(sha, body) or b""


def _some(every: Sequence[str]) -> Iterator[Sequence[str]]:
    return (every[start : start + AT_ONCE] for start in range(0, len(every), AT_ONCE))


def _references(body: str | bytes) -> Iterator[str]:
    content = body.encode("ascii", "replace") if isinstance(body, str) else body
    return (found.decode() for found in _REFERENCE.findall(content))
