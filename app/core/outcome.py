"""What became of the pull request of a run: read back from GitHub when it has ended, and decided from facts. Pure."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Literal

from app.core.issue import Person
from app.core.plan import CommitId
from app.core.run import Closed, ClosedReason, Part, State

MOST_COMMITS = 250
"""So many commits of a pull request GitHub lists
(https://docs.github.com/en/rest/pulls/pulls#list-commits-on-a-pull-request)."""


class BranchCommit(Part):
    """A commit of a pull request."""

    id: CommitId
    author: Person | None
    """None where GitHub knows no account for it."""
    merge: bool
    """Whether it brings in another branch, as the button that updates a branch does."""

    def by_hand(self) -> bool:
        """True for a change of a person's; neither an App's commits nor merges are that."""
        return not self.merge and not (self.author is not None and self.author.is_bot)


class PullRequestRead(Part):
    """The commits of the pull request were read when it had ended."""

    at: datetime
    kind: Literal["pull_request_read"] = "pull_request_read"
    number: int
    commits: tuple[BranchCommit, ...]
    """The oldest first, `MOST_COMMITS` at the most."""


class Outcome(StrEnum):
    """What people made of a pull request."""

    MERGED = "merged"
    CHANGED = "changed by hand"
    """Merged, with commits of people's beside ours."""
    CLOSED = "closed"


def outcome_of(state: State, told: Iterable[object]) -> Outcome | None:
    """What became of the pull request of a run that stands so, by its facts; None where there was none or it is open.

    One whose commits could not be read counts as merged as it was. An amended commit of ours keeps its author, and does
    not show.
    """
    if not isinstance(state, Closed) or not ended(state):
        return None
    if state.reason is ClosedReason.PULL_REQUEST_CLOSED:
        return Outcome.CLOSED
    read = [fact for fact in told if isinstance(fact, PullRequestRead)]
    changed = bool(read) and any(one.by_hand() for one in read[-1].commits)
    return Outcome.CHANGED if changed else Outcome.MERGED


def ended(state: Closed) -> bool:
    """Whether the end of its pull request is what ended the run."""
    return state.pull is not None and state.reason in (ClosedReason.MERGED, ClosedReason.PULL_REQUEST_CLOSED)
