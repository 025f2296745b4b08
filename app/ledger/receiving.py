"""Deliveries come in: recorded, folded and answered with effects, in one transaction."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import zstandard
from sqlalchemy import ColumnElement, Connection, select, update

from app.core.advance import advance
from app.core.belts import Belt
from app.core.facts import CommandGiven, Fact, Labelled, LabelledAgain
from app.core.news import (
    READ,
    Delivery,
    Ignored,
    News,
    OnInstallation,
    OnIssue,
    OnPull,
    OnRepository,
    Seen,
    Subject,
    Trigger,
)
from app.core.run import Closed, Request
from app.core.verdict import Refused
from app.ledger.engine import TRIES, OnDatabase
from app.ledger.errors import LedgerUnreachable, RunCorrupt
from app.ledger.folding import Living, cached, locked, owe, taken, write_newest
from app.ledger.outcomes import Received, Recorded, Ring
from app.ledger.schema import OPEN, deliveries, effects, facts, labels, repositories, runs

ROUNDED = timedelta(seconds=5)
"""By so much the time of a label that was read may differ from what was told: that is of the issue's last change."""

ZSTD_LEVEL = 1
"""The quickest: a webhook's body shrinks to a fifth with it, and the receiver must be quick."""


class Receiving(OnDatabase):
    """What happened comes in here, from GitHub or from our own looking."""

    def receive(self, delivery: Delivery, *news: News | Ignored) -> Received:
        """Takes a delivery with all its news: afterwards it is recorded with its facts and effects, or nothing of it
        is, whatever it held.

        A guid that was taken before gives `new=False` and changes nothing. A label on an issue whose run is
        open counts as set again.
        """
        body = zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(delivery.body)

        def work(connection: Connection) -> Received:
            row = self._database.insert(deliveries).values(
                guid=delivery.guid,
                event=delivery.event,
                action=delivery.action,
                received_at=delivery.received_at,
                outcome="",
                size=len(delivery.body),
                body=body,
            )
            if connection.scalar(row.on_conflict_do_nothing().returning(deliveries.c.guid)) is None:
                return Received(new=False)
            received = _together([self._taken_in(connection, delivery.guid, each) for each in news])
            told = update(deliveries).where(deliveries.c.guid == delivery.guid)
            connection.execute(told.values(outcome=received.outcome))
            return received

        return self._database.writing(work)

    def record(self, run: str, fact: Fact) -> Recorded | Refused:
        """Takes a fact that no delivery told, such as a thumb that was found or time that is over."""

        def work(connection: Connection) -> Recorded | Refused:
            living = locked(connection, run)
            if living is None:
                return Refused(f"There is no run {run}.")
            refused = taken(self._database, connection, living, fact)
            return refused or Recorded(tuple(living.rings))

        return self._database.writing(work)

    def remember(self, seen: Seen) -> None:
        """The repository is known by this name from now on, as if a delivery had said so."""
        self._database.writing(lambda connection: self._remember(connection, seen))

    def stir(self, subject: OnIssue, at: datetime) -> bool:
        """Something happened on the issue that is no fact of its run; whether a plan of its open run waits there."""
        here = (runs.c.repository_id == subject.repository_id) & (runs.c.issue_number == subject.number)
        waiting = OPEN & here & (runs.c.state == "proposed")
        # Most issues have no plan: those are only read, so that talk costs the ledger no write.
        with self._database.reading() as connection:
            if connection.scalar(select(runs.c.id).where(waiting)) is None:
                return False
        self._database.writing(lambda connection: connection.execute(update(runs).where(waiting).values(stirred_at=at)))
        return True

    def _taken_in(self, connection: Connection, guid: str, news: News | Ignored) -> Received:
        if isinstance(news, Ignored):
            return Received(new=True, outcome=f"ignored: {news.why}")
        if news.seen is not None:
            self._remember(connection, news.seen)
        if news.trigger is not None:
            self._remember_trigger(connection, news.trigger)
        fact = news.fact
        if fact is None:
            rings = _due_now(connection, news.subject) if news.hurry else ()
            return Received(True, outcome="what waits is due now" if news.hurry else "noted the names", rings=rings)
        if isinstance(fact, Labelled):
            return self._labelled(connection, guid, fact)
        concerned = _concerned(connection, news.subject)
        if not concerned and isinstance(fact, CommandGiven):
            # The last run of the issue can be taken up again, or says that it has ended.
            concerned = _newest(connection, news.subject)
        living = self._living(connection, concerned, guid)
        if not living:
            return Received(new=True, outcome=f"ignored: there is no run that {fact.kind} could concern")
        return self._taken_by_all(connection, living, fact)

    def _living(self, connection: Connection, concerned: Sequence[str], guid: str) -> list[Living]:
        """The runs, locked. One whose rows are corrupt is left aside where it is not the only one; what a newer version
        went on with keeps the whole delivery for that version."""
        living: list[Living] = []
        corrupt: RunCorrupt | None = None
        for id in concerned:
            try:
                if (run := locked(connection, id, guid)) is not None:
                    living.append(run)
            except RunCorrupt as aside:
                self.say_left_aside(aside)
                corrupt = aside
        if corrupt is not None and not living:
            raise corrupt
        return living

    def _taken_by_all(self, connection: Connection, living: Sequence[Living], fact: Fact) -> Received:
        recorded: list[Living] = []
        refused: list[Refused] = []
        for run in living:
            no = taken(self._database, connection, run, fact)
            if no is None:
                recorded.append(run)
            else:
                refused.append(no)
        if not recorded:
            return Received(new=True, outcome=f"ignored: {refused[0]}")
        where = recorded[0].id if len(recorded) == 1 else f"{len(recorded)} runs"
        rings = tuple(ring for run in recorded for ring in run.rings)
        return Received(True, tuple(run.id for run in recorded), f"recorded {fact.kind} in {where}", rings)

    def _labelled(self, connection: Connection, guid: str, fact: Labelled) -> Received:
        """Opens a run, or answers that one is open. Two that come at once: the index lets one in."""
        request = fact.request
        issue = OnIssue(request.repository_id, request.issue_number)
        for _ in range(TRIES):
            for id in _concerned(connection, issue):
                living = locked(connection, id, guid)
                # It may have ended while its lock was waited for: then there is room for a new one.
                if living is not None and not isinstance(living.state, Closed):
                    if _had_it(connection, living, guid, fact):
                        return Received(new=True, outcome=f"ignored: that label has its run, {id}")
                    again = LabelledAgain(at=fact.at, happened_at=fact.happened_at, person=request.labeller)
                    return self._taken_by_all(connection, [living], again)
            if (later := _labelled_since(connection, issue, guid, fact)) is not None:
                return Received(new=True, outcome=f"ignored: that label, or a later one, had its run, {later}")
            if (opened := self._opened(connection, guid, fact)) is not None:
                outcome = f"opened run {opened.id}"
                return Received(True, (opened.id,), outcome, tuple(opened.rings))
        raise LedgerUnreachable(f"Runs of issue {request.issue_number} open and close too quickly to follow.")

    def _opened(self, connection: Connection, guid: str, fact: Labelled) -> Living | None:
        advanced = advance(None, fact)
        if isinstance(advanced, Refused):
            raise AssertionError(f"a label opens a run: {advanced}")
        living = Living(fact.request.run, [fact], advanced.state, guid)
        row = self._database.insert(runs).values(**_opening(fact.request, living))
        if connection.scalar(row.on_conflict_do_nothing().returning(runs.c.id)) is None:
            return None
        write_newest(connection, living)
        owe(self._database, connection, living, advanced.effects)
        return living

    def _remember(self, connection: Connection, seen: Seen) -> None:
        today = {"full_name": seen.full_name, "installation_id": seen.installation_id}
        row = self._database.insert(repositories).values(repository_id=seen.repository_id, **today)
        differs = (repositories.c.full_name != row.excluded.full_name) | (
            repositories.c.installation_id != row.excluded.installation_id
        )
        connection.execute(row.on_conflict_do_update(index_elements=["repository_id"], set_=today, where=differs))

    def _remember_trigger(self, connection: Connection, trigger: Trigger) -> None:
        row = self._database.insert(labels).values(
            repository_id=trigger.repository_id, label_id=trigger.label_id, name=trigger.name
        )
        if trigger.renamed_to:
            key, differs = ["repository_id", "label_id"], labels.c.name != trigger.renamed_to
            row = row.on_conflict_do_update(index_elements=key, set_={"name": trigger.name}, where=differs)
        else:
            row = row.on_conflict_do_nothing()
        connection.execute(row)


def _together(received: Sequence[Received]) -> Received:
    """What came of all the news of one delivery."""
    runs_ = tuple(run for each in received for run in each.runs)
    outcome = "; ".join(dict.fromkeys(each.outcome for each in received if each.outcome))
    return Received(True, runs_, outcome, tuple(ring for each in received for ring in each.rings))


def _opening(request: Request, living: Living) -> dict[str, object]:
    return {
        "id": request.run,
        "installation_id": request.installation_id,
        "repository_id": request.repository_id,
        "issue_number": request.issue_number,
        "issue_title": request.issue_title,
        "repository": request.repository,
        "opened_at": living.facts[0].at,
        **cached(living),
    }


def _newest(connection: Connection, subject: Subject) -> Sequence[str]:
    """The issue's newest run, whether it is open or not."""
    if not isinstance(subject, OnIssue):
        return ()
    here = (runs.c.repository_id == subject.repository_id) & (runs.c.issue_number == subject.number)
    return connection.scalars(select(runs.c.id).where(here).order_by(runs.c.opened_at.desc()).limit(1)).all()


def _labelled_since(connection: Connection, issue: OnIssue, guid: str, fact: Labelled) -> str | None:
    """Id of the issue's newest run where its label was set later than this one was, or was this very one: this comes
    late, and what it asked for has had its run (github-facts 23, 24)."""
    for id in _newest(connection, issue):
        try:
            living = locked(connection, id)
        except RunCorrupt:
            # Whatever it was: the issue is not closed to new runs because of it.
            return None
        since = living.state.request.labelled_at if living is not None else None
        if living is None or since is None or fact.happened_at is None:
            return None
        if fact.happened_at < since or _had_it(connection, living, guid, fact):
            return id
    return None


def _had_it(connection: Connection, living: Living, guid: str, fact: Labelled) -> bool:
    """Whether the run is of this very label, which was told once and read once. Two that were told in one second are
    two: somebody may have taken it off between."""
    before, now = living.state.request, fact.request
    if fact.happened_at is None or before.labelled_at is None:
        return False
    same = abs(fact.happened_at - before.labelled_at) <= ROUNDED
    same = same and now.label.casefold() == before.label.casefold() and _id_of(now) == _id_of(before)
    return same and (guid.startswith(READ) or _was_read(connection, living.id))


def _id_of(request: Request) -> int | None:
    return request.labeller.id if request.labeller is not None else None


def _was_read(connection: Connection, run: str) -> bool:
    """Whether no delivery told of the label that opened the run."""
    first = select(facts.c.delivery).where(facts.c.run_id == run, facts.c.seq == 1)
    return (connection.scalar(first) or "").startswith(READ)


def _concerned(connection: Connection, subject: Subject) -> Sequence[str]:
    """The runs that a subject names, in the order in which every transaction locks them."""
    where = _named_by(subject) if isinstance(subject, OnPull) else OPEN & _named_by(subject)
    return connection.scalars(select(runs.c.id).where(where).order_by(runs.c.id)).all()


def _due_now(connection: Connection, subject: Subject) -> tuple[Ring, ...]:
    """What waits there can be claimed at once, also what an ended run still owes; what is in hand stays as it is."""
    waits = effects.c.settled_at.is_(None) & effects.c.available_at.is_not(None) & effects.c.lease_until.is_(None)
    there = effects.c.run_id.in_(select(runs.c.id).where(_named_by(subject)))
    hurried = update(effects).where(waits, there).values(available_at=None).returning(effects.c.id, effects.c.belt)
    return tuple(sorted((Ring(Belt(row.belt), row.id) for row in connection.execute(hurried)), key=_age))


def _age(ring: Ring) -> int:
    return ring.effect_id


def _named_by(subject: Subject) -> ColumnElement[bool]:
    match subject:
        case OnIssue(repository_id, number):
            return (runs.c.repository_id == repository_id) & (runs.c.issue_number == number)
        case OnPull(repository_id, number):
            return (runs.c.repository_id == repository_id) & (runs.c.pull_number == number)
        case OnRepository(repository_id):
            return runs.c.repository_id == repository_id
        case OnInstallation(installation_id):
            # Where a repository is known, its installation of today counts: it may have another owner since the label.
            known = select(repositories.c.repository_id)
            here = known.where(repositories.c.installation_id == installation_id)
            as_it_was = (runs.c.installation_id == installation_id) & runs.c.repository_id.not_in(known)
            return runs.c.repository_id.in_(here) | as_it_was
