"""The one transition table: what a fact makes of a run's state, and what we then owe. Loading is replaying.

`TRANSITIONS` lists every legal pair of state and fact. A pair that is not listed is refused with a sentence
that names both; its fact is not recorded.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.core import moves
from app.core.effects import Effect
from app.core.facts import (
    Answered,
    ApprovalVoided,
    AuthorityFound,
    CommandGiven,
    CommandUnclear,
    DraftOpened,
    EffectAbandoned,
    ExecutionFailed,
    ExecutionHeld,
    Expired,
    Fact,
    InputNeeded,
    IssueChanged,
    IssueEnded,
    Labelled,
    LabelledAgain,
    LabelRemoved,
    PlanDrafted,
    PlanNotPossible,
    PublishFailed,
    PullRequestEnded,
    RepositoryEnded,
    Said,
    StepsDone,
    ThumbSeen,
)
from app.core.moves import Move, Stay
from app.core.run import Approved, Built, Closed, NeedsInput, Proposed, Published, State, Wanted
from app.core.verdict import Refused


@dataclass(frozen=True, slots=True)
class Advanced:
    """The fact counts: the state after it, and what is owed because of it."""

    state: State
    effects: tuple[Effect, ...] = ()


_OPEN = (Wanted, NeedsInput, Proposed, Approved, Built, Published)
_UNWRITTEN = (Wanted, NeedsInput, Proposed, Approved, Built)
_ANY = (*_OPEN, Closed)

Transition = Callable[[Any, Any], Move | Stay]


def _table() -> Mapping[tuple[type, type], Transition]:
    rows: list[tuple[tuple[type, ...], type, Transition]] = [
        ((Wanted, Proposed), AuthorityFound, moves.authority_found),
        ((NeedsInput, Approved, Built, Published), AuthorityFound, moves.authority_found),
        (_OPEN, LabelledAgain, moves.labelled_again),
        (_UNWRITTEN, LabelRemoved, moves.label_removed),
        ((Wanted, NeedsInput), IssueChanged, moves.issue_changed_early),
        ((Proposed,), IssueChanged, moves.issue_changed_under_offer),
        ((Approved,), IssueChanged, moves.issue_changed_after_approval),
        (_UNWRITTEN, IssueEnded, moves.issue_ended),
        (_OPEN, RepositoryEnded, moves.repository_ended),
        (_ANY, CommandGiven, moves.command_given),
        (_OPEN, CommandUnclear, moves.command_unclear),
        ((Proposed,), ThumbSeen, moves.thumb_seen),
        ((NeedsInput,), Answered, moves.answered),
        ((Wanted, Proposed), PlanDrafted, moves.plan_drafted),
        ((Wanted,), PlanNotPossible, moves.plan_not_possible),
        ((Proposed,), PlanNotPossible, moves.revision_not_possible),
        ((Wanted, Proposed), InputNeeded, moves.input_needed),
        (_ANY, Said, moves.said),
        ((Approved,), StepsDone, moves.steps_done),
        ((Approved,), ExecutionFailed, moves.execution_failed),
        ((Approved,), ExecutionHeld, moves.execution_held),
        ((Approved, Built), ApprovalVoided, moves.approval_voided),
        ((Built,), DraftOpened, moves.draft_opened),
        ((Closed, Proposed), DraftOpened, moves.draft_opened_late),
        ((Built,), PublishFailed, moves.publish_failed),
        ((Published,), PullRequestEnded, moves.pull_request_ended),
        ((Wanted, NeedsInput, Proposed, Approved, Built), Expired, moves.expired),
        (_ANY, EffectAbandoned, moves.effect_abandoned),
    ]
    table: dict[tuple[type, type], Transition] = {}
    for states, fact, transition in rows:
        for state in states:
            if (state, fact) in table:
                raise AssertionError(f"two rows for {state.__name__} and {fact.__name__}")
            table[state, fact] = transition
    return table


TRANSITIONS: Mapping[tuple[type, type], Transition] = _table()


def advance(state: State | None, fact: Fact) -> Advanced | Refused:
    """What `fact` makes of `state`; None is the run that is not there yet. Pure: no clock, no chance, no I/O."""
    if state is None:
        if isinstance(fact, Labelled):
            return _advanced(moves.opened(fact))
        return Refused(f"A run begins with a label, not with {fact.kind}.")
    transition = TRANSITIONS.get((type(state), type(fact)))
    if transition is None:
        return Refused(f"A run that is {state.name} has no use for {fact.kind}.")
    outcome = transition(state, fact)
    if isinstance(outcome, Stay):
        return Refused(outcome.because)
    return _advanced(outcome)


def replay(facts: Iterable[Fact]) -> State | None:
    """The state after all these facts. Raises ValueError where the log holds a fact that does not follow."""
    state: State | None = None
    for fact in facts:
        outcome = advance(state, fact)
        if isinstance(outcome, Refused):
            raise ValueError(f"the log does not follow: {outcome}")
        state = outcome.state
    return state


def _advanced(move: Move) -> Advanced:
    return Advanced(move.state, move.effects)
