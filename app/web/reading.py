"""One payload that is being read, and what every reader of payloads uses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from app.core import facts as f
from app.core.issue import IssueSnapshot, Person
from app.core.news import Ignored, News, OnIssue, Seen
from app.web.payload import Issue, Label, Payload, User


@dataclass(frozen=True, slots=True)
class WhichLabels:
    """By their names of today these labels are none of ours; by their ids one may be, if it was renamed since."""

    repository_id: int
    ids: tuple[int, ...]


Understood = tuple[News, ...] | News | Ignored | WhichLabels


@dataclass(frozen=True, slots=True)
class Reading:
    """One payload that is being read."""

    word_of: Callable[[str], str | None]
    """What stands behind the colon of a trigger label's name; None for other names."""
    new_run_id: Callable[[], str]
    payload: Payload
    now: datetime
    triggers: Mapping[int, str] | None

    @property
    def sender(self) -> Person | None:
        return person_of(self.payload.sender)

    def seen(self) -> Seen | None:
        repository, installation = self.payload.repository, self.payload.installation
        if repository is None or installation is None:
            return None
        return Seen(repository.id, repository.full_name, installation.id)

    @property
    def issue_changed_at(self) -> datetime | None:
        """When what the delivery tells of the issue happened: nothing had changed it since when it was written."""
        return moment_of(self.payload.issue.updated_at) if self.payload.issue else None

    def trigger(self, label: Label) -> str | None:
        """The name by which the label triggers: today's, or else the one under which it did so once."""
        once = (self.triggers or {}).get(label.id) if label.id is not None else None
        return next((name for name in (label.name, once) if name and self.word_of(name) is not None), None)

    def none_of_ours(self, *labels: Label) -> Ignored | WhichLabels:
        """Where none of these triggers by its name: whether one might by its id is still to be asked."""
        ids = tuple(label.id for label in labels if label.id is not None)
        if self.triggers is None and ids and self.payload.repository is not None:
            return WhichLabels(self.payload.repository.id, ids)
        return Ignored("the label is not the trigger label")


def person_of(user: User | None) -> Person | None:
    """None for who is missing: a deleted account, or a sender that GitHub left out (WH-02)."""
    if user is None or user.id is None or not user.login:
        return None
    return Person(id=user.id, login=user.login, is_bot=user.type == "Bot" or user.login.endswith("[bot]"))


def moment_of(text: str | None) -> datetime | None:
    """A time as GitHub writes it; None for whatever is none."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def snapshot_of(issue: Issue) -> IssueSnapshot:
    return IssueSnapshot(number=issue.number, title=issue.title, body=issue.body or "")


NO_ISSUE = Ignored("the payload names no issue and repository")
A_PULL = Ignored("pull requests are not worked on, only issues")
NO_INSTALLATION = Ignored("the payload names no installation; it does not come from the App's own webhook")


def about_issue(reading: Reading, fact: f.Fact) -> Understood:
    issue, repository = reading.payload.issue, reading.payload.repository
    if issue is None or repository is None:
        return NO_ISSUE
    if issue.pull_request is not None:
        return A_PULL
    return News(OnIssue(repository.id, issue.number), fact, reading.seen())
