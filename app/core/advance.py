"""The one transition table: what a fact makes of a run's state, and what we then owe. Loading is replaying.

`TRANSITIONS` lists every legal pair of state and fact. A pair that is not listed is refused with a sentence
that names both; its fact is not recorded.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.core import allowance, asking, dropping, finding, going_on, staging, working
from app.core.effects import Effect
from app.core.facts import (
    AmendmentProposed,
    Answered,
    ApprovalVoided,
    AuthorityFound,
    CommandGiven,
    CommandUnclear,
    DraftFound,
    DraftOpened,
    DraftStaged,
    DraftUnsettled,
    EffectAbandoned,
    ExecutionFailed,
    ExecutionHeld,
    Expired,
    Fact,
    Happened,
    InputNeeded,
    IssueChanged,
    IssueEnded,
    Labelled,
    LabelledAgain,
    LabelRemoved,
    PlanCommentChanged,
    PlanDrafted,
    PlanNotPossible,
    PublishFailed,
    PullRequestEnded,
    PullRequestRead,
    QuestionsAnswered,
    RepairKept,
    RepositoryEnded,
    Said,
    SplitProposed,
    Stalled,
    StepKept,
    StepsDone,
    ThumbSeen,
)
from app.core.move import Move, Stay
from app.core.run import Approved, Built, Closed, NeedsInput, Proposed, Published, Reporting, State, Wanted
from app.core.verdict import Refused


@dataclass(frozen=True, slots=True)
class Advanced:
    """The fact counts: the state after it, and what is owed because of it."""

    state: State
    effects: tuple[Effect, ...] = ()


_OPEN = (Wanted, NeedsInput, Proposed, Approved, Built, Reporting, Published)
_UNWRITTEN = (Wanted, NeedsInput, Proposed, Approved, Built, Reporting)
_ANY = (*_OPEN, Closed)
_NOT_BUILT = (Wanted, NeedsInput, Proposed, Approved, Reporting, Published, Closed)

Transition = Callable[[Any, Any], Move | Stay]


def _table() -> Mapping[tuple[type, type], Transition]:
    rows: list[tuple[tuple[type, ...], type, Transition]] = [
        ((Wanted, Proposed), AuthorityFound, asking.authority_found),
        ((NeedsInput, Approved, Built, Reporting, Published, Closed), AuthorityFound, asking.authority_found),
        (_OPEN, LabelledAgain, asking.labelled_again),
        (_UNWRITTEN, LabelRemoved, asking.label_removed),
        ((Wanted, NeedsInput), IssueChanged, working.issue_changed_early),
        ((Proposed,), IssueChanged, working.issue_changed_under_offer),
        ((Approved,), IssueChanged, working.issue_changed_after_approval),
        (_UNWRITTEN, IssueEnded, working.issue_ended),
        (_OPEN, RepositoryEnded, working.repository_ended),
        (_ANY, CommandGiven, asking.command_given),
        (_OPEN, CommandUnclear, asking.command_unclear),
        ((Proposed,), ThumbSeen, asking.thumb_seen),
        ((Proposed,), PlanCommentChanged, dropping.plan_comment_changed),
        ((Approved,), PlanCommentChanged, dropping.approved_comment_changed),
        ((NeedsInput,), Answered, asking.answered),
        ((Wanted, Proposed), PlanDrafted, working.plan_drafted),
        ((Wanted,), PlanNotPossible, working.plan_not_possible),
        ((Proposed,), PlanNotPossible, working.revision_not_possible),
        ((Wanted,), SplitProposed, working.split_proposed),
        ((Proposed,), SplitProposed, working.revision_too_large),
        ((Wanted, Proposed), InputNeeded, working.input_needed),
        (_ANY, Said, working.said),
        ((Approved,), StepKept, going_on.step_kept),
        ((Approved,), RepairKept, going_on.repair_kept),
        ((Approved,), AmendmentProposed, going_on.amendment_proposed),
        ((Approved,), StepsDone, working.steps_done),
        ((Approved,), QuestionsAnswered, working.questions_answered),
        ((Approved,), ExecutionFailed, working.execution_failed),
        ((Approved,), ExecutionHeld, working.execution_held),
        ((Approved, Built), ApprovalVoided, working.approval_voided),
        ((Built,), DraftOpened, working.draft_opened),
        (_NOT_BUILT, DraftOpened, finding.draft_opened_late),
        (_ANY, DraftUnsettled, finding.draft_unsettled),
        (_ANY, DraftFound, finding.draft_found),
        ((Built,), DraftStaged, staging.draft_staged),
        ((Built,), PublishFailed, working.publish_failed),
        ((Published,), PullRequestEnded, working.pull_request_ended),
        ((Closed,), PullRequestRead, working.pull_request_read),
        ((Wanted, NeedsInput, Proposed, Approved, Built), Expired, working.expired),
        ((Wanted, Proposed, Approved, Built, Reporting), Stalled, working.stalled),
        (_ANY, EffectAbandoned, working.effect_abandoned),
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
            return _advanced(asking.opened(fact))
        return Refused(f"A run begins with a label, not with {fact.kind}.")
    if _is_of_before(state, fact):
        return Refused("It happened before the label was set for this run.")
    transition = TRANSITIONS.get((type(state), type(fact)))
    if transition is None:
        return Refused(f"A run that is {state.name} has no use for {fact.kind}.")
    outcome = transition(state, fact)
    if isinstance(outcome, Stay):
        return Refused(outcome.because)
    failed = allowance.counted(state.failed, fact, outcome.effects)
    if failed != outcome.state.failed:
        return Advanced(outcome.state.model_copy(update={"failed": failed}), outcome.effects)
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


def _is_of_before(state: State, fact: Fact) -> bool:
    """Deliveries come late and in any order (github-facts 23, 24): an earlier run's news are none of this one's."""
    since = state.request.labelled_at
    happened = fact.happened_at if isinstance(fact, Happened) else None
    return happened is not None and since is not None and happened < since


def _advanced(move: Move) -> Advanced:
    return Advanced(move.state, move.effects)
