"""Whole runs at random through the ledger, with two workers, lost leases and late news; then the books are closed."""

import random
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from app.core import facts as f
from app.core.advance import replay
from app.core.belts import Belt
from app.core.run import Closed
from app.ledger.outcomes import Claim, RunView
from app.ledger.schema import runs
from app.ledger.store import Ledger
from tests.fakes.deliveries import LEASE, a_delivery, on_issue
from tests.fakes.facts import World, a_request, labelled


class Books:
    """A world whose run stands in a ledger: people write deliveries, workers claim and settle."""

    def __init__(self, ledger: Ledger, seed: int) -> None:
        self.ledger = ledger
        self.dice = random.Random(seed)
        self.world = World(self.dice.choice, request=a_request(run=f"r-{seed:06}", number=seed + 1))
        self.claims: list[Claim] = []
        self.told = 0
        self.deliver(labelled(self.world.request, self.world.tick()))

    @property
    def now(self) -> Any:
        return self.world.clock

    def view(self) -> RunView:
        view = self.ledger.run(self.world.request.run)
        assert view is not None
        self.world.state = view.state
        return view

    def deliver(self, fact: f.Fact) -> None:
        self.told += 1
        guid = f"{self.world.request.run}-{self.told}"
        for _ in range(self.dice.choice([1, 1, 2])):
            self.ledger.receive(a_delivery(guid, at=self.now), on_issue(fact, self.world.request))

    def people(self) -> None:
        state = self.view().state
        if isinstance(state, Closed):
            return
        fact = self.world.people(state)
        if fact is not None:
            self.deliver(fact)

    def take_up(self) -> None:
        owed = [id for belt in Belt for id in self.ledger.owed(belt, self.now)]
        for id in self.dice.sample(owed, min(len(owed), 2)):
            claims = [self.ledger.claim(id, belt, self.now, LEASE) for belt in Belt]
            self.claims.extend(claim for claim in claims if isinstance(claim, Claim))

    def finish(self) -> None:
        if not self.claims:
            return
        claim = self.claims.pop(self.dice.randrange(len(self.claims)))
        self.view()
        self.world.effects[claim.effect.key] = claim.effect
        self.world.held.append(claim.effect.key)
        fact = self.world.finish(claim.effect.key)
        if isinstance(fact, f.ExecutionHeld):
            self.ledger.record(claim.run, fact)
            self.ledger.postpone(claim, self.now + timedelta(minutes=5), fact.reason, self.now)
        elif isinstance(fact, f.EffectAbandoned):
            self.ledger.abandon(claim, fact.reason, self.now)
        else:
            self.ledger.settle(claim, [fact] if fact else [], "done", self.now)

    def step(self) -> None:
        self.dice.choice([self.people, self.take_up, self.take_up, self.finish, self.finish, self.finish])()
        if self.dice.random() < 0.05:
            self.world.clock += LEASE

    def close(self) -> None:
        """The repository goes away, and the workers do what is left."""
        self.deliver(f.RepositoryEnded(at=self.world.tick(), how="The repository was deleted."))
        while any(debt.run == self.world.request.run for debt in self.ledger.debts()):
            self.world.clock += LEASE
            self.take_up()
            while self.claims:
                self.finish()


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_the_books_are_right_and_nothing_is_owed_at_the_end(ledger: Ledger, seed: int) -> None:
    books = Books(ledger, seed)
    for _ in range(40):
        books.step()
        _right(ledger, books.view())
    books.close()
    view = books.view()
    _right(ledger, view)
    assert isinstance(view.state, Closed)
    assert all(effect.settled_at is not None and effect.outcome for effect in view.effects)


def _right(ledger: Ledger, view: RunView) -> None:
    assert [told.seq for told in view.facts] == list(range(1, len(view.facts) + 1))
    assert replay(told.fact for told in view.facts) == view.state
    keys = [effect.effect.key for effect in view.effects]
    assert len(keys) == len(set(keys))
    with ledger._database.engine.connect() as connection:
        row = connection.execute(select(runs).where(runs.c.id == view.id)).one()
    assert (row.state, row.open) == (view.state.name, not isinstance(view.state, Closed))
    assert row.updated_at == view.facts[-1].fact.at
    pull = getattr(view.state, "pull", None)
    assert row.pull_number == (pull.number if pull else None)
