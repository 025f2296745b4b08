"""Intake: bytes of a believed delivery become news for the ledger, or a reason why they are nothing for us.

The models are our own and lenient: they name only the fields that are read, and everything that GitHub is known
to leave out is optional (github-facts 3, 36). A field that nobody reads cannot make a delivery fail.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from app.core import command
from app.core import facts as f
from app.core.boxes import read_boxes
from app.core.digest import text_digest
from app.core.issue import IssueSnapshot, Person
from app.core.news import Ignored, News, OnInstallation, OnIssue, OnPull, OnRepository, Seen
from app.core.run import Request
from app.web.payload import PAYLOAD, ROUTING, Comment, Issue, Label, Payload, User


@dataclass(frozen=True, slots=True)
class Told:
    """What a delivery tells: its action, and at least one piece of news."""

    action: str
    news: tuple[News, ...]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Signed, and yet not a payload we can read; `why` is a sentence."""

    why: str


_Understood = tuple[News, ...] | News | Ignored


@dataclass(frozen=True, slots=True)
class Intake:
    """What one installation of the product listens for.

    `label` is the trigger label; `bot_id` is the App's own bot user where it is known, whose events are dropped
    before anything else (github-facts 34). `new_run_id` gives a fresh run id at each call.
    """

    label: str
    bot_id: int | None
    new_run_id: Callable[[], str]

    def read(self, event: str, body: bytes, now: datetime) -> Told | Ignored | Unreadable:
        """What this delivery means. Pure but for the run id; raises nothing, whatever the bytes are."""
        actions = READERS.get(event)
        if actions is None:
            return Ignored(f"{event} is not an event that is followed")
        try:
            action = ROUTING.decode(body).action or ""
            reader = actions.get(action)
            if reader is None:
                return Ignored(f"{event}.{action} is not an action that is followed")
            payload = PAYLOAD.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
            return Unreadable(f"The body is not what GitHub sends for {event}: {wrong}.")
        if self.bot_id is not None and payload.sender is not None and payload.sender.id == self.bot_id:
            return Ignored("this is our own doing")
        understood = reader(_Reading(self, payload, now))
        if isinstance(understood, Ignored):
            return understood
        return Told(action, understood if isinstance(understood, tuple) else (understood,))

    def word_of(self, name: str) -> str | None:
        """What stands behind the colon when `name` is the trigger label or `label:word`; None for other labels.

        GitHub holds label names to be the same whatever their case, and so does this.
        """
        folded, ours = name.strip().casefold(), self.label.casefold()
        if folded == ours:
            return ""
        head, _, word = folded.partition(f"{ours}:")
        return word.strip() if not head and word.strip() else None


@dataclass(frozen=True, slots=True)
class _Reading:
    """One payload that is being read."""

    intake: Intake
    payload: Payload
    now: datetime

    @property
    def sender(self) -> Person | None:
        return _person(self.payload.sender)

    def seen(self) -> Seen | None:
        repository, installation = self.payload.repository, self.payload.installation
        if repository is None or installation is None:
            return None
        return Seen(repository.id, repository.full_name, installation.id)

    def is_ours(self, label: Label) -> bool:
        return label.name is not None and self.intake.word_of(label.name) is not None


def _person(user: User | None) -> Person | None:
    """None for who is missing: a deleted account, or a sender that GitHub left out (WH-02)."""
    if user is None or user.id is None or not user.login:
        return None
    return Person(id=user.id, login=user.login, is_bot=user.type == "Bot" or user.login.endswith("[bot]"))


def _shown(text: str) -> str:
    """Text for people. PostgreSQL keeps no NUL."""
    return text.replace("\0", "")


def _snapshot(issue: Issue) -> IssueSnapshot:
    return IssueSnapshot(number=issue.number, title=issue.title, body=issue.body or "")


_NO_ISSUE = Ignored("the payload names no issue and repository")
_A_PULL = Ignored("pull requests are not worked on, only issues")
_NO_INSTALLATION = Ignored("the payload names no installation; it does not come from the App's own webhook")


def _issue_labeled(reading: _Reading) -> _Understood:
    payload = reading.payload
    issue, repository, installation = payload.issue, payload.repository, payload.installation
    if issue is None or repository is None:
        return _NO_ISSUE
    if payload.label is None or payload.label.name is None:
        return Ignored("the payload does not say which label was set")
    word = reading.intake.word_of(payload.label.name)
    if word is None:
        # Only the label just set counts, never those that the issue carries (github-facts 6).
        return Ignored("the label is not the trigger label")
    if issue.pull_request is not None:
        return _A_PULL
    if issue.state == "closed":
        return Ignored("the issue is closed")
    if installation is None:
        return _NO_INSTALLATION
    request = Request(
        run=reading.intake.new_run_id(),
        installation_id=installation.id,
        repository_id=repository.id,
        repository=repository.full_name,
        issue_number=issue.number,
        issue_title=_shown(issue.title),
        issue_digest=_snapshot(issue).digest(),
        label=_shown(payload.label.name),
        label_word=_shown(word),
        author=_person(issue.user),
        labeller=reading.sender,
    )
    return News(OnIssue(repository.id, issue.number), f.Labelled(at=reading.now, request=request), reading.seen())


def _issue_unlabeled(reading: _Reading) -> _Understood:
    payload, issue = reading.payload, reading.payload.issue
    if payload.label is not None and not reading.is_ours(payload.label):
        return Ignored("the label is not the trigger label")
    # Without the key a label was deleted from the repository; which one, the payload does not say (github-facts 3).
    if issue is not None and any(reading.is_ours(label) for label in issue.labels or ()):
        return Ignored("the issue still carries the trigger label")
    gone = payload.label is None
    return _about_issue(reading, f.LabelRemoved(at=reading.now, person=reading.sender, deleted=gone))


def _label_archived(reading: _Reading) -> _Understood:
    label, repository = reading.payload.label, reading.payload.repository
    if label is None or label.name is None or repository is None or not reading.is_ours(label):
        return Ignored("the label is not the trigger label")
    name = _shown(label.name)
    fact = f.LabelRemoved(at=reading.now, person=reading.sender, deleted=True, label=name)
    return News(OnRepository(repository.id), fact, reading.seen())


def _issue_edited(reading: _Reading) -> _Understood:
    changes, issue = reading.payload.changes, reading.payload.issue
    if issue is None:
        return _NO_ISSUE
    if changes is not None and not changes.keys() & {"title", "body"}:
        return Ignored("neither title nor description changed")
    changed = f.IssueChanged(at=reading.now, issue_digest=_snapshot(issue).digest(), person=reading.sender)
    return _about_issue(reading, changed)


def _issue_ended(how: f.IssueEnd) -> Callable[[_Reading], _Understood]:
    def read(reading: _Reading) -> _Understood:
        return _about_issue(reading, f.IssueEnded(at=reading.now, how=how, person=reading.sender))

    return read


def _about_issue(reading: _Reading, fact: f.Fact) -> _Understood:
    issue, repository = reading.payload.issue, reading.payload.repository
    if issue is None or repository is None:
        return _NO_ISSUE
    if issue.pull_request is not None:
        return _A_PULL
    return News(OnIssue(repository.id, issue.number), fact, reading.seen())


def _comment_created(reading: _Reading) -> _Understood:
    comment, issue = reading.payload.comment, reading.payload.issue
    if comment is None or issue is None:
        return _NO_ISSUE
    writer, sender = _person(comment.user), reading.sender
    if writer is None:
        return Ignored("the comment has no author any more")
    if sender is not None and sender.id != writer.id:
        return Ignored("the comment's author is not who sent it")
    if writer.is_bot:
        return Ignored("comments of bots are not followed")
    return _spoken(reading, comment, writer)


def _spoken(reading: _Reading, comment: Comment, writer: Person) -> _Understood:
    body, now, issue = comment.body or "", reading.now, reading.payload.issue
    said = command.read(body)
    fact: f.Fact
    if isinstance(said, command.Command):
        fact = f.CommandGiven(
            at=now,
            verb=said.verb,
            argument=said.argument,
            comment_id=comment.id,
            comment_digest=text_digest(body),
            person=writer,
        )
    elif isinstance(said, command.Misspelt):
        meant = said.form or f"/{said.meant}"
        fact = f.CommandUnclear(at=now, written=said.written, meant=meant, comment_id=comment.id, person=writer)
    elif isinstance(said, command.Several):
        written = " and ".join(f"/{verb}" for verb in said.verbs)
        meant = " or ".join(f"/{verb}" for verb in said.verbs)
        fact = f.CommandUnclear(at=now, written=written, meant=meant, comment_id=comment.id, person=writer)
    elif issue is not None and issue.user is not None and issue.user.id == writer.id:
        fact = f.Answered(at=now, comment_id=comment.id, person=writer)
    else:
        return Ignored("the comment holds no command")
    return _about_issue(reading, fact)


def _comment_changed(reading: _Reading) -> _Understood:
    """A comment of ours that a person edited or deleted; whether it shows a plan is for the run to know."""
    comment, person = reading.payload.comment, reading.sender
    if comment is None or not comment.node_id:
        return _NO_ISSUE
    if person is None or person.is_bot:
        return Ignored("nobody is known to have changed the comment")
    if comment.user is None or comment.user.type != "Bot":
        # A command counts as it was written first; that it was edited is found when it is looked at (35).
        return Ignored("the comment is not one of ours")
    gone = reading.payload.action == "deleted"
    boxes = read_boxes(comment.body or "")
    fact = f.PlanCommentChanged(
        at=reading.now,
        comment_id=comment.id,
        node_id=_shown(comment.node_id),
        person=person,
        whole="" if gone else text_digest(boxes.whole),
        unticked=() if gone else boxes.unticked,
    )
    return _about_issue(reading, fact)


def _pull_closed(reading: _Reading) -> _Understood:
    pull, repository = reading.payload.pull_request, reading.payload.repository
    if pull is None or repository is None:
        return Ignored("the payload names no pull request and repository")
    merged = pull.merged if pull.merged is not None else pull.merged_at is not None
    fact = f.PullRequestEnded(at=reading.now, merged=merged, person=reading.sender)
    return News(OnPull(repository.id, pull.number), fact, reading.seen())


def _pull_labeled(_reading: _Reading) -> _Understood:
    return _A_PULL


def _repository_named(reading: _Reading) -> _Understood:
    seen = reading.seen()
    if seen is None:
        return _NO_INSTALLATION
    return News(OnRepository(seen.repository_id), None, seen)


def _repository_ended(how: str) -> Callable[[_Reading], _Understood]:
    def read(reading: _Reading) -> _Understood:
        if reading.payload.repository is None:
            return Ignored("the payload names no repository")
        return News(OnRepository(reading.payload.repository.id), f.RepositoryEnded(at=reading.now, how=how))

    return read


def _installation_deleted(reading: _Reading) -> _Understood:
    if reading.payload.installation is None:
        return _NO_INSTALLATION
    fact = f.RepositoryEnded(at=reading.now, how="The App was uninstalled.")
    return News(OnInstallation(reading.payload.installation.id), fact)


def _repositories_removed(reading: _Reading) -> _Understood:
    removed = reading.payload.repositories_removed or []
    fact = f.RepositoryEnded(at=reading.now, how="The repository was taken from the App's installation.")
    return tuple(News(OnRepository(each.id), fact) for each in removed) or Ignored("no repository was removed")


Reader = Callable[[_Reading], _Understood]

READERS: Mapping[str, Mapping[str, Reader]] = {
    "issues": {
        "labeled": _issue_labeled,
        "unlabeled": _issue_unlabeled,
        "edited": _issue_edited,
        "closed": _issue_ended(f.IssueEnd.CLOSED),
        "deleted": _issue_ended(f.IssueEnd.DELETED),
        "transferred": _issue_ended(f.IssueEnd.TRANSFERRED),
    },
    "issue_comment": {"created": _comment_created, "edited": _comment_changed, "deleted": _comment_changed},
    "pull_request": {"closed": _pull_closed, "labeled": _pull_labeled},
    "repository": {
        "renamed": _repository_named,
        "transferred": _repository_named,
        "deleted": _repository_ended("The repository was deleted."),
        # Nothing can be written there, and every conversation is locked (github-facts 156).
        "archived": _repository_ended("The repository was archived."),
    },
    "label": {"archived": _label_archived},
    "installation": {"deleted": _installation_deleted},
    "installation_repositories": {"removed": _repositories_removed},
}
"""Which actions of which events are read, and by what. Everything else is answered with 2xx and left (36)."""
