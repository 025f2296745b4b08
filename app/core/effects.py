"""Effects: what we owe the world. Each has a key, unique in its run, so that nothing is owed twice."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from app.core.belts import EffectKind
from app.core.issue import Person
from app.core.plan import Sha256
from app.core.run import Part
from app.core.split import Split


class Purpose(StrEnum):
    """What a person's authority is asked for."""

    LABEL = "label"
    APPROVE = "approve"
    REJECT = "reject"
    REVISE = "revise"
    CANCEL = "cancel"
    DROP = "drop"
    """A step's tick was taken off in the plan comment."""
    ANSWER = "answer"
    REFRESH = "refresh"
    RETRY = "retry"


class SourceKind(StrEnum):
    """Where a person's word stands."""

    LABEL = "label"
    COMMENT = "comment"
    REACTION = "reaction"
    BOXES = "boxes"
    """The boxes of the plan comment: what is ticked now is what counts."""


class Slot(StrEnum):
    """The kinds of comment we write. There is one status comment per run, edited in place."""

    STATUS = "status"
    PLAN = "plan"
    SPLIT = "split"
    REPLY = "reply"
    REPORT = "report"


class _Effect(Part):
    key: Annotated[str, Field(min_length=1, max_length=200)]


class LookUpAuthority(_Effect):
    """Ask GitHub what this person may do here, and whether what they refer to still stands."""

    kind: Literal[EffectKind.LOOK_UP_AUTHORITY] = EffectKind.LOOK_UP_AUTHORITY
    purpose: Purpose
    person: Person
    source: SourceKind
    source_id: int
    source_digest: str = ""
    argument: str = ""
    plan_version: int | None = None
    """The plan that stood as a comment when the word was given; None where none did."""


class Narrow(Part):
    """Which steps of a version stay: those of `keep`, or all but those of `drop`; one of the two is given."""

    version: int
    keep: tuple[int, ...] = ()
    drop: tuple[int, ...] = ()


class DraftPlan(_Effect):
    """Investigate and make the plan with this version number; or make it of an earlier one by code."""

    kind: Literal[EffectKind.DRAFT_PLAN] = EffectKind.DRAFT_PLAN
    version: int
    wish: str = ""
    """What the maintainer who asked for a revision wrote; data, not orders."""
    narrow: Narrow | None = None
    """The version of which some steps stay; no model has a part in it then."""


class StatusSaying(Part):
    """Where the run stands: rendered from its state when it is said."""

    slot: Literal[Slot.STATUS] = Slot.STATUS


class PlanSaying(Part):
    """A plan version, as a comment of its own."""

    slot: Literal[Slot.PLAN] = Slot.PLAN
    version: int


class SplitSaying(Part):
    """How an issue that is too much for one plan could be cut, as texts to copy."""

    slot: Literal[Slot.SPLIT] = Slot.SPLIT
    version: int
    """The plan version in whose place it stands."""
    split: Split


class ReportSaying(Part):
    """What came of a plan that answers questions, kept under this reference."""

    slot: Literal[Slot.REPORT] = Slot.REPORT
    findings_ref: Sha256


class ReplyTopic(StrEnum):
    """What a short reply is about."""

    REFUSED = "refused"
    UNCLEAR = "unclear"
    HELP = "help"
    WHY = "why"
    NOTE = "note"
    QUESTION = "question"
    VOIDED = "voided"


class ReplySaying(Part):
    """A short reply to one person, or to everybody."""

    slot: Literal[Slot.REPLY] = Slot.REPLY
    topic: ReplyTopic
    to: Person | None = None
    reason: str = ""
    remedy: str = ""


Saying = Annotated[StatusSaying | PlanSaying | SplitSaying | ReplySaying | ReportSaying, Field(discriminator="slot")]


class Say(_Effect):
    """Say something on the issue, once."""

    kind: Literal[EffectKind.SAY] = EffectKind.SAY
    saying: Saying


class React(_Effect):
    """Show with an emoji that a comment was read."""

    kind: Literal[EffectKind.REACT] = EffectKind.REACT
    comment_id: int
    content: Literal["eyes", "+1", "-1", "confused", "rocket"]


class Execute(_Effect):
    """Carry out the approved plan in the box."""

    kind: Literal[EffectKind.EXECUTE] = EffectKind.EXECUTE
    plan_digest: Sha256


class OpenDraft(_Effect):
    """Write the branch and open the draft pull request."""

    kind: Literal[EffectKind.OPEN_DRAFT] = EffectKind.OPEN_DRAFT
    plan_digest: Sha256


class StageDraft(_Effect):
    """Put together what would be written, and write nothing: the run is staged."""

    kind: Literal[EffectKind.STAGE_DRAFT] = EffectKind.STAGE_DRAFT
    plan_digest: Sha256


class FindDraft(_Effect):
    """Look for what an attempt to open a draft may have left on GitHub, and write nothing."""

    kind: Literal[EffectKind.FIND_DRAFT] = EffectKind.FIND_DRAFT
    plan_digest: Sha256


Effect = Annotated[
    LookUpAuthority | DraftPlan | Say | React | Execute | OpenDraft | StageDraft | FindDraft,
    Field(discriminator="kind"),
]

EFFECTS: TypeAdapter[Effect] = TypeAdapter(Effect)
"""Reads and writes any effect."""
