"""Leases as a state machine: two workers with connections of their own do whatever they like with whatever they hold.

A model beside them says what must come of it: one holder at a time, a number that rises, nothing by an old number, each
effect settled once, waiting that costs no attempt, and nothing that is due is hidden from whoever looks for it.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import event

from app.core import facts as f
from app.core.advance import Advanced, advance
from app.core.belts import Belt, belt_of
from app.core.effects import DraftPlan, Effect, LookUpAuthority
from app.core.owed import still_owed
from app.core.run import State
from app.core.verdict import Allowed, Refused
from app.ledger import open_ledger
from app.ledger.outcomes import Claim, Recorded
from app.ledger.store import Ledger
from tests.fakes.deliveries import Told
from tests.fakes.facts import MIRA, a_request, drafted, found

LEASE = timedelta(seconds=30)
SECONDS = st.sampled_from([1, 10, 29, 30, 31, 100])
WORKER, PLACE = st.integers(0, 1), st.integers(0, 50)


class CutOff(BaseException):
    """Nothing of the product holds it, as nothing holds a death."""


@contextmanager
def cut_off_before(ledger: Ledger, statement: int) -> Iterator[list[int]]:
    """What is done with this ledger ends before its so-manieth statement (a commit counts); the list tells that it
    did."""
    cut: list[int] = []
    left = count(statement - 1, -1)

    def look(*_: Any) -> None:
        if next(left) == 0:
            cut.append(statement)
            raise CutOff

    engine = ledger._database.engine
    for what in ("before_cursor_execute", "commit"):
        event.listen(engine, what, look)
    try:
        yield cut
    except CutOff:
        pass
    finally:
        for what in ("before_cursor_execute", "commit"):
            event.remove(engine, what, look)


@dataclass
class Known:
    """What the model knows of one effect."""

    effect: Effect
    fence: int = 0
    attempts: int = 0
    postponements: int = 0
    lease_until: datetime | None = None
    available_at: datetime | None = None
    settled: bool = False
    claims: list[Claim] = field(default_factory=list)

    def can_be_had(self, now: datetime) -> bool:
        return not self.settled and all(at is None or at <= now for at in (self.lease_until, self.available_at))

    def held_by(self, claim: Claim) -> bool:
        return not self.settled and self.fence == claim.fence


class Leases(RuleBasedStateMachine):
    """One run. Every step is done by one of two workers."""

    def __init__(self, workers: list[Ledger], number: int) -> None:
        super().__init__()
        self.workers = workers
        self.told = Told(workers[0], a_request(run=f"r-{number:06}", number=number))
        self.told.labelled()
        self.now = self.told.now
        self.known: dict[int, Known] = {}
        self.learn()

    def learn(self) -> State:
        """What has come to be owed, and the state it is owed in."""
        view = self.workers[0].run(self.told.request.run)
        assert view is not None
        self.state = view.state
        for one in view.effects:
            self.known.setdefault(one.id, Known(one.effect))
        return self.state

    def claims(self) -> list[tuple[Known, Claim]]:
        return [(one, claim) for one in self.known.values() for claim in one.claims]

    @initialize(worker=WORKER, place=PLACE)
    def one_is_overtaken(self, worker: int, place: int) -> None:
        """Every run begins so: one holds an effect until another has it, and then tries all that a holder may do."""
        self.claim(worker, place, None)
        [(one, old)] = self.claims()
        self.time_passes(29)
        self.claim(1 - worker, place, None)
        self.time_passes(1)
        self.claim(1 - worker, place, None)
        assert one.claims[-1].fence == old.fence + 1
        mine, later = self.workers[worker], self.now + LEASE
        tries = (
            mine.settle(old, self.outcome(old.effect), "done", self.now),
            mine.settle(old, [], "done", self.now),
            mine.tell(old, f.LabelledAgain(at=self.now, person=MIRA)),
            mine.abandon(old, "it does not go", self.now),
            mine.renew(old, self.now, LEASE),
            mine.wanted(old),
            mine.postpone(old, later, "why", self.now),
            mine.retry(old, later, "why", self.now),
        )
        assert [one for one in tries if not isinstance(one, Refused)] == []

    @rule(worker=WORKER, place=PLACE, belt=st.sampled_from([None, *Belt]))
    def claim(self, worker: int, place: int, belt: Belt | None) -> None:
        effect_id, one = list(self.known.items())[place % len(self.known)]
        right = belt_of(one.effect.kind)
        claimed = self.workers[worker].claim(effect_id, belt or right, self.now, LEASE)
        if belt not in (None, right) or not one.can_be_had(self.now):
            assert isinstance(claimed, Refused)
        elif isinstance(still_owed(one.effect, self.state), Refused):
            assert isinstance(claimed, Refused)
            one.settled, one.lease_until = True, None
        else:
            assert isinstance(claimed, Claim)
            one.fence, one.attempts, one.lease_until = one.fence + 1, one.attempts + 1, self.now + LEASE
            told = (claimed.fence, claimed.attempts, claimed.postponements, claimed.lease_until)
            assert told == (one.fence, one.attempts, one.postponements, one.lease_until)
            assert claimed.state == self.state
            one.claims.append(claimed)

    @precondition(lambda self: self.claims())
    @rule(worker=WORKER, place=PLACE)
    def renew(self, worker: int, place: int) -> None:
        one, claim = self.claims()[place % len(self.claims())]
        renewed = self.workers[worker].renew(claim, self.now, LEASE)
        assert isinstance(renewed, Claim) == one.held_by(claim)
        if isinstance(renewed, Claim):
            one.lease_until = self.now + LEASE

    @precondition(lambda self: self.claims())
    @rule(worker=WORKER, place=PLACE)
    def ask_whether_it_is_wanted(self, worker: int, place: int) -> None:
        one, claim = self.claims()[place % len(self.claims())]
        owed = not isinstance(still_owed(claim.effect, self.state), Refused)
        assert isinstance(self.workers[worker].wanted(claim), Allowed) == (one.held_by(claim) and owed)

    @precondition(lambda self: self.claims())
    @rule(worker=WORKER, place=PLACE, abandons=st.sampled_from([False, False, False, True]))
    def settle(self, worker: int, place: int, abandons: bool) -> None:
        one, claim = self.claims()[place % len(self.claims())]
        mine = self.workers[worker]
        if abandons:
            settled = mine.abandon(claim, "it does not go", self.now)
        else:
            settled = mine.settle(claim, self.outcome(claim.effect), "done", self.now)
        assert isinstance(settled, Recorded) == one.held_by(claim)
        if isinstance(settled, Recorded):
            one.settled, one.lease_until = True, None
            for fact in [] if abandons else self.outcome(claim.effect):
                before, expected = self.state, advance(self.state, fact)
                assert self.learn() == (expected.state if isinstance(expected, Advanced) else before)
        self.learn()

    @precondition(lambda self: self.claims())
    @rule(worker=WORKER, place=PLACE)
    def settle_and_break_off(self, worker: int, place: int) -> None:
        """After its facts, so that neither they nor the settling may stay: the books and the state are as before."""
        one, claim = self.claims()[place % len(self.claims())]
        broken = [*self.outcome(claim.effect), cast(f.Fact, object())]
        if one.held_by(claim):
            with pytest.raises(AttributeError):
                self.workers[worker].settle(claim, broken, "done", self.now)
        else:
            assert isinstance(self.workers[worker].settle(claim, broken, "done", self.now), Refused)

    @precondition(lambda self: self.claims())
    @rule(worker=WORKER, place=PLACE)
    def settle_and_be_cut_off(self, worker: int, place: int) -> None:
        """Before its first statement, its second, and so on to its commit, until it is done. It is settled with its
        facts, or neither: each time the books and the state are as before."""
        one, claim = self.claims()[place % len(self.claims())]
        for statement in count(1):
            with cut_off_before(self.workers[worker], statement) as cut:
                settled = self.workers[worker].settle(claim, self.outcome(claim.effect), "done", self.now)
            if not cut:
                break
            self.the_ledger_tells_what_the_model_knows()
        assert isinstance(settled, Recorded) == one.held_by(claim)
        if isinstance(settled, Recorded):
            one.settled, one.lease_until = True, None
        self.learn()

    def outcome(self, effect: Effect) -> list[f.Fact]:
        match effect:
            case LookUpAuthority():
                return [found(effect, self.now)]
            case DraftPlan():
                return [drafted(effect.version, self.now)]
            case _:
                return []

    @precondition(lambda self: self.claims())
    @rule(worker=WORKER, place=PLACE, seconds=SECONDS, failed=st.booleans())
    def give_back(self, worker: int, place: int, seconds: int, failed: bool) -> None:
        one, claim = self.claims()[place % len(self.claims())]
        mine, until = self.workers[worker], self.now + timedelta(seconds=seconds)
        given = (mine.retry if failed else mine.postpone)(claim, until, "why", self.now)
        assert (given is None) == one.held_by(claim)
        if given is None:
            one.fence, one.lease_until, one.available_at = one.fence + 1, None, until
            one.postponements += not failed

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(worker=WORKER)
    def the_label_is_set_again(self, worker: int) -> None:
        self.workers[worker].record(self.told.request.run, f.LabelledAgain(at=self.now, person=MIRA))
        self.learn()

    @rule(worker=WORKER, often=st.integers(0, 9))
    def the_issue_is_closed_at_times(self, worker: int, often: int) -> None:
        if often == 0:
            ended = f.IssueEnded(at=self.now, how="closed", person=MIRA)
            self.workers[worker].record(self.told.request.run, ended)
            self.learn()

    @invariant()
    def the_ledger_tells_what_the_model_knows(self) -> None:
        view = self.workers[1].run(self.told.request.run)
        assert view is not None
        assert view.state == self.state
        assert [one.seq for one in view.facts] == list(range(1, len(view.facts) + 1))
        for one in view.effects:
            known = self.known[one.id]
            books = (one.fence, one.attempts, one.postponements, one.lease_until, one.settled_at is not None)
            said = (known.fence, known.attempts, known.postponements, known.lease_until, known.settled)
            assert books == said
        for belt in Belt:
            due = {
                id for id, one in self.known.items() if belt_of(one.effect.kind) is belt and one.can_be_had(self.now)
            }
            assert set(self.workers[1].owed(belt, self.now, limit=10_000)) & self.known.keys() == due


@pytest.fixture
def workers(ledger: Ledger, ledger_url: str) -> Iterator[list[Ledger]]:
    with closing(open_ledger(ledger_url)) as beside:
        yield [ledger, beside]


@pytest.mark.timeout(900)
def test_whatever_two_workers_do_with_leases_there_is_one_holder_and_one_result(
    workers: list[Ledger], soak_seconds: float | None
) -> None:
    numbers, until = count(1), time.monotonic() + (soak_seconds or 0.0)
    few = settings(max_examples=12, stateful_step_count=25, suppress_health_check=list(HealthCheck))
    while True:
        run_state_machine_as_test(lambda: Leases(workers, next(numbers)), settings=few)
        # They act in turn: whoever waits for a lock waits for one that was left behind, such as by who was cut off.
        assert [one._database.tried_again for one in workers] == [Counter(), Counter()]
        if time.monotonic() >= until:
            return
