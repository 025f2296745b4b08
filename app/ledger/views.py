"""Runs and deliveries as others read them. The state is always the fold of the facts, never a cached column."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import zstandard
from sqlalchemy import Connection, Row, Select, func, select, text

from app.core.belts import Belt
from app.core.facts import Fact
from app.core.news import Seen
from app.core.run import ApprovalSource, Approved, Built, Proposed, Request, State
from app.core.scoring import Score, score
from app.ledger.engine import OnDatabase
from app.ledger.folding import facts_of, folded
from app.ledger.outcomes import (
    DeliveryView,
    EffectView,
    FactView,
    OpenRun,
    RunView,
    StandingThumb,
    WaitingProposal,
    Watched,
)
from app.ledger.schema import (
    OPEN,
    artifacts,
    deliveries,
    effects,
    facts,
    labels,
    mints,
    missed,
    repositories,
    runs,
    spans,
)
from app.ledger.written import effect_read, fact_read


class Views(OnDatabase):
    """Reading changes nothing. Of several runs, one that cannot be read here is left out, and the log says so; where it
    alone is asked for, `RunLeftAside` is raised: with it a newer version went on, or its rows are not as written."""

    def run(self, run: str) -> RunView | None:
        """The run with its facts, its state and its effects; None where there is no such run."""
        with self._database.reading() as connection:
            row = connection.execute(select(runs).where(runs.c.id == run)).one_or_none()
            if row is None:
                return None
            told = connection.execute(select(facts).where(facts.c.run_id == run).order_by(facts.c.seq)).all()
            seen = tuple(FactView(fact.seq, fact_read(fact.body, run), fact.delivery) for fact in told)
            owed = connection.execute(select(effects).where(effects.c.run_id == run).order_by(effects.c.id)).all()
            return RunView(
                id=run,
                state=folded(run, [view.fact for view in seen]),
                facts=seen,
                effects=tuple(_effect_view(effect) for effect in owed),
                opened_at=row.opened_at,
                updated_at=row.updated_at,
            )

    def open_run(self, repository_id: int, number: int) -> str | None:
        """Id of the issue's open run; there is never more than one."""
        at_issue = (runs.c.repository_id == repository_id) & (runs.c.issue_number == number)
        with self._database.reading() as connection:
            return connection.scalar(select(runs.c.id).where(OPEN, at_issue))

    def any_open(self) -> bool:
        """True while some run has not ended."""
        with self._database.reading() as connection:
            return connection.scalar(select(runs.c.id).where(runs.c.open).limit(1)) is not None

    def open_runs(self) -> tuple[OpenRun, ...]:
        """Every run that has not ended, in the order in which they were opened."""
        places = select(runs.c.id, runs.c.installation_id, runs.c.repository_id, runs.c.repository)
        with self._database.reading() as connection:
            names = _names_today(connection)
            found = connection.execute(places.where(runs.c.open).order_by(runs.c.opened_at, runs.c.id)).all()
        today = ((row.id, _today(row, names)) for row in found)
        return tuple(OpenRun(id, place.installation_id, place.repository_id, place.full_name) for id, place in today)

    def run_of_pull(self, repository_id: int, number: int) -> str | None:
        """Id of the run that opened this pull request."""
        of_pull = (runs.c.repository_id == repository_id) & (runs.c.pull_number == number)
        newest = select(runs.c.id).where(of_pull).order_by(runs.c.opened_at.desc()).limit(1)
        with self._database.reading() as connection:
            return connection.scalar(newest)

    def due_to_expire(self, now: datetime) -> tuple[str, ...]:
        """Ids of the open runs that waited until their deadline, the longest overdue first."""
        over = select(runs.c.id).where(OPEN, runs.c.deadline <= now).order_by(runs.c.deadline, runs.c.id)
        with self._database.reading() as connection:
            return tuple(connection.scalars(over))

    def at_work_since(self, before: datetime) -> tuple[str, ...]:
        """Ids of the open runs that wait for us and not for people, and were told nothing since then."""
        working = runs.c.state.in_(("wanted", "approved", "built", "reporting"))
        # Of a plan on offer the deadline is open while another version of it is made.
        drafting = (runs.c.state == "proposed") & runs.c.deadline.is_(None)
        query = select(runs.c.id).where(runs.c.open, working | drafting, runs.c.updated_at < before)
        with self._database.reading() as connection:
            return tuple(connection.scalars(query.order_by(runs.c.id)))

    def last_sign(self, run: str) -> datetime | None:
        """When something was last told of the run, or begun for it."""
        told = select(func.max(facts.c.at)).where(facts.c.run_id == run)
        begun = select(func.max(spans.c.began_at)).where(spans.c.run_id == run)
        with self._database.reading() as connection:
            signs = (connection.scalar(told), connection.scalar(begun))
        return max((at for at in signs if at is not None), default=None)

    def waiting_proposals(self) -> tuple[WaitingProposal, ...]:
        """The plan comments on which a thumb would count, in the order in which their runs were opened."""
        waiting = select(runs.c.id).where(runs.c.open, runs.c.state == "proposed")
        told = (
            select(facts.c.run_id, facts.c.body, runs.c.stirred_at)
            .join(runs, runs.c.id == facts.c.run_id)
            .where(facts.c.run_id.in_(waiting))
            .order_by(runs.c.opened_at, facts.c.run_id, facts.c.seq)
        )
        asked = select(effects.c.run_id, effects.c.key).where(
            effects.c.run_id.in_(waiting), effects.c.key.startswith("authority:reaction:", autoescape=True)
        )
        with self._database.reading() as connection:
            names = _names_today(connection)
            keys: dict[str, list[str]] = {}
            for row in connection.execute(asked):
                keys.setdefault(row.run_id, []).append(row.key)
            found: list[WaitingProposal] = []
            for _, rows in groupby(connection.execute(told).all(), key=lambda row: row.run_id):
                with self.leaving_aside():
                    found += _waiting(list(rows), keys, names)
            return tuple(found)

    def standing_thumbs(self) -> tuple[StandingThumb, ...]:
        """The thumbs by which plans were approved whose work is not published yet, of everybody who approved."""
        working = select(runs.c.id).where(runs.c.open, runs.c.state.in_(("approved", "built"))).order_by(runs.c.id)
        with self._database.reading() as connection:
            names = _names_today(connection)
            states = [(run, state) for run, _, state in self._known(connection, connection.scalars(working).all())]
        return tuple(thumb for run, state in states for thumb in _thumbs(run, state, names))

    def watched(self) -> tuple[Watched, ...]:
        """The plan comments whose thumbs count now, for a plan that waits or for work in hand."""
        return (*self.waiting_proposals(), *self.standing_thumbs())

    def newest_stir(self) -> tuple[datetime | None, datetime | None]:
        """When the newest fact was told of a run whose plan waits or is carried out, and when its issue was last
        stirred: something else happened there once one of them changes."""
        watched = runs.c.open & runs.c.state.in_(("proposed", "approved", "built"))
        newest = select(func.max(runs.c.updated_at), func.max(runs.c.stirred_at)).where(watched)
        with self._database.reading() as connection:
            told, stirred = connection.execute(newest).one()
        return told, stirred

    def template_scores(self, limit: int = 2_000) -> tuple[Score, ...]:
        """What became of the newest runs, by the template version that planned them."""
        newest = select(runs.c.id).order_by(runs.c.opened_at.desc(), runs.c.id.desc()).limit(limit)
        with self._database.reading() as connection:
            found = connection.scalars(newest).all()
            return score((told, state) for _, told, state in self._known(connection, found))

    def repository(self, repository_id: int) -> Seen | None:
        """What the repository is called today, and through which installation it is reached."""
        query = select(repositories).where(repositories.c.repository_id == repository_id)
        with self._database.reading() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else Seen(row.repository_id, row.full_name, row.installation_id)

    def deliveries(self, limit: int = 50) -> tuple[DeliveryView, ...]:
        """The newest deliveries first."""
        newest = _delivery_columns().order_by(deliveries.c.received_at.desc(), deliveries.c.guid).limit(limit)
        with self._database.reading() as connection:
            return tuple(DeliveryView(**row) for row in connection.execute(newest).mappings())

    def delivery(self, guid: str) -> DeliveryView | None:
        """The delivery with this guid and what came of it; None where it was never taken."""
        with self._database.reading() as connection:
            row = connection.execute(_delivery_columns().where(deliveries.c.guid == guid)).mappings().one_or_none()
        return None if row is None else DeliveryView(**row)

    def delivery_body(self, guid: str) -> bytes | None:
        """The body, byte for byte as GitHub sent it; None where there is none, or it was dropped by its age."""
        with self._database.reading() as connection:
            body = connection.scalar(select(deliveries.c.body).where(deliveries.c.guid == guid))
        return zstandard.ZstdDecompressor().decompress(body) if body else None

    def triggers(self, repository_id: int, label_ids: Sequence[int]) -> dict[int, str]:
        """Those of these labels that were seen to trigger, with the names by which they do."""
        there = (labels.c.repository_id == repository_id) & labels.c.label_id.in_(label_ids)
        with self._database.reading() as connection:
            return {row.label_id: row.name for row in connection.execute(select(labels).where(there))}

    def counts(self) -> dict[str, int]:
        """How much there is: per table, `runs.STATE` by state, `owed.BELT` for what is not settled, and
        `missed.deliveries` for what GitHub could not deliver and has not come yet."""
        tables = (deliveries, facts, spans, mints, artifacts)
        by_state = select(runs.c.state, func.count()).group_by(runs.c.state)
        by_belt = select(effects.c.belt, func.count()).where(effects.c.settled_at.is_(None)).group_by(effects.c.belt)
        not_come = select(func.count()).select_from(missed).where(missed.c.settled_at.is_(None))
        with self._database.reading() as connection:
            counted = {table.name: _count(connection, table) for table in tables}
            counted |= {f"runs.{state}": count for state, count in connection.execute(by_state)}
            counted["missed.deliveries"] = connection.scalar(not_come) or 0
            counted |= {f"owed.{belt}": 0 for belt in Belt}
            counted |= {f"owed.{belt}": count for belt, count in connection.execute(by_belt)}
        return counted

    def ping(self) -> None:
        """Raises `LedgerUnreachable` unless the database answers."""
        with self._database.reading() as connection:
            connection.execute(text("SELECT 1"))

    def _known(self, connection: Connection, wanted: Sequence[str]) -> Iterator[tuple[str, list[Fact], State]]:
        """Those of these runs that can be read, with their facts and their states."""
        for run in wanted:
            with self.leaving_aside():
                told = facts_of(connection, run)
                yield run, told, folded(run, told)


def _count(connection: Connection, table: Any) -> int:
    return connection.scalar(select(func.count()).select_from(table)) or 0


def _effect_view(row: Row[Any]) -> EffectView:
    return EffectView(
        id=row.id,
        effect=effect_read(row.body, row.run_id),
        belt=Belt(row.belt),
        owed_since=row.owed_since,
        available_at=row.available_at,
        fence=row.fence,
        attempts=row.attempts,
        postponements=row.postponements,
        lease_until=row.lease_until,
        settled_at=row.settled_at,
        outcome=row.outcome,
    )


def _delivery_columns() -> Select[Any]:
    return select(
        deliveries.c.guid,
        deliveries.c.event,
        deliveries.c.action,
        deliveries.c.received_at,
        deliveries.c.outcome,
        deliveries.c.size,
    )


def _names_today(connection: Connection) -> dict[int, Seen]:
    return {
        row.repository_id: Seen(row.repository_id, row.full_name, row.installation_id)
        for row in connection.execute(select(repositories))
    }


def _today(request: Request | Row[Any, Any, Any, Any], names: dict[int, Seen]) -> Seen:
    known = Seen(request.repository_id, request.repository, request.installation_id)
    return names.get(request.repository_id, known)


def _thumbs(run: str, state: State, names: dict[int, Seen]) -> Iterator[StandingThumb]:
    if not isinstance(state, Approved | Built):
        return
    today = _today(state.request, names)
    for approval in (state.approval, *state.also):
        if approval.source is ApprovalSource.REACTION:
            yield StandingThumb(
                run=run,
                installation_id=today.installation_id,
                repository_id=today.repository_id,
                repository=today.full_name,
                comment_node_id=state.proposal.comment_node_id,
                reaction_id=approval.source_id,
                person=approval.person,
                plan_digest=state.proposal.digest,
            )


def _waiting(
    rows: Sequence[Row[Any, Any, Any]], keys: dict[str, list[str]], names: dict[int, Seen]
) -> Iterator[WaitingProposal]:
    run = rows[0].run_id
    state = folded(run, recorded := [fact_read(row.body, run) for row in rows])
    comment_id = state.proposal.comment_id if isinstance(state, Proposed) else None
    if not isinstance(state, Proposed) or comment_id is None:
        return
    proposal, today = state.proposal, _today(state.request, names)
    ending = f":v{proposal.version}"
    yield WaitingProposal(
        run=run,
        installation_id=today.installation_id,
        repository_id=today.repository_id,
        repository=today.full_name,
        comment_id=comment_id,
        comment_node_id=proposal.comment_node_id,
        version=proposal.version,
        seen_reactions=frozenset(int(key.split(":")[2]) for key in keys.get(run, ()) if key.endswith(ending)),
        told=len(recorded),
        stirred_at=rows[0].stirred_at,
    )
