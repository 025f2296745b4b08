"""Runs at a glance: how each ended or why it waits, and what it cost; remembered while nothing new is told of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from threading import Lock

from app.core.facts import (
    DraftOpened,
    Fact,
    PullRequestEnded,
    Said,
)
from app.core.run import Approved, Built, Closed, Published, Reporting, State
from app.core.waiting import Wait, wait_of
from app.ledger.outcomes import RunSummary
from app.ledger.store import Ledger

MOST_REMEMBERED = 5_000
"""Some hundred bytes each."""


@dataclass(frozen=True, slots=True)
class Glance:
    """One run in few words and numbers."""

    run: str
    reason: str
    """Why it ended; empty while it goes on."""
    wait: Wait
    usd: Decimal
    unpriced_calls: int
    approved: bool
    opened_at: datetime
    offered_at: datetime | None
    """When its first plan stood as a comment."""
    approved_at: datetime | None
    published_at: datetime | None
    merged: bool

    def to_approval(self) -> timedelta | None:
        """How long the plan waited for its approval."""
        if self.offered_at is None or self.approved_at is None:
            return None
        return max(self.approved_at - self.offered_at, timedelta())


class Glances:
    """Glances by run. A run is read again when more facts of it are there. Safe to share between threads."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = Lock()
        self._known: dict[str, tuple[int, Glance]] = {}

    def of(self, wanted: Iterable[str]) -> dict[str, Glance]:
        """The glances of these runs."""
        lengths = self._ledger.lengths(wanted)
        with self._lock:
            found = {run: self._known[run][1] for run, size in lengths.items() if self._known.get(run, (0,))[0] == size}
        missing = [run for run in lengths if run not in found]
        made = {
            run: (len(told), glance_at(run, told, state))
            for run, (told, state) in self._ledger.histories(missing).items()
        }
        with self._lock:
            if len(self._known) + len(made) > MOST_REMEMBERED:
                self._known.clear()
            self._known.update(made)
        return found | {run: glance for run, (_, glance) in made.items()}

    def beside(self, summaries: Sequence[RunSummary]) -> list[tuple[RunSummary, Glance]]:
        """Each line of a list with its glance."""
        found = self.of(one.id for one in summaries)
        return [(one, found[one.id]) for one in summaries if one.id in found]


def glance_at(run: str, told: Sequence[Fact], state: State) -> Glance:
    """The glance of a run with these facts, which is in this state."""
    said = (fact.at for fact in told if isinstance(fact, Said) and fact.plan_version is not None)
    approval = approval_of(state)
    published = next((fact.at for fact in told if isinstance(fact, DraftOpened)), None)
    return Glance(
        run=run,
        reason=state.reason.value if isinstance(state, Closed) else "",
        wait=wait_of(state),
        usd=state.spent.usd,
        unpriced_calls=state.spent.unpriced_calls,
        approved=approval is not None,
        opened_at=told[0].at,
        offered_at=next(said, None),
        approved_at=approval[1] if approval else None,
        published_at=published,
        merged=any(isinstance(fact, PullRequestEnded) and fact.merged for fact in told),
    )


def approval_of(state: State) -> tuple[int, datetime] | None:
    """Version and moment of the approval that decided; None where there is none."""
    match state:
        case Approved() | Built() | Reporting() | Published():
            return state.approval.plan_version, state.approval.approved_at
        case Closed() if state.approvals:
            return state.approvals[-1].plan_version, state.approvals[-1].approved_at
        case _:
            return None
