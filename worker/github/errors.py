"""What can go wrong between us and GitHub, each with its reason and what to do next.

GitHubError
├── Unauthorized            401: the credential is expired, revoked or not accepted
├── Forbidden               403: not permitted; `needed` names the permissions when GitHub told
│   ├── Suspended           the installation is suspended: park the work
│   ├── Locked              the conversation is locked: an App cannot write there (github-facts 156)
│   ├── Archived            the repository is read-only
│   └── Blocked             451: GitHub closed the repository
├── NotFound                404: not there, or not visible with this credential (github-facts 64)
├── Gone                    410: deleted, or the feature is switched off
│   └── IssuesOff           the repository has no issues now: what it had comes back with them
├── Moved                   301, 302, 307, 308: transferred or renamed; `location` says where to
├── RateLimited             403, 429 or GraphQL's 200: `retry_after` seconds, `kind`
├── Conflict                409: empty repository, or somebody else was faster
├── Invalid                 400, 422: refused as asked; `messages` holds GitHub's own words
│   ├── DraftUnsupported    this plan has no drafts in private repositories (github-facts 139)
│   ├── AlreadyExists       a branch or pull request of that name is there
│   ├── NoCommitsBetween    the branch holds nothing new
│   ├── BodyTooLong         over 65,536 code points (github-facts 144)
│   ├── ReferenceUpdateFailed  a ruleset, or the branch is there (github-facts 125)
│   ├── BranchNotSeen       GitHub does not see a branch that was just made (github-facts 140)
│   └── InputTooLarge       a tree too large for one call (github-facts 118)
├── Unreachable             no answer; `maybe_done` for writes
│   └── TimedOut
├── Broken                  5xx; `maybe_done` for writes
└── NotUnderstood           an answer that is not what was promised; `maybe_done` for writes
"""

from dataclasses import dataclass
from enum import StrEnum

from app.core.redact import redact

LONGEST_QUOTE = 500
"""Characters of GitHub's own words that an error repeats."""

SHORTEST_PAUSE = 60.0
"""Seconds to wait after a limit that does not say how long (github-facts 166)."""


class LimitKind(StrEnum):
    """Which of GitHub's limits was met."""

    PRIMARY = "primary"
    SECONDARY = "secondary"


class Outcome(StrEnum):
    """Whether a call that failed can have had its effect all the same."""

    NOT_DONE = "not done"
    MAYBE_DONE = "maybe done"


@dataclass(frozen=True, slots=True)
class Call:
    """Which call it was: enough for a person to find it in GitHub's log, nothing that grants access."""

    method: str
    path: str
    status: int = 0
    request_id: str = ""

    @property
    def writes(self) -> bool:
        return self.method not in ("GET", "QUERY")

    def __str__(self) -> str:
        parts = [f"{self.method} {self.path}"]
        if self.status:
            parts.append(f"answered {self.status}")
        if self.request_id:
            parts.append(f"request {self.request_id}")
        return redact(", ".join(parts))


class GitHubError(Exception):
    """GitHub did not do what was asked.

    `reason` is one plain sentence about what happened and `remedy` one about what to do next; neither holds a
    credential. `call` names the request. `maybe_done` is true when a write may have happened although no good
    answer came: look before asking again. `branch` is what had been made before, by whoever knows.
    """

    remedy_by_default = "Look at the reason, then ask again."

    def __init__(self, reason: str, call: Call, remedy: str = "") -> None:
        self.reason = redact(reason)
        self.remedy = redact(remedy or self.remedy_by_default)
        self.call = call
        self.maybe_done = False
        self.branch = ""
        super().__init__(f"{self.reason} {self.remedy} ({call})")


class Unauthorized(GitHubError):
    """The credential was not accepted. One fresh token is worth a try; a second refusal is not (case GH-04)."""

    remedy_by_default = "Ask the mint for one fresh token; if that is refused too, check the App's key and the clock."


class Forbidden(GitHubError):
    """Not permitted, and asking again will not help. `needed` holds permissions in GitHub's form: `issues=write`."""

    remedy_by_default = "A person must grant the App the permission, or change the rule that refuses it."

    def __init__(self, reason: str, call: Call, remedy: str = "", needed: tuple[str, ...] = ()) -> None:
        if needed and not remedy:
            remedy = f"Grant the App {' or '.join(needed)} and accept the change for this installation."
        super().__init__(reason, call, remedy)
        self.needed = needed


class NotGranted(Forbidden):
    """The installation does not grant what a token was asked for."""


class Suspended(Forbidden):
    """The installation is suspended: no call succeeds until its owner lifts that (github-facts 69)."""

    remedy_by_default = "Keep the work; an owner of the account can unsuspend the App in its settings."


class Locked(Forbidden):
    """The conversation is locked and an App is not a collaborator (github-facts 156)."""

    remedy_by_default = "Keep what was to be said; unlock the conversation to have it posted."


class Archived(Forbidden):
    """The repository is archived and so read-only."""

    remedy_by_default = "Unarchive the repository, then start again."


class Blocked(Forbidden):
    """GitHub itself closed the repository, as after a complaint."""

    remedy_by_default = "The repository's owner can ask GitHub why; then start again."


class NotFound(GitHubError):
    """Not there, or not visible with this credential: GitHub answers both alike (github-facts 64)."""

    remedy_by_default = "Check that it still exists and that the App is installed on the repository."


class Gone(GitHubError):
    """It was there and was deleted, or the feature is switched off (github-facts 157)."""

    remedy_by_default = "Nothing is left to work on here; close the work."


class IssuesOff(Gone):
    """Issues are switched off in the repository (github-facts 157); nothing of them is deleted."""

    remedy_by_default = "Switch issues on again in the repository's settings."


class Moved(GitHubError):
    """It lives elsewhere now. A write is never sent on to the new address (github-facts 196)."""

    remedy_by_default = "Read where it lives now and ask there, if that is still wanted."

    def __init__(self, reason: str, call: Call, location: str) -> None:
        super().__init__(reason, call)
        self.location = redact(location)


class RateLimited(GitHubError):
    """A limit was met and nothing was done. `retry_after` is in seconds from now; nobody sleeps here."""

    def __init__(self, reason: str, call: Call, retry_after: float, kind: LimitKind) -> None:
        super().__init__(reason, call, f"Wait {retry_after:.0f} seconds or longer, then ask again.")
        self.retry_after = retry_after
        self.kind = kind


class Conflict(GitHubError):
    """The repository is empty, or somebody else changed it at the same moment."""

    remedy_by_default = "Read it again and decide anew."


class Invalid(GitHubError):
    """Refused as asked. `messages` are GitHub's own words, cleaned and cut."""

    remedy_by_default = "The same request will be refused again; change it first."

    def __init__(self, reason: str, call: Call, messages: tuple[str, ...] = (), remedy: str = "") -> None:
        super().__init__(reason, call, remedy)
        self.messages = tuple(redact(message) for message in messages)


class DraftUnsupported(Invalid):
    """Drafts are not available here (case GH-01). The branch is there and the work is not lost."""

    remedy_by_default = "Open a plain pull request that says it is not reviewed, or say where the branch is."


class AlreadyExists(Invalid):
    """Something of that name is there already (case GT-01). Nothing was overwritten."""

    remedy_by_default = "Adopt it if it is provably ours, else choose another name."


class NoCommitsBetween(Invalid):
    """The branch holds nothing that the base does not have."""

    remedy_by_default = "There is nothing to review; say so."


class BodyTooLong(Invalid):
    """The text is longer than GitHub takes (case GH-03)."""

    remedy_by_default = "Split the text and post the parts."


class ReferenceUpdateFailed(Invalid):
    """GitHub refused to make or move the branch without saying why (github-facts 125)."""

    remedy_by_default = "Ask which rules apply to that branch name; an exception for the App may be needed."


class BranchNotSeen(Invalid):
    """GitHub does not know the head branch (yet): right after it was made this passes by itself."""

    remedy_by_default = "Wait a few seconds, check that the branch is there, then ask again."


class InputTooLarge(Invalid):
    """The call was too large to be worked through in time."""

    remedy_by_default = "Upload file contents one by one first and keep the tree small."


class Unreachable(GitHubError):
    """No answer came. `maybe_done` is true for a write that had been sent."""

    remedy_by_default = "Try again later."

    def __init__(self, reason: str, call: Call, outcome: Outcome) -> None:
        super().__init__(reason, call, _after(outcome))
        self.maybe_done = outcome is Outcome.MAYBE_DONE


class TimedOut(Unreachable):
    """No answer came in time."""


class Broken(GitHubError):
    """GitHub failed on its side. A write may have happened (github-facts 197)."""

    def __init__(self, reason: str, call: Call) -> None:
        outcome = Outcome.MAYBE_DONE if call.writes else Outcome.NOT_DONE
        super().__init__(reason, call, _after(outcome))
        self.maybe_done = call.writes


class NotUnderstood(GitHubError):
    """An answer arrived that is not what was promised: another status, or fields missing."""

    def __init__(self, reason: str, call: Call) -> None:
        outcome = Outcome.MAYBE_DONE if call.writes else Outcome.NOT_DONE
        super().__init__(reason, call, _after(outcome))
        self.maybe_done = call.writes


def _after(outcome: Outcome) -> str:
    if outcome is Outcome.MAYBE_DONE:
        return "It may have been done: look for its result before asking again."
    return "Nothing was changed; try again later."
