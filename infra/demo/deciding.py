"""What a trial's one person is asked next, and why there is no change; from the run alone, nothing is asked or done."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.effects import Purpose
from app.core.facts import AuthorityFound
from app.core.gate import approvals_needed
from app.core.policy import Policy
from app.core.run import Closed, NeedsInput, Proposed, Published, State
from app.ledger.outcomes import RunView


@dataclass(frozen=True, slots=True)
class Decide:
    """A plan is on offer, in this comment."""

    digest: str
    comment: int

    @property
    def key(self) -> str:
        return f"plan:{self.digest}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The planner asks the issue's author."""

    question: str
    version: int

    @property
    def key(self) -> str:
        return f"question:{self.version}"


@dataclass(frozen=True, slots=True)
class Over:
    """It ended, or one person alone does not bring it on."""


def next_act(view: RunView, done: Sequence[str]) -> Decide | Answer | Over | None:
    """What comes next, None while the product works. `done` are the keys of what was decided and answered."""
    state = view.state
    if isinstance(state, Closed | Published):
        return Over()
    if isinstance(state, NeedsInput):
        asked = Answer(state.question, state.last_version)
        return None if asked.key in done else asked
    if not isinstance(state, Proposed) or state.drafting or state.proposal.comment_id is None:
        return None
    offered = Decide(state.proposal.digest, state.proposal.comment_id)
    if offered.key not in done:
        return offered
    return Over() if _decisions(view) >= sum(key.startswith("plan:") for key in done) else None


def _decisions(view: RunView) -> int:
    """How often it was decided about an approval."""
    return sum(isinstance(one.fact, AuthorityFound) and one.fact.purpose is Purpose.APPROVE for one in view.facts)


def why_none(state: State | None) -> str:
    """Why there is no change, and what to do."""
    match state:
        case Closed():
            return f"{state.words} {state.remedy}".strip()
        case NeedsInput():
            return f"The planner asks: {state.question} Put the answer into the issue, or type it, and try again."
        case Proposed() if state.given:
            needed = max(approvals_needed(state.policy or Policy(), state.proposal.paths), len(state.given) + 1)
            return (
                f"The repository's own policy asks {needed} people to approve this plan, and here is one. "
                "`countersign policy` explains it; where everybody is, the App does it."
            )
        case Proposed():
            return "The repository's own policy does not let one maintainer approve it; `countersign policy` says why."
        case None:
            return "Nothing was approved, so nothing was carried out."
        case _:
            return "It did not come to an end."
