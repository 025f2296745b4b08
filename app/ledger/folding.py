"""A run under its lock: its facts folded to a state, and the next fact appended with what is then owed.

Whether a fact counts is for `advance()` alone to say.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import Connection, insert, select, update

from app.core.advance import advance, replay
from app.core.belts import belt_of
from app.core.effects import Effect
from app.core.facts import Answered, CommandGiven, CommandUnclear, Fact, InputNeeded
from app.core.run import Approved, Built, Closed, NeedsInput, Proposed, Published, State
from app.core.verdict import Refused
from app.ledger.engine import Database
from app.ledger.errors import RunCorrupt
from app.ledger.outcomes import Ring
from app.ledger.schema import OPEN, effects, facts, runs
from app.ledger.written import effect_written, fact_read, fact_written

PATIENCE_FOR_ANSWERS = timedelta(days=14)
"""How long a question to an issue's author stays open."""


@dataclass(slots=True)
class Living:
    """A run whose row is locked until the transaction ends."""

    id: str
    facts: list[Fact]
    state: State
    told_by: str | None = None
    """Guid of the delivery that tells what comes next, if one does."""
    rings: list[Ring] = field(default_factory=list)
    """What has come to be owed in this transaction."""


def folded(run: str, recorded: list[Fact]) -> State:
    """The state after these facts. Raises `RunCorrupt` where they do not follow from one another."""
    try:
        state = replay(recorded)
    except ValueError as error:
        raise RunCorrupt(run, f"The facts of run {run} do not follow from one another: {error}") from error
    if state is None:
        raise RunCorrupt(run, f"Run {run} has no facts.")
    return state


def locked(connection: Connection, run: str, told_by: str | None = None) -> Living | None:
    """The run, locked against every other writer and folded; None where there is no such run."""
    # PostgreSQL locks the row; on SQLite the transaction holds the one write lock already.
    if connection.scalar(select(runs.c.id).where(runs.c.id == run).with_for_update()) is None:
        return None
    recorded = facts_of(connection, run)
    return Living(run, recorded, folded(run, recorded), told_by)


def facts_of(connection: Connection, run: str) -> list[Fact]:
    """A run's facts in order."""
    # All of them at once: a reading that breaks off would leave its connection with the ledger of that moment.
    bodies = connection.scalars(select(facts.c.body).where(facts.c.run_id == run).order_by(facts.c.seq)).all()
    return [fact_read(body, run) for body in bodies]


def taken(database: Database, connection: Connection, living: Living, fact: Fact) -> Refused | None:
    """Appends the fact and what is owed because of it; a fact that `advance()` refuses leaves nothing."""
    if _was_told(living, fact):
        return Refused("This comment was told of before.")
    advanced = advance(living.state, fact)
    if isinstance(advanced, Refused):
        return advanced
    resumed = isinstance(living.state, Closed) and not isinstance(advanced.state, Closed)
    if resumed and _another_is_open(connection, living):
        return Refused("Another run of this issue was begun meanwhile.")
    living.facts.append(fact)
    living.state = advanced.state
    write_newest(connection, living)
    owe(database, connection, living, advanced.effects)
    connection.execute(update(runs).where(runs.c.id == living.id).values(**cached(living)))
    return None


def _was_told(living: Living, fact: Fact) -> bool:
    """True for a comment that came in before, by another delivery or by our own reading."""
    if not isinstance(fact, CommandGiven | CommandUnclear | Answered):
        return False
    told = (one for one in living.facts if isinstance(one, CommandGiven | CommandUnclear | Answered))
    return any(one.comment_id == fact.comment_id for one in told)


def _another_is_open(connection: Connection, living: Living) -> bool:
    request = living.state.request
    here = (runs.c.repository_id == request.repository_id) & (runs.c.issue_number == request.issue_number)
    return connection.scalar(select(runs.c.id).where(OPEN, here, runs.c.id != living.id)) is not None


def write_newest(connection: Connection, living: Living) -> None:
    """Writes down the run's newest fact; its place is the last."""
    fact = living.facts[-1]
    connection.execute(
        insert(facts).values(
            run_id=living.id,
            seq=len(living.facts),
            kind=fact.kind,
            at=fact.at,
            delivery=living.told_by,
            body=fact_written(fact),
        )
    )


def owe(database: Database, connection: Connection, living: Living, owed: tuple[Effect, ...]) -> None:
    """Adds the effects whose keys the run does not have yet."""
    for effect in owed:
        belt = belt_of(effect.kind)
        row = database.insert(effects).values(
            run_id=living.id,
            key=effect.key,
            kind=str(effect.kind),
            belt=str(belt),
            body=effect_written(effect),
            owed_since=living.facts[-1].at,
            fence=0,
            attempts=0,
            postponements=0,
            outcome="",
        )
        row = row.on_conflict_do_nothing(index_elements=["run_id", "key"])
        added = connection.scalar(row.returning(effects.c.id))
        if added is not None:
            living.rings.append(Ring(belt, added))


def cached(living: Living) -> dict[str, object]:
    """The columns of a run that are cached from its facts."""
    state = living.state
    pull = state.pull if isinstance(state, Published | Closed) else None
    return {
        "state": state.name,
        "open": not isinstance(state, Closed),
        "pull_number": pull.number if pull else None,
        "deadline": deadline(living),
        "updated_at": living.facts[-1].at,
    }


def deadline(living: Living) -> datetime | None:
    """When the time is over for which the run waits; None where it waits for nobody."""
    state = living.state
    if isinstance(state, Proposed):
        # While another version is being made there is nothing to wait for.
        return None if state.drafting else state.proposal.expires_at
    if isinstance(state, Approved | Built):
        return state.approval.expires_at
    if isinstance(state, NeedsInput):
        asked = [fact.at for fact in living.facts if isinstance(fact, InputNeeded)]
        return asked[-1] + PATIENCE_FOR_ANSWERS
    return None
