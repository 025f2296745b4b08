"""A staged run: everything is done but the last write, and what would have been written is kept to be shown."""

from datetime import datetime
from typing import Literal

from app.core.plan import CommitId, Sha256
from app.core.run import Part


class Staged(Part):
    """What would have been written to GitHub, by code and by the rules of the branch as they were read then."""

    branch: str
    """The first of our names that was free."""
    base_branch: str
    base_commit: CommitId
    messages: tuple[str, ...]
    """Of each commit, the oldest first."""
    title: str
    body: str
    """Of the draft pull request."""
    diff_ref: Sha256
    """The whole difference, for `git apply` on the base commit."""
    obstacles: tuple[str, ...] = ()
    """The branch's rules that would refuse it, as far as they can be told."""


class DraftStaged(Part):
    """What would have been written was put together and kept, and nothing was written, as the policy says."""

    at: datetime
    kind: Literal["draft_staged"] = "draft_staged"
    plan_digest: Sha256
    staged_ref: Sha256
