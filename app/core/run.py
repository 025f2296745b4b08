"""The run: its states. A state carries its evidence; there is no approved run without a digest and a person."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.core.budget import Spent
from app.core.issue import Person
from app.core.plan import CommitId, RepoPath, Sha256
from app.core.policy import Policy


class Part(BaseModel):
    """What facts, states and effects share: they never change, and unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Request(Part):
    """What was asked for: one label on one issue."""

    run: str
    installation_id: int
    repository_id: int
    repository: str
    """`owner/name` when the label was set; the id is what counts after a rename."""
    issue_number: int
    issue_title: str
    issue_digest: Sha256
    """The issue's text as it stood in the delivery of the label."""
    label: str
    label_id: int | None = None
    renamed_from: str = ""
    """The name by which the label triggers, where it is called otherwise today."""
    label_word: str = ""
    """What stood behind the colon of the label, if anything; the policy maps it to a template."""
    author: Person | None
    labeller: Person | None
    labelled_at: datetime | None = None
    """When the label was set last, by GitHub's clock; None where that is not known."""


class PlanPart(Part):
    """A further comment of a plan that is too long for one: it binds an approval as the first does."""

    node_id: str
    comment_digest: str


class Narrowing(Part):
    """That steps of a version are dropped, and who said so, where and when."""

    version: int
    """The version of which steps were dropped."""
    digest: Sha256
    """Its digest."""
    person: Person
    comment_id: int = 0
    """The comment `/approve steps …` that drops them; 0 where ticks were taken off."""
    argument: str = ""
    """Which steps it keeps, as `steps_of` reads it."""
    shown_id: int = 0
    node_id: str = ""
    """The comment that shows the version of which steps were dropped, by both of its ids."""
    shown_at: datetime | None = None
    """When that comment was written, by GitHub's clock."""
    approves: bool = False
    """Whether the comment is to count as an approval of what is left, as the policy said then."""


class KeptStep(Part):
    """A step that was carried out and verified."""

    id: int
    files_ref: Sha256
    """Every file that differs from the base after it, whichever step changed it."""
    notes: tuple[str, ...] = ()
    """What the report will say of it."""
    nothing_to_do: str = ""
    """Why it left no change of its own in its path, as code saw it."""


class KeptRepair(Part):
    """A repair that came to an end after the steps."""

    number: Annotated[int, Field(ge=1)]
    files_ref: Sha256
    """As of a kept step."""
    told_ref: Sha256
    """What the report will say of it."""


class KeptWork(Part):
    """What is kept of an execution under way, so that the next attempt goes on from there."""

    steps: tuple[KeptStep, ...] = ()
    """In the order in which they were carried out, which is the plan's."""
    repairs: tuple[KeptRepair, ...] = ()
    """What came after them, in order."""
    spent: Spent = Spent()
    """What the execution has cost so far; it is in the run's sum."""
    earlier: Spent = Spent()
    """The part of that which was spent before the effect began that is owed now."""

    def plus(self, step: KeptStep, spent: Spent) -> "KeptWork":
        """With one more step, and what was spent since the one before it."""
        return self.model_copy(update={"steps": (*self.steps, step), "spent": self.spent.plus(spent)})

    def repaired(self, repair: KeptRepair, spent: Spent) -> "KeptWork":
        """With one more repair, and what was spent since what was kept before it."""
        return self.model_copy(update={"repairs": (*self.repairs, repair), "spent": self.spent.plus(spent)})

    def handed_on(self, spent: Spent | None = None) -> "KeptWork":
        """The same work for another effect that goes on with it; `spent` is what was not counted so far."""
        total = self.spent.plus(spent or Spent())
        return self.model_copy(update={"spent": total, "earlier": total})


class Amended(Part):
    """The approved plan that an offer amends, and what was done of it."""

    version: int
    digest: Sha256
    comment_id: int | None
    """The comment that shows it."""
    step: int
    why: str
    work: KeptWork
    """Goes over into the amended plan, which holds those steps to the letter."""
    report_ref: Sha256
    """The report of that work, with its patch."""
    versions: tuple[int, ...]
    """All versions that the offer rests on, the oldest first: with its own difference they are the whole plan."""


class Proposal(Part):
    """A plan on offer."""

    version: int
    digest: Sha256
    base_branch: str
    base_commit: CommitId
    issue_digest: Sha256
    drafted_at: datetime
    expires_at: datetime
    comment_id: int | None = None
    comment_node_id: str = ""
    comment_digest: str = ""
    """Digest of the comment's text as GitHub gave it back when it was posted."""
    further_parts: tuple[PlanPart, ...] = ()
    issue_changed: bool = False
    notices: tuple[str, ...] = ()
    paths: tuple[RepoPath, ...] | None = None
    """Every path that the plan's steps name; None where that was not recorded."""
    narrowing: Narrowing | None = None
    """How it came of an earlier version, where code made it by dropping steps."""
    amends: Amended | None = None
    """What it amends, where it is an amendment."""

    def work(self) -> KeptWork:
        """What is done of it when it is approved: nothing, but for an amendment."""
        return KeptWork() if self.amends is None else self.amends.work


class ApprovalSource(StrEnum):
    """How a person said yes."""

    COMMENT = "comment"
    REACTION = "reaction"


class Approval(Part):
    """Who approved which digest, on which base and issue snapshot, with which permission, how, when, until when."""

    person: Person
    permission: str
    role_name: str
    source: ApprovalSource
    source_id: int
    """Id of the approving comment, or of the reaction."""
    source_digest: str = ""
    """Digest of the approving comment's text."""
    plan_version: int
    plan_digest: Sha256
    base_commit: CommitId
    issue_digest: Sha256
    approved_at: datetime
    expires_at: datetime
    teams: tuple[str, ...] = ()
    """The teams, of those that counted, of which this person was a member then."""
    attempt: int = 1
    """Which attempt at what was approved stands on it: a failed one may be tried again."""


class PullRequest(Part):
    """The pull request that was opened."""

    number: int
    url: str
    branch: str
    commit: CommitId
    draft: bool


class ClosedReason(StrEnum):
    """Why a run ended."""

    MERGED = "merged"
    PULL_REQUEST_CLOSED = "pull_request_closed"
    NOT_ALLOWED = "not_allowed"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    STALE = "stale"
    TOO_LARGE = "too_large"
    FAILED = "failed"
    REPORTED = "reported"
    STAGED = "staged"


class StallCode(StrEnum):
    """How the work that a run waits for makes no progress."""

    WAITS = "waits"
    DAY_SPENT = "day_spent"
    NOT_TAKEN_UP = "not_taken_up"
    NO_PROGRESS = "no_progress"
    NOTHING_OWED = "nothing_owed"
    ATTEMPTS = "attempts"


class Stall(Part):
    """That the effect with this key makes no progress, as it was said."""

    code: StallCode
    key: str
    words: str


class _State(Part):
    request: Request
    policy: Policy | None = None
    """The policy that let the label through; read again at each decision."""
    spent: Spent = Spent()
    last_version: int = 0
    amendments: int = 0
    """How many were proposed so far."""
    status_comment_id: int | None = None
    resumed: int = 0
    """How often the run was taken up again after its end."""
    failed: int = 0
    """Attempts at its work that failed since a person last said that it goes on (`app.core.allowance`)."""
    stall: Stall | None = None
    """What was said of the work that it waited for; of no account once it waits for another."""


class Wanted(_State):
    """Somebody set the label; no plan yet. `allowed` once the labeller's authority was found."""

    name: Literal["wanted"] = "wanted"
    allowed: bool = False


class NeedsInput(_State):
    """The planner asked the issue's author a question."""

    name: Literal["needs_input"] = "needs_input"
    question: str
    asked_at: datetime | None = None


class Proposed(_State):
    """A plan waits for a maintainer. `drafting` while a revision of it is being made."""

    name: Literal["proposed"] = "proposed"
    proposal: Proposal
    drafting: bool = False
    given: tuple[Approval, ...] = ()
    """Approvals that count, where it takes more than these; the newest is the last."""
    narrowing: Narrowing | None = None
    """The dropping of steps for which the next version is being made."""


class Approved(_State):
    """A person approved exactly this plan; the executor may work."""

    name: Literal["approved"] = "approved"
    proposal: Proposal
    approval: Approval
    held: str = ""
    """Why execution waits (no box here, say); empty while it does not."""
    also: tuple[Approval, ...] = ()
    """Who approved before, where it took more than one; `approval` is the one that decided."""
    work: KeptWork = KeptWork()
    """What was done under this approval, and before it where it is of an amendment; no other approval counts it."""


class Built(_State):
    """The steps are done and the checks were shown; a draft is owed."""

    name: Literal["built"] = "built"
    proposal: Proposal
    approval: Approval
    patch_ref: Sha256
    report_ref: Sha256
    also: tuple[Approval, ...] = ()


class Reporting(_State):
    """The plan's questions are answered; a report is owed, and nothing was written to the repository."""

    name: Literal["reporting"] = "reporting"
    proposal: Proposal
    approval: Approval
    findings_ref: Sha256
    also: tuple[Approval, ...] = ()


class Published(_State):
    """The draft pull request is open; the rest is a person's review."""

    name: Literal["published"] = "published"
    proposal: Proposal
    approval: Approval
    report_ref: Sha256
    pull: PullRequest
    also: tuple[Approval, ...] = ()


class Closed(_State):
    """The run ended."""

    name: Literal["closed"] = "closed"
    reason: ClosedReason
    words: str
    remedy: str = ""
    pull: PullRequest | None = None
    report_ref: str = ""
    findings_ref: str = ""
    """What was found out, where the plan asked for a report."""
    staged_ref: str = ""
    """What would have been written, where the run is staged."""
    branch: str = ""
    """The branch that holds the work, where no pull request could be opened."""
    proposal: Proposal | None = None
    """The plan that stood at the end."""
    approvals: tuple[Approval, ...] = ()
    """By whom it was approved, where it was; the one that decided is the last."""
    patch_ref: str = ""
    """What the executor made, where the work was done before the end."""
    work: KeptWork = KeptWork()
    """The steps that were behind it, where it was not."""


State = Annotated[
    Wanted | NeedsInput | Proposed | Approved | Built | Reporting | Published | Closed, Field(discriminator="name")
]


class _Seal:
    """Held by this module alone, so that nobody else can make a Grant."""


_SEAL = _Seal()


class Grant:
    """The right to execute and to publish exactly one plan. Only an approved run yields one."""

    __slots__ = ("also", "approval", "begun", "proposal", "request", "staged")

    def __init__(self, seal: _Seal, state: Approved | Built) -> None:
        if seal is not _SEAL:
            raise PermissionError("a Grant is made by grant_of(), from an approved run")
        self.request = state.request
        self.proposal = state.proposal
        self.approval = state.approval
        self.also = state.also
        # Under a staged policy nothing may be written, whoever approved.
        self.staged = state.policy is not None and state.policy.staged
        # What was built on the approved commit stays so: what has changed since is for the review of the draft.
        self.begun = isinstance(state, Built) or bool(state.work.steps)

    @property
    def approvals(self) -> tuple[Approval, ...]:
        """Every approval that it rests on; the one that decided is the last."""
        return (*self.also, self.approval)


def grant_of(state: State, now: datetime) -> Grant | None:
    """The run's grant, or None where there is no live approval: not approved, another digest, or expired."""
    if not isinstance(state, Approved | Built):
        return None
    if state.approval.plan_digest != state.proposal.digest or now >= state.approval.expires_at:
        return None
    return Grant(_SEAL, state)
