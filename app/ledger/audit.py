"""What an audit log tells, read from the ledger: deliveries, facts, approvals, grants, tokens by hash, effects settled.

A record is told once it can no longer change: a fact when it is recorded, an effect when it is settled, a token when
it is cut or refused, and once more when it has ended.
"""

import heapq
import json
import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from app.core.advance import advance
from app.core.chain import FORMAT
from app.core.facts import Fact
from app.core.redact import hide_in
from app.core.run import Approval, Approved, Built, Proposed, State
from app.core.verdict import Refused
from app.ledger.engine import OnDatabase
from app.ledger.errors import LedgerNewer, RunCorrupt, RunLeftAside
from app.ledger.schema import deliveries, effects, facts, mints, runs
from app.ledger.written import fact_read

Record = dict[str, Any]

ROWS_AT_ONCE = 500

_LOG = logging.getLogger(__name__)


class Audit(OnDatabase):
    """Reading changes nothing, and holds nobody up."""

    def records(self, told: Collection[str]) -> Iterator[Record]:
        """Every record whose `id` was not told before, as of one moment: deliveries by their time, and each run with
        all that belongs to it where it was opened. Nothing that comes later is missed by telling it only then."""
        if "log" not in told:
            yield {"type": "log", "id": "log", "format": FORMAT}
        with self._one_moment() as connection:
            streams = (_deliveries(connection), _runs(connection))
            for _, _, found in heapq.merge(*streams, key=lambda one: one[:2]):
                yield from (hide_in(record) for record in found if record["id"] not in told)
            # Tokens for watching, and refusals, that belong to no run.
            yield from (record for record in _tokens(connection, "") if record["id"] not in told)

    @contextmanager
    def _one_moment(self) -> Iterator[Connection]:
        level: dict[str, Any] = (
            {} if self._database.is_sqlite else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        )
        with self._database.reading() as connection:
            yield connection.execution_options(**level)


def _deliveries(connection: Connection) -> Iterator[tuple[datetime, str, list[Record]]]:
    columns = (
        deliveries.c.guid,
        deliveries.c.event,
        deliveries.c.action,
        deliveries.c.received_at,
        deliveries.c.outcome,
    )
    query = select(*columns, deliveries.c.size).order_by(deliveries.c.received_at, deliveries.c.guid)
    for row in connection.execute(query.execution_options(yield_per=ROWS_AT_ONCE)):
        record = {"type": "delivery", "id": f"delivery:{row.guid}", "at": row.received_at.isoformat()}
        record |= {"guid": row.guid, "event": row.event, "action": row.action, "outcome": row.outcome, "size": row.size}
        yield row.received_at, row.guid, [record]


def _runs(connection: Connection) -> Iterator[tuple[datetime, str, list[Record]]]:
    every = select(runs.c.id, runs.c.opened_at).order_by(runs.c.opened_at, runs.c.id)
    for row in connection.execute(every).all():
        found = [*_facts(connection, row.id), *_tokens(connection, row.id), *_effects(connection, row.id)]
        yield row.opened_at, row.id, sorted(found, key=lambda record: str(record["at"]))


def _facts(connection: Connection, run: str) -> Iterator[Record]:
    """The facts, and with the one that led to it each approval and each grant. From the first on that cannot be
    read here they are left out: a newer version, or the run restored, adds what is not told."""
    query = select(facts.c.seq, facts.c.delivery, facts.c.body).where(facts.c.run_id == run).order_by(facts.c.seq)
    state: State | None = None
    for row in connection.execute(query).all():
        try:
            fact = fact_read(row.body, run)
            before, state = state, _after(run, state, fact)
        except RunLeftAside as aside:
            why = "to a newer version" if isinstance(aside, LedgerNewer) else f"aside ({aside})"
            _LOG.warning("run %s is left %s from its fact %d on", run, why, row.seq)
            return
        at = fact.at.isoformat()
        yield {
            "type": "fact", "id": f"fact:{run}:{row.seq}", "at": at, "run": run, "seq": row.seq,
            "delivery": row.delivery, "fact": json.loads(row.body),
        }  # fmt: skip
        for approval in _approvals(state):
            if approval not in _approvals(before):
                told = approval.model_dump(mode="json")
                name = f"approval:{run}:{row.seq}:{approval.person.id}"
                yield {"type": "approval", "id": name, "at": at, "run": run, "approval": told}
        if isinstance(state, Approved) and (not isinstance(before, Approved) or before.approval != state.approval):
            yield {
                "type": "grant", "id": f"grant:{run}:{row.seq}", "at": at, "run": run,
                "plan_digest": state.approval.plan_digest, "base_commit": state.approval.base_commit,
                "people": [one.person.id for one in (*state.also, state.approval)],
                "expires_at": state.approval.expires_at.isoformat(),
            }  # fmt: skip


def _after(run: str, state: State | None, fact: Fact) -> State:
    advanced = advance(state, fact)
    if isinstance(advanced, Refused):
        raise RunCorrupt(run, f"The facts of run {run} do not follow from one another: {advanced}")
    return advanced.state


def _approvals(state: State | None) -> tuple[Approval, ...]:
    if isinstance(state, Approved | Built):
        return (*state.also, state.approval)
    return state.given if isinstance(state, Proposed) else ()


def _tokens(connection: Connection, run: str) -> Iterator[Record]:
    query = select(mints).where(mints.c.run_id == run).order_by(mints.c.minted_at, mints.c.id)
    for row in connection.execute(query):
        minted = json.loads(row.body)
        if not minted["token_sha256"] and not minted["refused"]:
            # Begun, and without an end yet: it is told when it has one.
            continue
        place = {"run": run, "token": row.id}
        told = {key: value for key, value in minted.items() if key not in ("id", "run", "revoked_at")}
        yield {"type": "token", "id": f"token:{row.id}", "at": row.minted_at.isoformat(), **place, **told}
        if row.revoked_at is not None:
            yield {"type": "token_ended", "id": f"end:{row.id}", "at": row.revoked_at.isoformat(), **place}


def _effects(connection: Connection, run: str) -> Iterator[Record]:
    query = select(effects).where(effects.c.run_id == run, effects.c.settled_at.is_not(None)).order_by(effects.c.id)
    for row in connection.execute(query):
        yield {
            "type": "effect", "id": f"effect:{row.id}", "at": row.settled_at.isoformat(), "run": run, "key": row.key,
            "kind": row.kind, "belt": row.belt, "attempts": row.attempts, "outcome": row.outcome,
        }  # fmt: skip
