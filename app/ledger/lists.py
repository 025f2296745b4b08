"""Lists of runs, newest first, walked by index from one page to the next; and how far a run has come since."""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, case, false, func, literal, select, tuple_

from app.core.facts import Fact
from app.core.run import State
from app.ledger.engine import OnDatabase
from app.ledger.folding import facts_of, folded
from app.ledger.outcomes import Part, RunSummary, Sought
from app.ledger.schema import OPEN, effects, facts, repositories, runs, spans

EVERY = Sought()

MOST_REPOSITORIES = 200
"""Names that are offered to choose from."""


class Lists(OnDatabase):
    """Reading changes nothing."""

    def runs(self, limit: int = 50, before: str | None = None, sought: Sought = EVERY) -> tuple[RunSummary, ...]:
        """The newest of these runs first; `before` is the id of the last one that was seen.

        Whatever is sought, an index is walked from there on and no run is looked at twice.
        """
        with self._database.reading() as connection:
            query = _sought(sought).order_by(runs.c.opened_at.desc(), runs.c.id.desc()).limit(limit)
            if before is not None:
                opened = connection.scalar(select(runs.c.opened_at).where(runs.c.id == before))
                query = query.where(_older(opened, before))
            return tuple(RunSummary(**row) for row in connection.execute(query).mappings())

    def histories(self, wanted: Iterable[str]) -> Mapping[str, tuple[list[Fact], State]]:
        """Of each of these runs its facts and the state after them; those that cannot be read here are left out."""
        found: dict[str, tuple[list[Fact], State]] = {}
        with self._database.reading() as connection:
            for run in wanted:
                with self.leaving_aside():
                    if told := facts_of(connection, run):
                        found[run] = told, folded(run, told)
        return found

    def lengths(self, wanted: Iterable[str]) -> Mapping[str, int]:
        """How many facts each of these runs has: more of them, and something happened."""
        told = select(facts.c.run_id, func.max(facts.c.seq)).where(facts.c.run_id.in_(tuple(wanted)))
        with self._database.reading() as connection:
            return {row.run_id: row[1] for row in connection.execute(told.group_by(facts.c.run_id))}

    def marks(self, wanted: Iterable[str]) -> Mapping[str, tuple[str, bool]]:
        """Of each of these runs a short word that changes with whatever its page shows, and whether it goes on.

        It is made of how many facts there are, the newest span, and the claims and ends of what is owed.
        """
        some = tuple(wanted)
        with self._database.reading() as connection:
            told = _by_run(connection, select(facts.c.run_id, func.max(facts.c.seq)), facts.c.run_id, some)
            done = _by_run(connection, select(spans.c.run_id, func.max(spans.c.id)), spans.c.run_id, some)
            moved = func.sum(effects.c.fence) + func.count(effects.c.settled_at)
            owed = _by_run(connection, select(effects.c.run_id, moved), effects.c.run_id, some)
            there = connection.execute(select(runs.c.id, runs.c.open).where(runs.c.id.in_(some))).all()
        return {
            row.id: (f"{told.get(row.id, 0)}-{done.get(row.id, 0)}-{owed.get(row.id, 0)}", row.open) for row in there
        }

    def newest_change(self) -> str:
        """A short word that changes with whatever a list shows: runs are opened, or told something. It names none of
        them, since it is also shown to who may not see them all."""
        going_on = select(func.count(), func.max(runs.c.updated_at)).where(OPEN)
        newest = select(runs.c.id, runs.c.updated_at).order_by(runs.c.opened_at.desc(), runs.c.id.desc()).limit(1)
        with self._database.reading() as connection:
            count, told = connection.execute(going_on).one()
            last = connection.execute(newest).one_or_none()
        moments = [moment.timestamp() for moment in (told, last.updated_at if last else None) if moment is not None]
        change = f"{count}-{max(moments, default=0.0):.6f}-{last.id if last else ''}"
        return hashlib.sha256(change.encode()).hexdigest()[:16]

    def repository_named(self, name: str) -> int | None:
        """Id of the repository that is called so today, in any case of letters; None where none is known."""
        same = func.lower(repositories.c.full_name) == name.strip().lower()
        with self._database.reading() as connection:
            return connection.scalar(select(repositories.c.repository_id).where(same).limit(1))

    def repository_names(self, within: frozenset[int] | None = None) -> tuple[str, ...]:
        """What the repositories are called today, by name; at most 200."""
        names = select(repositories.c.full_name).order_by(repositories.c.full_name).limit(MOST_REPOSITORIES)
        if within is not None:
            names = names.where(repositories.c.repository_id.in_(within))
        with self._database.reading() as connection:
            return tuple(connection.scalars(names))


def _by_run(
    connection: Connection, query: Select[Any], column: ColumnElement[Any], some: tuple[str, ...]
) -> dict[str, int]:
    return {run: value or 0 for run, value in connection.execute(query.where(column.in_(some)).group_by(column))}


def _older(opened: datetime | None, before: str) -> ColumnElement[bool]:
    """Nothing is older than a run that is not there."""
    if opened is None:
        return false()
    return tuple_(runs.c.opened_at, runs.c.id) < tuple_(literal(opened, runs.c.opened_at.type), literal(before))


def _sought(sought: Sought) -> Select[Any]:
    query = _summaries()
    # As a case, which chooses no index: a list of several states would have to be put in order first.
    # Of a plan on offer the deadline is open while another version of it is made.
    waits = case(
        (runs.c.state == "proposed", runs.c.deadline.is_not(None)),
        else_=runs.c.state.in_(("needs_input", "published")),
    )
    if sought.part is Part.WAITING:
        query = query.where(OPEN, waits)
    if sought.part is Part.RUNNING:
        query = query.where(OPEN, ~waits)
    if sought.part is Part.ENDED:
        query = query.where(runs.c.state == "closed")
    if sought.state:
        query = query.where(runs.c.state == sought.state)
    if sought.repository is not None:
        query = query.where(runs.c.repository_id == sought.repository)
    if sought.within is not None:
        # By itself it chooses no index: one list of many repositories would have to be put in order first.
        query = query.where((runs.c.repository_id + 0).in_(sought.within))
    return query


def _summaries() -> Select[Any]:
    today = func.coalesce(repositories.c.full_name, runs.c.repository, type_=runs.c.repository.type)
    return select(
        runs.c.id,
        runs.c.repository_id,
        today.label("repository"),
        runs.c.issue_number,
        runs.c.issue_title,
        runs.c.state,
        runs.c.open,
        runs.c.pull_number,
        runs.c.opened_at,
        runs.c.updated_at,
        runs.c.deadline,
    ).outerjoin(repositories, repositories.c.repository_id == runs.c.repository_id)
