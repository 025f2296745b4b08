"""How opening a draft ends but for well: it fails, or whoever opened it died over it or never heard the answer."""

from datetime import datetime
from typing import Literal

from app.core.plan import Sha256
from app.core.run import Part, PullRequest


class DraftUnsettled(Part):
    """Opening a draft was begun and is given up, and how far it came is not known."""

    at: datetime
    kind: Literal["draft_unsettled"] = "draft_unsettled"
    plan_digest: Sha256
    key: str
    """Of the effect."""


class DraftFound(Part):
    """What such an attempt left on GitHub was found: its branch, and the pull request from it where there is one."""

    at: datetime
    kind: Literal["draft_found"] = "draft_found"
    plan_digest: Sha256
    branch: str
    pull: PullRequest | None


class PublishFailed(Part):
    """The pull request could not be opened, and trying again would not help."""

    at: datetime
    kind: Literal["publish_failed"] = "publish_failed"
    plan_digest: Sha256
    reason: str
    remedy: str = ""
    branch: str = ""
    """The branch that holds the work, where one was made all the same."""
