"""What deliveries about labels mean: a trigger label is known by its name, and by its id once it was renamed."""

from app.core import facts as f
from app.core.news import Ignored, News, OnIssue, OnRepository, Trigger
from app.core.run import Request
from app.web.payload import CHANGED, Label
from app.web.reading import (
    A_PULL,
    NO_INSTALLATION,
    NO_ISSUE,
    Reading,
    Understood,
    WhichLabels,
    about_issue,
    person_of,
    snapshot_of,
)


def labelled(reading: Reading) -> Understood:
    payload = reading.payload
    issue, repository, installation = payload.issue, payload.repository, payload.installation
    if issue is None or repository is None:
        return NO_ISSUE
    if payload.label is None or payload.label.name is None:
        return Ignored("the payload does not say which label was set")
    if issue.pull_request is not None:
        return A_PULL
    if issue.state == "closed":
        return Ignored("the issue is closed")
    trigger = reading.trigger(payload.label)
    if trigger is None:
        # Only the label just set counts, never those that the issue carries (github-facts 6).
        return reading.none_of_ours(payload.label)
    if installation is None:
        return NO_INSTALLATION
    request = Request(
        run=reading.new_run_id(),
        installation_id=installation.id,
        repository_id=repository.id,
        repository=repository.full_name,
        issue_number=issue.number,
        issue_title=issue.title,
        issue_digest=snapshot_of(issue).digest(),
        label=payload.label.name,
        label_id=payload.label.id,
        renamed_from="" if trigger == payload.label.name else trigger,
        label_word=reading.word_of(trigger) or "",
        author=person_of(issue.user),
        labeller=reading.sender,
        labelled_at=reading.issue_changed_at,
    )
    fact = f.Labelled(at=reading.now, happened_at=reading.issue_changed_at, request=request)
    known = _trigger(reading, payload.label, trigger)
    return News(OnIssue(repository.id, issue.number), fact, reading.seen(), known)


def _trigger(reading: Reading, label: Label, name: str) -> Trigger | None:
    repository = reading.payload.repository
    if label.id is None or repository is None:
        return None
    return Trigger(repository.id, label.id, name)


def unlabelled(reading: Reading) -> Understood:
    payload, issue = reading.payload, reading.payload.issue
    if payload.label is not None and reading.trigger(payload.label) is None:
        return reading.none_of_ours(payload.label)
    # Without the key a label was deleted from the repository; which one, the payload does not say (github-facts 3).
    left = (issue.labels or ()) if issue is not None else ()
    if any(reading.trigger(label) is not None for label in left):
        return Ignored("the issue still carries the trigger label")
    asked = reading.none_of_ours(*left)
    if isinstance(asked, WhichLabels):
        return asked
    gone = payload.label is None
    fact = f.LabelRemoved(
        at=reading.now, happened_at=reading.issue_changed_at, person=reading.sender, deleted=gone
    )
    return about_issue(reading, fact)


def archived(reading: Reading) -> Understood:
    label, repository = reading.payload.label, reading.payload.repository
    if label is None or repository is None:
        return Ignored("the payload does not say which label was archived")
    trigger = reading.trigger(label)
    if trigger is None:
        return reading.none_of_ours(label)
    fact = f.LabelRemoved(at=reading.now, person=reading.sender, deleted=True, label=trigger, label_id=label.id)
    return News(OnRepository(repository.id), fact, reading.seen())


def renamed(reading: Reading) -> Understood:
    """A trigger label that gets another name goes on triggering as it did (github-facts 4); no run is concerned.

    Not so where it had that other name before: a label that was lent the trigger's name for a while triggers no more.
    """
    label, repository = reading.payload.label, reading.payload.repository
    changed = (reading.payload.changes or {}).get("name")
    before = CHANGED.decode(changed).before if changed is not None else None
    if label is None or repository is None or not before or label.id is None:
        return Ignored("it was not the trigger label that was renamed")
    there = OnRepository(repository.id)
    if reading.word_of(before) is not None:
        known = Trigger(repository.id, label.id, before, renamed_to=label.name or "")
        return News(there, None, reading.seen(), known)
    if label.name and reading.word_of(label.name) is not None:
        return News(there, None, reading.seen(), Trigger(repository.id, label.id, before))
    return Ignored("it was not the trigger label that was renamed")
