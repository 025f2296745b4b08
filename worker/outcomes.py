"""What an error means for an effect: to wait, to try again, to give up, or that the approval stands no longer."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.core.effects import Effect, PlanSaying, ReportSaying, Say
from app.core.run import Approved, Built
from app.ledger.outcomes import Claim
from worker.evidence.trace import CalledOff, HandedOver
from worker.github.errors import (
    Archived,
    BranchNotSeen,
    Broken,
    Conflict,
    Forbidden,
    GitHubError,
    Gone,
    Invalid,
    IssuesOff,
    Locked,
    Moved,
    NotFound,
    RateLimited,
    Suspended,
    Unreachable,
)
from worker.mint.caller import MintDenied, MintUnreachable
from worker.model.words import ModelError, ModelUnavailable
from worker.repo.mirror import AccessDenied, CommitMissing, MirrorError, RemoteUnreachable, RepositoryMissing
from worker.repo.snapshot import UnsafeTree

LOCKED_SECONDS = 900.0
SUSPENDED_SECONDS = 3_600.0
MINT_SECONDS = 5.0
MINT_SECONDS_AT_MOST = 300.0
OUTAGE_SECONDS = 5.0
AWAY_SECONDS = 1_800.0
MODEL_SECONDS = 60.0

MOST_WAITS = 400
"""Times that one effect may wait for something outside before it is abandoned with words: by `rested`, over a day."""

WAIT_SECONDS_AT_MOST = 1_800.0
"""How far the pause between two looks grows, where nobody said that it is to be longer or shorter."""


@dataclass(frozen=True)
class Wait:
    """Something outside is not ready: the effect is given back and costs no attempt."""

    seconds: float
    reason: str
    branch: str = ""


@dataclass(frozen=True)
class Held(Wait):
    """An approved plan waits for a box or for what its checks need. It is kept, and the waiting is said."""

    remedy: str = ""


@dataclass(frozen=True)
class Limited(Wait):
    """A limit of GitHub's was met, which is one for all work of the installation: all of it waits."""


@dataclass(frozen=True)
class MintAway(Wait):
    """The mint does not answer: it is ours, so that what needs it waits however long that takes, and asks less often
    with time."""


@dataclass(frozen=True)
class Away(Wait):
    """The place is out of our reach, perhaps for a moment: an open run waits until it is seen again, or until
    rereading ends it; a run that has ended says no more there."""


@dataclass(frozen=True)
class GiveBack:
    """This process ends: another one goes on with it at once, and it costs no attempt."""

    reason: str


@dataclass(frozen=True)
class DayOver(Wait):
    """A day's money is spent: the effect goes on when the next day begins, and that is said."""

    remedy: str = ""
    until: datetime = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Retry:
    """Something failed: tried again, a bounded number of times. `branch` holds what was done before it did."""

    reason: str
    unexpected: bool = False
    branch: str = ""


@dataclass(frozen=True)
class Outage(Retry):
    """GitHub did not answer, or failed on its side. Work ends with words where that lasts; the words wait for it."""


@dataclass(frozen=True)
class Abandon:
    """Trying again would not help."""

    reason: str
    branch: str = ""


@dataclass(frozen=True)
class Void:
    """The approval was found to stand no longer."""

    reason: str
    remedy: str


@dataclass(frozen=True)
class Drop:
    """It was no longer wanted, so it was left where it was; the run has gone on without it."""

    reason: str


Outcome = Wait | GiveBack | Retry | Abandon | Void | Drop


class NoLongerKept(Exception):
    """What the work needs was dropped from the ledger by its age."""

    def __init__(self) -> None:
        super().__init__("What was made before is not kept any more: it was dropped by its age.")


class MustWait(Exception):
    """Raised by a duty that knows what it waits for."""

    def __init__(self, wait: Wait) -> None:
        self.wait = wait
        super().__init__(wait.reason)


def outcome_of(error: Exception) -> Outcome:
    """The one table from errors to what happens next."""
    match error:
        case MustWait():
            return error.wait
        case CalledOff():
            return GiveBack(str(error)) if isinstance(error, HandedOver) else Drop(str(error))
        case MintDenied():
            return _of_mint(error)
        case MintUnreachable():
            return MintAway(MINT_SECONDS, str(error))
        case GitHubError():
            return _of_github(error)
        case ModelError():
            return _of_model(error)
        case UnsafeTree():
            return Abandon(f"The repository cannot be worked on: {error}")
        case RepositoryMissing() | AccessDenied() | CommitMissing() | NoLongerKept():
            return Abandon(str(error))
        case RemoteUnreachable() | MirrorError():
            return Retry(str(error))
        case _:
            return Retry(f"An error that nobody expected ({type(error).__name__}).", unexpected=True)


def _of_mint(denied: MintDenied) -> Outcome:
    if denied.voided:
        return Void(denied.reason, denied.remedy)
    if denied.gone:
        return Away(AWAY_SECONDS, denied.reason)
    if denied.retry_after is not None:
        return Wait(denied.retry_after, str(denied))
    return Retry(str(denied))


def _of_model(error: ModelError) -> Outcome:
    if isinstance(error, ModelUnavailable):
        return Wait(error.retry_after_seconds or MODEL_SECONDS, error.reason)
    return Abandon(error.reason)


def _of_github(error: GitHubError) -> Outcome:
    words = f"{error.reason} {error.remedy}"
    match error:
        case RateLimited():
            return Limited(error.retry_after, error.reason, error.branch)
        case Suspended():
            return Wait(SUSPENDED_SECONDS, error.reason, error.branch)
        case Locked():
            return Wait(LOCKED_SECONDS, error.reason, error.branch)
        case IssuesOff():
            return Away(AWAY_SECONDS, error.reason, error.branch)
        case Unreachable() | Broken():
            return Outage(words, branch=error.branch)
        case BranchNotSeen():
            return Retry(words, branch=error.branch)
        case Archived() | Gone() | Moved() | NotFound() | Conflict() | Forbidden() | Invalid():
            return Abandon(words, error.branch)
        case _:
            return Retry(words, branch=error.branch)


def may_wait(claim: Claim) -> bool:
    """Whether the effect may wait once more. What a standing approval is for has no count: its expiry ends the waiting,
    with words, whatever else was waited for before."""
    return claim.postponements < MOST_WAITS or isinstance(claim.state, Approved | Built)


def rested(seconds: float, before: int, most: float = WAIT_SECONDS_AT_MOST) -> timedelta:
    """The pause where one of `seconds` is right at first: what lasts is asked about less often. `before`: pauses that
    this effect had. 400 of them from 5 s on are 28 hours, from 20 s on nearly five days: what is mended by then costs
    nobody anything."""
    return timedelta(seconds=max(seconds, min(seconds * (1 + before / 4), most)))


def rest_of(decided: Wait | Outage, claim: Claim) -> timedelta | None:
    """How long the effect is put off now; None where it has waited enough."""
    match decided:
        case Held(seconds):
            # The plan is kept for as long as its approval stands; its expiry ends the waiting.
            return timedelta(seconds=seconds)
        case MintAway(seconds):
            return rested(seconds, claim.postponements, MINT_SECONDS_AT_MOST)
        case Outage() if _ends_unheard(claim.effect) and may_wait(claim):
            return rested(OUTAGE_SECONDS, claim.postponements)
        case Wait(seconds) if may_wait(claim):
            return rested(seconds, claim.postponements)
    return None


def _ends_unheard(effect: Effect) -> bool:
    """Whether nobody would hear of it if these words were given up: for others the run ends, with words."""
    return isinstance(effect, Say) and not isinstance(effect.saying, PlanSaying | ReportSaying)
