"""Intake: bytes of a believed delivery become news for the ledger, or a reason why they are nothing for us.

The models are our own and lenient: they name only the fields that are read, and everything that GitHub is known
to leave out is optional (github-facts 3, 36). A field that nobody reads cannot make a delivery fail.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from app.core import command
from app.core import facts as f
from app.core.boxes import read_boxes
from app.core.digest import text_digest
from app.core.issue import Person
from app.core.news import Ignored, News, OnInstallation, OnIssue, OnPull, OnRepository
from app.web import labels
from app.web.payload import PAYLOAD, ROUTING, Comment, Payload
from app.web.reading import (
    A_PULL,
    NO_INSTALLATION,
    NO_ISSUE,
    Reading,
    Understood,
    WhichLabels,
    about_issue,
    moment_of,
    person_of,
    snapshot_of,
)

_RUN_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


@dataclass(frozen=True, slots=True)
class Told:
    """What a delivery tells: its action, and at least one piece of news."""

    action: str
    news: tuple[News, ...]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Signed, and yet not a payload we can read; `why` is a sentence."""

    why: str


@dataclass(frozen=True, slots=True)
class Intake:
    """What one installation of the product listens for.

    `label` is the trigger label; `bot_id` is the App's own bot user where it is known, whose events are dropped
    before anything else (github-facts 34). `new_run_id` gives a fresh run id at each call.
    """

    label: str
    bot_id: int | None
    new_run_id: Callable[[], str]

    def read(
        self, event: str, body: bytes, now: datetime, triggers: Mapping[int, str] | None = None
    ) -> Told | Ignored | Unreadable | WhichLabels:
        """What this delivery means. Pure but for the run id; raises nothing, whatever the bytes are.

        `WhichLabels` only where `triggers` is None: the same delivery is then read again with what is known of them.
        """
        actions = READERS.get(event)
        if actions is None:
            return Ignored(f"{event} is not an event that is followed")
        try:
            action = ROUTING.decode(body).action or ""
            reader = actions.get(action)
            if reader is None:
                return _not_followed(event, action, body)
            payload = PAYLOAD.decode(body)
            if self.bot_id is not None and payload.sender is not None and payload.sender.id == self.bot_id:
                return Ignored("this is our own doing")
            understood = reader(Reading(self.word_of, self.new_run_id, payload, now, triggers))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
            return Unreadable(f"The body is not what GitHub sends for {event}: {wrong}.")
        if isinstance(understood, Ignored):
            return _stirring(event, understood, payload)
        if isinstance(understood, WhichLabels):
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


def new_run_id() -> str:
    """`r-` and 60 random bits in base32: nobody guesses one, and two runs never share one."""
    return "r-" + "".join(secrets.choice(_RUN_ALPHABET) for _ in range(12))


_OF_ISSUES = ("issues", "issue_comment")
"""Events that happen on one issue: people are there now, and a 👍 may follow of which nothing tells (1)."""


def _not_followed(event: str, action: str, body: bytes) -> Ignored:
    """Whatever else is in the body: GitHub may write what is new in other forms."""
    ignored = Ignored(f"{event}.{action} is not an action that is followed")
    if event not in _OF_ISSUES:
        return ignored
    try:
        return _stirring(event, ignored, PAYLOAD.decode(body))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ignored


def _stirring(event: str, ignored: Ignored, payload: Payload) -> Ignored:
    """With the issue on which it happened, unless a bot did it."""
    if event not in _OF_ISSUES:
        return ignored
    issue, repository, sender = payload.issue, payload.repository, person_of(payload.sender)
    if issue is None or repository is None or sender is None or sender.is_bot or issue.pull_request is not None:
        return ignored
    return replace(ignored, stirs=OnIssue(repository.id, issue.number))


def _issue_unlocked(reading: Reading) -> Understood:
    """What could not be said there can be said now."""
    issue, repository = reading.payload.issue, reading.payload.repository
    if issue is None or repository is None:
        return NO_ISSUE
    return News(OnIssue(repository.id, issue.number), None, reading.seen(), hurry=True)


def _issue_edited(reading: Reading) -> Understood:
    changes, issue = reading.payload.changes, reading.payload.issue
    if issue is None:
        return NO_ISSUE
    if changes is not None and not changes.keys() & {"title", "body"}:
        return Ignored("neither title nor description changed")
    changed = f.IssueChanged(
        at=reading.now,
        happened_at=reading.issue_changed_at,
        issue_digest=snapshot_of(issue).digest(),
        person=reading.sender,
    )
    return about_issue(reading, changed)


def _issue_ended(how: f.IssueEnd) -> Callable[[Reading], Understood]:
    def read(reading: Reading) -> Understood:
        fact = f.IssueEnded(at=reading.now, happened_at=reading.issue_changed_at, how=how, person=reading.sender)
        return about_issue(reading, fact)

    return read


def _comment_created(reading: Reading) -> Understood:
    comment, issue = reading.payload.comment, reading.payload.issue
    if comment is None or issue is None:
        return NO_ISSUE
    writer, sender = person_of(comment.user), reading.sender
    if writer is None:
        return Ignored("the comment has no author any more")
    if sender is not None and sender.id != writer.id:
        return Ignored("the comment's author is not who sent it")
    if writer.is_bot:
        return Ignored("comments of bots are not followed")
    return _spoken(reading, comment, writer)


def _spoken(reading: Reading, comment: Comment, writer: Person) -> Understood:
    body, issue = comment.body or "", reading.payload.issue
    said = command.read(body)
    fact: f.Fact
    when = {"at": reading.now, "happened_at": moment_of(comment.created_at)}
    if isinstance(said, command.Command):
        fact = f.CommandGiven(
            **when,
            verb=said.verb,
            argument=said.argument,
            comment_id=comment.id,
            comment_digest=text_digest(body),
            person=writer,
        )
    elif isinstance(said, command.Misspelt):
        meant = said.form or f"/{said.meant}"
        fact = f.CommandUnclear(**when, written=said.written, meant=meant, comment_id=comment.id, person=writer)
    elif isinstance(said, command.Several):
        written, meant = " and ".join(said.written), " or ".join(said.written)
        fact = f.CommandUnclear(**when, written=written, meant=meant, comment_id=comment.id, person=writer)
    elif issue is not None and issue.user is not None and issue.user.id == writer.id:
        fact = f.Answered(**when, comment_id=comment.id, person=writer)
    else:
        return Ignored("the comment holds no command")
    return about_issue(reading, fact)


def _comment_changed(reading: Reading) -> Understood:
    """A comment of ours that somebody else edited or deleted; whether it shows a plan is for the run to know."""
    comment, person = reading.payload.comment, reading.sender
    if comment is None or not comment.node_id:
        return NO_ISSUE
    if person is None:
        return Ignored("nobody is known to have changed the comment")
    if comment.user is not None and comment.user.id == person.id:
        return Ignored("the comment was changed by its own author")
    if comment.user is None or comment.user.type != "Bot":
        # A command counts as it was written first; that it was edited is found when it is looked at (35).
        return Ignored("the comment is not one of ours")
    gone = reading.payload.action == "deleted"
    boxes = read_boxes(comment.body or "")
    fact = f.PlanCommentChanged(
        at=reading.now,
        comment_id=comment.id,
        node_id=comment.node_id,
        person=person,
        whole="" if gone else text_digest(boxes.whole),
        unticked=() if gone else boxes.unticked,
    )
    return about_issue(reading, fact)


def _pull_closed(reading: Reading) -> Understood:
    pull, repository = reading.payload.pull_request, reading.payload.repository
    if pull is None or repository is None:
        return Ignored("the payload names no pull request and repository")
    merged = pull.merged if pull.merged is not None else pull.merged_at is not None
    fact = f.PullRequestEnded(at=reading.now, merged=merged, person=reading.sender)
    return News(OnPull(repository.id, pull.number), fact, reading.seen())


def _pull_labeled(_reading: Reading) -> Understood:
    return A_PULL


def _repository_named(reading: Reading) -> Understood:
    seen = reading.seen()
    if seen is None:
        return NO_INSTALLATION
    return News(OnRepository(seen.repository_id), None, seen)


def _repository_transferred(reading: Reading) -> Understood:
    """Only the new owner's installation is told (github-facts 26): what waited for one can go on under it."""
    named = _repository_named(reading)
    return replace(named, hurry=True) if isinstance(named, News) else named


def _repository_ended(how: str) -> Callable[[Reading], Understood]:
    def read(reading: Reading) -> Understood:
        if reading.payload.repository is None:
            return Ignored("the payload names no repository")
        return News(OnRepository(reading.payload.repository.id), f.RepositoryEnded(at=reading.now, how=how))

    return read


def _installation_deleted(reading: Reading) -> Understood:
    if reading.payload.installation is None:
        return NO_INSTALLATION
    fact = f.RepositoryEnded(at=reading.now, how="The App was uninstalled.")
    return News(OnInstallation(reading.payload.installation.id), fact)


def _installation_opened(reading: Reading) -> Understood:
    """What could not be done there may be possible now."""
    if reading.payload.installation is None:
        return NO_INSTALLATION
    return News(OnInstallation(reading.payload.installation.id), None, hurry=True)


def _repositories_removed(reading: Reading) -> Understood:
    removed = reading.payload.repositories_removed or []
    fact = f.RepositoryEnded(at=reading.now, how="The repository was taken from the App's installation.")
    return tuple(News(OnRepository(each.id), fact) for each in removed) or Ignored("no repository was removed")


def _repositories_added(reading: Reading) -> Understood:
    """What could not be done there can be done now."""
    added = reading.payload.repositories_added or []
    return tuple(News(OnRepository(each.id), None, hurry=True) for each in added) or Ignored("no repository was added")


Reader = Callable[[Reading], Understood]

READERS: Mapping[str, Mapping[str, Reader]] = {
    "issues": {
        "labeled": labels.labelled,
        "unlabeled": labels.unlabelled,
        "edited": _issue_edited,
        "closed": _issue_ended(f.IssueEnd.CLOSED),
        "deleted": _issue_ended(f.IssueEnd.DELETED),
        "transferred": _issue_ended(f.IssueEnd.TRANSFERRED),
        "unlocked": _issue_unlocked,
    },
    "issue_comment": {"created": _comment_created, "edited": _comment_changed, "deleted": _comment_changed},
    "pull_request": {"closed": _pull_closed, "labeled": _pull_labeled},
    "repository": {
        "renamed": _repository_named,
        "transferred": _repository_transferred,
        "deleted": _repository_ended("The repository was deleted."),
        # Nothing can be written there, and every conversation is locked (github-facts 156).
        "archived": _repository_ended("The repository was archived."),
    },
    "label": {"archived": labels.archived, "edited": labels.renamed},
    "installation": {
        "deleted": _installation_deleted,
        "unsuspend": _installation_opened,
        "new_permissions_accepted": _installation_opened,
    },
    "installation_repositories": {"added": _repositories_added, "removed": _repositories_removed},
}
"""Which actions of which events are read, and by what. Everything else is answered with 2xx and left (36)."""
