"""Facts: what happened to a run. Typed, recorded in order, never changed; time enters with them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from app.core.budget import Spent
from app.core.effects import Slot
from app.core.found import AuthorityFound as AuthorityFound  # noqa: PLC0414 (every fact is named here)
from app.core.found import Found as Found  # noqa: PLC0414
from app.core.issue import Person
from app.core.outcome import PullRequestRead as PullRequestRead  # noqa: PLC0414
from app.core.plan import CommitId, RepoPath, Sha256, TemplatePin
from app.core.run import KeptRepair, KeptStep, Part, PlanPart, PullRequest, Request, StallCode
from app.core.split import Split
from app.core.staged import DraftStaged as DraftStaged  # noqa: PLC0414
from app.core.unsettled import DraftFound as DraftFound  # noqa: PLC0414
from app.core.unsettled import DraftUnsettled as DraftUnsettled  # noqa: PLC0414
from app.core.unsettled import PublishFailed as PublishFailed  # noqa: PLC0414
from app.core.verb import Verb


class _Fact(Part):
    at: datetime


class Happened(_Fact):
    """What people did on an issue, as a delivery told it, or our own looking."""

    happened_at: datetime | None = None
    """When, by GitHub's clock, where that was said: deliveries come late and in any order."""


class Labelled(Happened):
    """Somebody set the trigger label; this opens a run."""

    kind: Literal["labelled"] = "labelled"
    request: Request


class LabelledAgain(Happened):
    """The trigger label was set once more while a run was open."""

    kind: Literal["labelled_again"] = "labelled_again"
    person: Person | None


class LabelRemoved(Happened):
    """The trigger label was taken off the issue, or deleted from the repository."""

    kind: Literal["label_removed"] = "label_removed"
    person: Person | None
    deleted: bool = False
    """Whether the label itself was deleted or archived, and not only taken off the issue."""
    label: str = ""
    """Which label, by the name by which it triggers, where that was said of the whole repository."""
    label_id: int | None = None


class IssueChanged(Happened):
    """Title or description of the issue were edited."""

    kind: Literal["issue_changed"] = "issue_changed"
    issue_digest: Sha256
    person: Person | None


class IssueEnd(StrEnum):
    """How an issue stopped being one to work on."""

    CLOSED = "closed"
    DELETED = "deleted"
    TRANSFERRED = "transferred"


class IssueEnded(Happened):
    """The issue was closed, deleted or moved away."""

    kind: Literal["issue_ended"] = "issue_ended"
    how: IssueEnd
    person: Person | None


class RepositoryEnded(_Fact):
    """The repository or the installation is out of our reach for good."""

    kind: Literal["repository_ended"] = "repository_ended"
    how: str


class CommandGiven(Happened):
    """A person gave a command in a comment. It proves nothing before authority is found."""

    kind: Literal["command_given"] = "command_given"
    verb: Verb
    argument: str = ""
    comment_id: int
    comment_digest: Sha256
    person: Person


class CommandUnclear(Happened):
    """A comment that is almost a command, or several at once."""

    kind: Literal["command_unclear"] = "command_unclear"
    written: str
    meant: str
    comment_id: int
    person: Person


class ThumbSeen(_Fact):
    """A 👍 stands on the plan comment. It proves nothing before authority is found (github-facts 45)."""

    kind: Literal["thumb_seen"] = "thumb_seen"
    reaction_id: int
    comment_id: int
    person: Person
    created_at: datetime


class PlanCommentChanged(_Fact):
    """Somebody edited or deleted a comment of ours that shows a plan. It proves nothing before authority is found."""

    kind: Literal["plan_comment_changed"] = "plan_comment_changed"
    comment_id: int
    node_id: str
    person: Person
    whole: str = ""
    """Digest of its text with every step's box ticked, as it was posted; empty where it was deleted."""
    unticked: tuple[int, ...] = ()
    """The steps whose box is not ticked."""


class Answered(Happened):
    """The issue's author wrote a comment while the planner waits for an answer."""

    kind: Literal["answered"] = "answered"
    comment_id: int
    person: Person


class PlanDrafted(_Fact):
    """The planner made a plan that parses, cites real lines and stays inside policy."""

    kind: Literal["plan_drafted"] = "plan_drafted"
    version: int
    digest: Sha256
    base_branch: str
    base_commit: CommitId
    issue_digest: Sha256
    expires_at: datetime
    spent: Spent
    notices: tuple[str, ...] = ()
    """What the approver should know about the input: hidden text that was removed, a moved base, and so on."""
    template: TemplatePin | None = None
    """By which template it was planned; so it is for the other two ends of planning."""
    case_ref: Sha256 | None = None
    """The planner's case file behind it, with which a revision goes on."""
    paths: tuple[RepoPath, ...] | None = None
    """Every path that its steps name; None where that was not recorded."""
    narrowed: int | None = None
    """The version of which code dropped steps, where it was made so."""


class PlanNotPossible(_Fact):
    """The planner ended without a plan, for a reason that is said on the issue."""

    kind: Literal["plan_not_possible"] = "plan_not_possible"
    version: int
    reason: str
    remedy: str = ""
    stale: bool = False
    spent: Spent = Spent()
    template: TemplatePin | None = None


class SplitProposed(_Fact):
    """The planner found that the issue is too much for one plan, and how it could be cut. Nothing is opened."""

    kind: Literal["split_proposed"] = "split_proposed"
    version: int
    split: Split
    spent: Spent
    template: TemplatePin | None = None


class InputNeeded(_Fact):
    """The planner needs to know something that only the issue's author can say."""

    kind: Literal["input_needed"] = "input_needed"
    version: int
    question: str
    spent: Spent
    template: TemplatePin | None = None
    case_ref: Sha256 | None = None


class Said(_Fact):
    """A comment of ours stands on the issue."""

    kind: Literal["said"] = "said"
    slot: Slot
    plan_version: int | None = None
    comment_id: int
    node_id: str
    comment_digest: Sha256
    further_parts: tuple[PlanPart, ...] = ()


class StepKept(_Fact):
    """The executor carried out one step and code verified it: whoever goes on does not do it again."""

    kind: Literal["step_kept"] = "step_kept"
    plan_digest: Sha256
    execution: str
    """Key of the effect under which it was done: of this approval, and of no other."""
    kept: KeptStep
    spent: Spent = Spent()
    """Since the step before it was kept, earlier attempts at this one included."""


class RepairKept(_Fact):
    """The executor mended what the checks or the reviewer found: whoever goes on does so behind that repair."""

    kind: Literal["repair_kept"] = "repair_kept"
    plan_digest: Sha256
    execution: str
    """As of a kept step."""
    repair: KeptRepair
    spent: Spent = Spent()
    """Since what was kept before it."""


class AmendmentProposed(_Fact):
    """The executor found that the approved plan takes more than it says; its next version is on offer."""

    kind: Literal["amendment_proposed"] = "amendment_proposed"
    plan_digest: Sha256
    """Of the plan that is amended."""
    execution: str
    """Key of the effect under which it was carried out so far."""
    version: int
    digest: Sha256
    step: int
    why: str
    paths: tuple[RepoPath, ...]
    report_ref: Sha256
    """What was done so far."""
    expires_at: datetime
    spent: Spent = Spent()
    """Since the last step was kept."""


class StepsDone(_Fact):
    """The executor carried out every step, the patch is inside the plan, and the checks were run by the box."""

    kind: Literal["steps_done"] = "steps_done"
    plan_digest: Sha256
    patch_ref: Sha256
    report_ref: Sha256
    spent: Spent


class QuestionsAnswered(_Fact):
    """The executor read its way through the questions of a plan; nothing was changed."""

    kind: Literal["questions_answered"] = "questions_answered"
    plan_digest: Sha256
    findings_ref: Sha256
    spent: Spent


class ExecutionFailed(_Fact):
    """The executor stopped; nothing of its work leaves the box."""

    kind: Literal["execution_failed"] = "execution_failed"
    plan_digest: Sha256
    reason: str
    remedy: str = ""
    report_ref: str = ""
    spent: Spent = Spent()


class ExecutionHeld(_Fact):
    """Execution waits for something outside, such as a machine with a box; the approved plan is kept."""

    kind: Literal["execution_held"] = "execution_held"
    plan_digest: Sha256
    reason: str
    remedy: str = ""


class ApprovalVoided(_Fact):
    """An approval was found to stand no longer, before a write."""

    kind: Literal["approval_voided"] = "approval_voided"
    plan_digest: Sha256
    reason: str
    remedy: str = ""


class DraftOpened(_Fact):
    """The branch and its pull request stand."""

    kind: Literal["draft_opened"] = "draft_opened"
    plan_digest: Sha256
    pull: PullRequest


class PullRequestEnded(_Fact):
    """A person merged or closed the pull request."""

    kind: Literal["pull_request_ended"] = "pull_request_ended"
    merged: bool
    person: Person | None


class Expired(_Fact):
    """The time for which an offer or an approval stands is over."""

    kind: Literal["expired"] = "expired"


class Stalled(_Fact):
    """The work that the run waits for makes no progress."""

    kind: Literal["stalled"] = "stalled"
    key: str
    """Of the effect, whether it is there or not."""
    code: StallCode
    reason: str
    remedy: str = ""
    over: bool = False
    """Whether it was waited for long enough: it is ended."""


class EffectAbandoned(_Fact):
    """An effect could not be done within its attempts."""

    kind: Literal["effect_abandoned"] = "effect_abandoned"
    effect: str
    key: str
    reason: str
    tried: int = 0
    """Attempts at it that failed; what only waited is none. 0 where that was not recorded."""
    branch: str = ""
    """The branch that holds the work, where one was made all the same; or that could not be looked for."""


Fact = Annotated[
    Labelled
    | LabelledAgain
    | LabelRemoved
    | IssueChanged
    | IssueEnded
    | RepositoryEnded
    | CommandGiven
    | CommandUnclear
    | ThumbSeen
    | PlanCommentChanged
    | Answered
    | AuthorityFound
    | PlanDrafted
    | PlanNotPossible
    | SplitProposed
    | InputNeeded
    | Said
    | StepKept
    | RepairKept
    | AmendmentProposed
    | StepsDone
    | QuestionsAnswered
    | ExecutionFailed
    | ExecutionHeld
    | ApprovalVoided
    | DraftOpened
    | DraftStaged
    | DraftUnsettled
    | DraftFound
    | PublishFailed
    | PullRequestEnded
    | PullRequestRead
    | Expired
    | Stalled
    | EffectAbandoned,
    Field(discriminator="kind"),
]

FACTS: TypeAdapter[Fact] = TypeAdapter(Fact)
"""Reads and writes any fact."""
