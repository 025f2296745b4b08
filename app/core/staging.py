"""The moves of a staged run: it ends when what would have been written is kept, and is taken up again to be written."""

from app.core import facts as f
from app.core.move import Move, Stay, closed
from app.core.policy import POLICY_PATH, Policy
from app.core.run import Built, ClosedReason
from app.core.verdict import Refused

LIVE = (
    f"To have it written, set `mode: live` in `{POLICY_PATH}` on the default branch (or have the operator of this "
    "installation take `staged` off its bounds)."
)
"""What to change where a run is staged."""


def draft_staged(state: Built, fact: f.DraftStaged) -> Move | Stay:
    """The run ends; the work stays, so that it can be written once the policy lets it."""
    if fact.plan_digest != state.proposal.digest:
        return Stay("It was put together of another plan.")
    words = Refused(
        "The run was staged (`mode: staged`): nothing was written to the repository. Its page and "
        f"`countersign show {state.request.run}` show what would have been: branch, commit messages, title and text of "
        "the draft, and the difference.",
        LIVE,
    )
    return closed(state, ClosedReason.STAGED, words, staged_ref=fact.staged_ref)


def still_staged(policy: Policy | None) -> Refused | None:
    """Why what was staged is not written now; None where the policy of now lets it be."""
    if policy is None or not policy.staged:
        return None
    return Refused("The policy still says `mode: staged`, so nothing is written.", LIVE)
