"""What can be done to issues and conversations, whoever does it; each act tells the App by webhook as GitHub would."""

from dataclasses import dataclass
from typing import Any

from infra.twin import mentions, shapes, shapes_issues
from infra.twin.forge import Forge
from infra.twin.state import Actor, Comment, Happening, Issue, Label, Person, Reaction, Repo
from infra.twin.wire import Refused, invalid, not_found

LONGEST_BODY = 65536
"""Code points of an issue or pull request body (github-facts 144)."""
LONGEST_COMMENT = 262144
"""Bytes of a comment; more than 65,536 code points are refused as well."""
LONGEST_TITLE = 256
ARCHIVED = "Repository was archived so is read-only."
NO_ISSUES = "Issues are disabled for this repo"
LOCKED = "Unable to create comment because issue is locked."


@dataclass(frozen=True)
class Draft:
    """What a new issue says."""

    title: str
    body: str | None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """An issue in its repository."""

    repo: Repo
    issue: Issue


def writable(repo: Repo) -> None:
    """403 when the repository is archived."""
    if repo.archived:
        raise Refused(403, ARCHIVED)


def checked_title(title: str) -> str:
    """The title; 422 when it is empty or too long."""
    if not title.strip():
        raise invalid("Issue", "title", "missing_field")
    if len(title) > LONGEST_TITLE:
        raise invalid("Issue", "title", message=f"title is too long (maximum is {LONGEST_TITLE} characters)")
    return title


def checked_body(body: str | None, resource: str = "Issue") -> str | None:
    """The body; 422 when it is too long."""
    if body is not None and len(body) > LONGEST_BODY:
        raise invalid(resource, "body", message=f"body is too long (maximum is {LONGEST_BODY} characters)")
    return body


def checked_comment(body: Any) -> str:
    """A comment's text; 422 when empty, too long or no text."""
    if not isinstance(body, str):
        raise invalid("IssueComment", "body", "missing_field")
    if not body.strip():
        raise invalid("IssueComment", "body", message="Body cannot be blank")
    if len(body) > LONGEST_BODY or len(body.encode("utf-8", "surrogatepass")) > LONGEST_COMMENT:
        raise invalid("IssueComment", "body", message=f"Body is too long (maximum is {LONGEST_BODY} characters)")
    return body


def find_issue(forge: Forge, repo: Repo, number: int) -> Issue:
    """The issue or pull request; 404, 410 when deleted or issues are off, 301 when it moved (github-facts 157)."""
    for issue in repo.issues:
        if issue.number != number:
            continue
        if issue.moved_to:
            home, new_number = issue.moved_to
            refusal = Refused(301, "Moved Permanently")
            refusal.headers["Location"] = f"{forge.world.url}/repositories/{home}/issues/{new_number}"
            raise refusal
        if issue.deleted:
            raise Refused(410, "This issue was deleted")
        if not repo.has_issues and issue.pull is None:
            raise Refused(410, NO_ISSUES)
        return issue
    raise not_found()


def label_named(repo: Repo, name: str) -> Label | None:
    """The repository's label, whatever its letter case."""
    return next((mark for mark in repo.labels if mark.name.lower() == name.lower()), None)


def ensure_label(forge: Forge, repo: Repo, name: str, actor: Actor) -> Label:
    """The label, made when it is new."""
    mark = label_named(repo, name)
    if mark is None:
        mark = Label(forge.world.next_id(), name)
        repo.labels.append(mark)
        forge.webhooks.emit("label", "created", repo, actor, label=shapes.label(forge.world, repo, mark))
    return mark


def next_number(repo: Repo) -> int:
    """Issues and pull requests share one sequence."""
    return 1 + max((issue.number for issue in repo.issues), default=0)


def tell(forge: Forge, place: Place, action: str, actor: Actor, **fields: Any) -> None:
    """Send `issues` or, for a pull request, `pull_request`."""
    world = forge.world
    if place.issue.pull is None:
        shown = shapes_issues.issue(world, place.repo, place.issue)
        forge.webhooks.emit("issues", action, place.repo, actor, issue=shown, **fields)
        return
    counts = {"commits": 1, "additions": 0, "deletions": 0, "changed_files": 0}
    shown = shapes_issues.pull(world, place.repo, place.issue, counts)
    forge.webhooks.emit(
        "pull_request", action, place.repo, actor, number=place.issue.number, pull_request=shown, **fields
    )


def happen(forge: Forge, place: Place, event: str, actor: Actor, **details: Any) -> None:
    """Add to the timeline."""
    entry = Happening(forge.world.next_id(), event, actor.person, forge.world.now(), actor.via_app, details)
    place.issue.timeline.append(entry)
    place.issue.updated = forge.world.now()


def open_issue(forge: Forge, repo: Repo, draft: Draft, actor: Actor) -> Issue:
    """A new issue: `opened`, then one `labeled` per label, each with the full list (github-facts 6)."""
    writable(repo)
    if not repo.has_issues:
        raise Refused(410, NO_ISSUES)
    now = forge.world.now()
    issue = Issue(
        forge.world.next_id("issue"), next_number(repo), actor.person, checked_title(draft.title),
        checked_body(draft.body), now, now, via_app=actor.via_app,
    )
    issue.labels = [ensure_label(forge, repo, name, actor) for name in draft.labels]
    repo.issues.append(issue)
    place = Place(repo, issue)
    mentions.cross_reference(forge, repo, issue, issue.body, actor)
    tell(forge, place, "opened", actor)
    for mark in issue.labels:
        happen(forge, place, "labeled", actor, label={"name": mark.name, "color": mark.color})
        tell(forge, place, "labeled", actor, label=shapes.label(forge.world, repo, mark))
    return issue


def edit_issue(forge: Forge, place: Place, title: str | None, body: str | None, actor: Actor) -> None:
    """Change title or body (None: leave); one `edited` with what was there before."""
    writable(place.repo)
    issue, changes = place.issue, {}
    if title is not None and checked_title(title) != issue.title:
        changes["title"] = {"from": issue.title}
        happen(forge, place, "renamed", actor, rename={"from": issue.title, "to": title})
        issue.title = title
    if body is not None and checked_body(body) != issue.body:
        changes["body"] = {"from": issue.body or ""}
        issue.body = body
        mentions.cross_reference(forge, place.repo, issue, body, actor)
    if changes:
        issue.updated = issue.edited = forge.world.now()
        issue.editor = actor.person
        tell(forge, place, "edited", actor, changes=changes)


def set_open(forge: Forge, place: Place, state: str, actor: Actor, reason: str | None = None) -> None:
    """Close or reopen; nothing when it is so already."""
    writable(place.repo)
    issue = place.issue
    if issue.state == state:
        return
    issue.state = state
    closing = state == "closed"
    issue.closed = forge.world.now() if closing else None
    issue.closed_by = actor.person if closing else None
    if issue.pull is None:
        issue.state_reason = (reason or "completed") if closing else "reopened"
    happen(forge, place, "closed" if closing else "reopened", actor, state_reason=issue.state_reason)
    tell(forge, place, "closed" if closing else "reopened", actor)


def add_label(forge: Forge, place: Place, name: str, actor: Actor) -> None:
    """Put a label on; one `labeled`, none when it is there already."""
    writable(place.repo)
    mark = ensure_label(forge, place.repo, name, actor)
    if mark in place.issue.labels:
        return
    place.issue.labels.append(mark)
    happen(forge, place, "labeled", actor, label={"name": mark.name, "color": mark.color})
    tell(forge, place, "labeled", actor, label=shapes.label(forge.world, place.repo, mark))


def remove_label(forge: Forge, place: Place, name: str, actor: Actor) -> None:
    """Take a label off; 404 `Label does not exist` when it is not on."""
    writable(place.repo)
    mark = label_named(place.repo, name)
    if mark is None or mark not in place.issue.labels:
        raise Refused(404, "Label does not exist")
    place.issue.labels.remove(mark)
    happen(forge, place, "unlabeled", actor, label={"name": mark.name, "color": mark.color})
    tell(forge, place, "unlabeled", actor, label=shapes.label(forge.world, place.repo, mark))


def set_lock(forge: Forge, place: Place, state: str, actor: Actor, reason: str | None = None) -> None:
    """Lock (`locked`) or unlock (`unlocked`) a conversation."""
    writable(place.repo)
    place.issue.locked = state == "locked"
    place.issue.lock_reason = reason if place.issue.locked else None
    happen(forge, place, state, actor, lock_reason=place.issue.lock_reason)
    tell(forge, place, state, actor)


def tell_comment(forge: Forge, place: Place, one: Comment, action: str, actor: Actor, **fields: Any) -> None:
    """Send `issue_comment`, for issues and pull requests alike (github-facts 10)."""
    world = forge.world
    forge.webhooks.emit(
        "issue_comment", action, place.repo, actor, issue=shapes_issues.issue(world, place.repo, place.issue),
        comment=shapes_issues.comment(world, place.repo, place.issue, one), **fields,
    )


def add_comment(forge: Forge, place: Place, body: Any, actor: Actor) -> Comment:
    """A new comment; 403 in archived repositories."""
    writable(place.repo)
    now = forge.world.now()
    one = Comment(forge.world.next_id("comment"), actor.person, checked_comment(body), now, now, actor.via_app)
    place.issue.comments.append(one)
    place.issue.updated = now
    mentions.cross_reference(forge, place.repo, place.issue, one.body, actor)
    tell_comment(forge, place, one, "created", actor)
    return one


def edit_comment(forge: Forge, place: Place, one: Comment, body: Any, actor: Actor) -> None:
    """Change a comment; the sender is the editor, the author stays (github-facts 35)."""
    writable(place.repo)
    before, one.body = one.body, checked_comment(body)
    if before != one.body:
        one.updated = one.edited = forge.world.now()
        one.editor = actor.person
        tell_comment(forge, place, one, "edited", actor, changes={"body": {"from": before}})


def delete_comment(forge: Forge, place: Place, one: Comment, actor: Actor) -> None:
    """Remove a comment with its reactions."""
    writable(place.repo)
    place.issue.comments.remove(one)
    tell_comment(forge, place, one, "deleted", actor)


def react(forge: Forge, reactions: list[Reaction], issue: Issue, content: Any, person: Person) -> tuple[Reaction, int]:
    """The person's reaction and 201 when new, 200 when it was there (github-facts 43); no webhook at all (1)."""
    if content not in shapes_issues.CONTENTS:
        raise invalid("Reaction", "content")
    if issue.locked:
        raise Refused(403, "You can't react to a locked conversation.")
    for one in reactions:
        if one.person is person and one.content == content:
            return one, 200
    fresh = Reaction(forge.world.next_id(), person, content, forge.world.now())
    reactions.append(fresh)
    return fresh, 201
