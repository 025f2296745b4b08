"""Repositories in which a label may have been set of which nothing was delivered: the mint lists them, the publisher
reads each and takes it off the list."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, case, delete, select, update

from app.core.gap import Gap
from app.core.leasing import LONGEST_WAIT
from app.core.news import Seen
from app.ledger.engine import OnDatabase
from app.ledger.outcomes import UnheardPlace
from app.ledger.schema import unheard


class Unheard(OnDatabase):
    """What is still to be read. It outlives every process."""

    def to_be_read(self, places: Iterable[Seen], gap: Gap, now: datetime) -> None:
        """These repositories are to be read for labels of the gap, at once; one that is on the list for an earlier gap,
        for both."""

        def work(connection: Connection) -> None:
            for place in places:
                today = {"installation_id": place.installation_id, "full_name": place.full_name, "due_at": now}
                row = self._database.insert(unheard).values(
                    repository_id=place.repository_id, since=gap.since, until=gap.until, **today
                )
                told, before = row.excluded, unheard.c
                both = {
                    "since": case((before.since < told.since, before.since), else_=told.since),
                    "until": case((before.until > told.until, before.until), else_=told.until),
                }
                connection.execute(row.on_conflict_do_update(index_elements=["repository_id"], set_=today | both))

        self._database.writing(work)

    def unheard(self, now: datetime) -> tuple[UnheardPlace, ...]:
        """What is due to be read, by installation; those first that are due for longest."""
        due = (unheard.c.due_at <= now) | (unheard.c.due_at > now + LONGEST_WAIT)
        return self._listed(due)

    def unheard_in(self, installation_id: int) -> frozenset[int]:
        """Ids of the installation's repositories that are to be read now or later."""
        return frozenset(one.repository_id for one in self._listed(unheard.c.installation_id == installation_id))

    def was_read(self, place: UnheardPlace) -> None:
        """It is off the list, unless another gap was found meanwhile."""
        self._database.writing(lambda connection: connection.execute(delete(unheard).where(_as_listed(place))))

    def read_later(self, place: UnheardPlace, due_at: datetime) -> None:
        """It is not due before."""
        row = update(unheard).where(_as_listed(place)).values(due_at=due_at)
        self._database.writing(lambda connection: connection.execute(row))

    def _listed(self, which: ColumnElement[bool]) -> tuple[UnheardPlace, ...]:
        order = (unheard.c.due_at, unheard.c.installation_id, unheard.c.repository_id)
        with self._database.reading() as connection:
            rows = connection.execute(select(unheard).where(which).order_by(*order)).all()
        return tuple(
            UnheardPlace(row.installation_id, row.repository_id, row.full_name, Gap(row.since, row.until))
            for row in rows
        )


def _as_listed(place: UnheardPlace) -> ColumnElement[bool]:
    here = unheard.c.repository_id == place.repository_id
    return here & (unheard.c.since == place.gap.since) & (unheard.c.until == place.gap.until)
