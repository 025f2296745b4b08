"""What the ledger answers: values, so that no caller sees a row."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from app.core.belts import Belt
from app.core.effects import Effect
from app.core.facts import Fact
from app.core.gap import Gap
from app.core.issue import Person
from app.core.run import State


@dataclass(frozen=True, slots=True)
class Ring:
    """An effect that is owed now: ring its belt after the commit."""

    belt: Belt
    effect_id: int


@dataclass(frozen=True, slots=True)
class Received:
    """A delivery was taken. `new` is false for one that was taken before; then nothing else happened."""

    new: bool
    runs: tuple[str, ...] = ()
    """The runs in which a fact was recorded."""
    outcome: str = ""
    rings: tuple[Ring, ...] = ()


@dataclass(frozen=True, slots=True)
class Recorded:
    """The change is in the ledger, for good."""

    rings: tuple[Ring, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to do one effect until `lease_until`. Only the newest claim of an effect can settle it."""

    effect_id: int
    run: str
    effect: Effect
    state: State
    """The run's state in the moment of the claim."""
    fence: int
    attempts: int
    """Claims so far, this one among them."""
    postponements: int
    """How many of the earlier ones ended in waiting for something outside."""
    lease_until: datetime


@dataclass(frozen=True, slots=True)
class FactView:
    """A fact in its place."""

    seq: int
    fact: Fact
    delivery: str | None
    """Guid of the delivery that told it, if one did."""


@dataclass(frozen=True, slots=True)
class EffectView:
    """An effect with its bookkeeping."""

    id: int
    effect: Effect
    belt: Belt
    owed_since: datetime
    available_at: datetime | None
    fence: int
    attempts: int
    postponements: int
    lease_until: datetime | None
    settled_at: datetime | None
    outcome: str
    """What came of it; while it is unsettled, why it waits."""


@dataclass(frozen=True, slots=True)
class RunView:
    """A run with everything that was recorded of it."""

    id: str
    state: State
    facts: tuple[FactView, ...]
    effects: tuple[EffectView, ...]
    opened_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of the list of runs."""

    id: str
    repository_id: int
    repository: str
    """Today's name where it is known, else the name when the label was set."""
    issue_number: int
    issue_title: str
    state: str
    open: bool
    pull_number: int | None
    opened_at: datetime
    updated_at: datetime
    deadline: datetime | None = None
    """When what it waits for is over; None where it waits for nobody, or without an end."""


class Part(StrEnum):
    """The parts into which runs fall for who looks at them."""

    WAITING = "waiting"
    """Open, and the next word is a person's."""
    RUNNING = "running"
    """Open, and the next step is ours."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Sought:
    """Which runs are looked for; nothing set means every run."""

    part: Part | None = None
    state: str = ""
    repository: int | None = None
    within: frozenset[int] | None = None
    """Ids of the repositories that may be seen at all; None where all may."""


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that has not ended, and where its issue is today."""

    run: str
    installation_id: int
    repository_id: int
    repository: str


@dataclass(frozen=True, slots=True)
class DebtView:
    """An effect that is not settled."""

    effect_id: int
    run: str
    key: str
    kind: str
    belt: Belt
    available_at: datetime | None
    attempts: int
    lease_until: datetime | None
    why: str
    """Why it waits, if it was postponed."""


@dataclass(frozen=True, slots=True)
class WaitingProposal:
    """A plan comment on which a thumb would count. `seen_reactions` were asked about for this version."""

    run: str
    installation_id: int
    repository_id: int
    repository: str
    comment_id: int
    comment_node_id: str
    version: int
    seen_reactions: frozenset[int]
    told: int
    """How many facts its run has: more of them, and something happened."""
    stirred_at: datetime | None
    """When something last happened on its issue that is no fact of the run."""


@dataclass(frozen=True, slots=True)
class StandingThumb:
    """A 👍 by which a plan was approved that is being carried out. It must still be on the plan's comment."""

    run: str
    installation_id: int
    repository_id: int
    repository: str
    comment_node_id: str
    reaction_id: int
    person: Person
    plan_digest: str


Watched = WaitingProposal | StandingThumb
"""A plan comment whose thumbs count now."""


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """A delivery and what came of it."""

    guid: str
    event: str
    action: str
    received_at: datetime
    outcome: str
    size: int
    """Bytes of its body."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A round that this process holds: how far the last one came, and how many failed one after another."""

    name: str
    position: dict[str, Any]
    failures: int


@dataclass(frozen=True, slots=True)
class RoundView:
    """How a round stands: when the next is due (of one under way: when it is given up), how many failed one after
    another, and why the last one did; empty where it did not."""

    due_at: datetime
    failures: int
    trouble: str


@dataclass(frozen=True, slots=True)
class UnheardPlace:
    """A repository in which labels may have been set in a gap, of which nothing was delivered."""

    installation_id: int
    repository_id: int
    repository: str
    gap: Gap


@dataclass(frozen=True, slots=True)
class MissedView:
    """A delivery that did not arrive; `attempt_id` is the newest attempt, by which it is asked for."""

    guid: str
    attempt_id: int
    event: str
    action: str
    asked: int
    """How often it was asked for."""
