"""What GitHub said of a person's authority, and of what their word refers to: the fact that every decision rests on."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from app.core.effects import Purpose, SourceKind
from app.core.issue import Person
from app.core.owners import Owned
from app.core.plan import Sha256
from app.core.policy import Policy
from app.core.run import Part


class Found(StrEnum):
    """How a comment was found when it was read again."""

    AS_WRITTEN = "as_written"
    EDITED = "edited"
    DELETED = "deleted"
    HIDDEN = "hidden"
    NOT_LOOKED_FOR = "not_looked_for"


class AuthorityFound(Part):
    """What GitHub said, at this moment, about a person and about what they refer to."""

    at: datetime
    kind: Literal["authority_found"] = "authority_found"
    purpose: Purpose
    person: Person
    permission: str
    """`admin`, `write`, `read` or `none`, as the permission endpoint names it; `none` for who is not a user."""
    role_name: str
    policy: Policy | None
    """The policy read from the default branch; None when it could not be believed."""
    policy_problem: str = ""
    source: SourceKind
    source_id: int
    source_found: Found
    source_digest: str = ""
    said_at: datetime | None = None
    """When the comment was written or the thumb given, by GitHub's clock; None for a label."""
    shown_at: datetime | None = None
    """When the plan comment was written, by the same clock."""
    argument: str = ""
    issue_digest: Sha256
    plan_version: int | None = None
    plan_comment: Found = Found.NOT_LOOKED_FOR
    teams: tuple[str, ...] = ()
    """Those of the teams that the policy and the code owners name, of which this person is a member now."""
    teams_unread: tuple[str, ...] = ()
    """Those of them of which GitHub did not let us know."""
    owners: tuple[Owned, ...] = ()
    """The paths of the plan that have code owners, by the file on the default branch."""
    owners_problem: str = ""
    """Why the code owners could not be read; empty where they were, or where there is no such file."""
    label_words: tuple[str, ...] = ()
    """What stands behind the colon of each trigger label that the issue carries now; empty for the bare one."""
    paths_moved: tuple[str, ...] = ()
    """Those of the plan's paths that changed on its branch since its base commit."""
    moved_problem: str = ""
    """Why it is not known which of them did; empty where it is."""
