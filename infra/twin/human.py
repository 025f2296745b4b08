"""What people do by hand, with the rights that their role gives them (github-facts 79)."""

from collections.abc import Callable
from typing import Any

from infra.twin import people, pulls, shapes, shapes_issues, talk
from infra.twin.fields import Fields
from infra.twin.state import Actor, Comment, Issue, Person, Reaction
from infra.twin.talk import Place
from infra.twin.wire import Refused, not_found

Deed = Callable[[Fields], Any]


def _shown(fields: Fields, place: Place) -> dict[str, Any]:
    return shapes_issues.issue(fields.forge.world, place.repo, place.issue)


def _comment_shown(fields: Fields, place: Place, one: Comment) -> dict[str, Any]:
    return shapes_issues.comment(fields.forge.world, place.repo, place.issue, one)


def open_issue(fields: Fields) -> Any:
    """Open an issue. Labels of somebody without triage are dropped silently, unless they come `through` a form."""
    repo, actor = fields.repo(), fields.actor("author")
    people.require(repo, actor, "read")
    may_label = people.at_least(repo, people.role_of(repo, actor.person), "triage")
    labels = fields.texts("labels") if may_label or fields.maybe_text("through") == "form" else []
    draft = talk.Draft(fields.text("title"), fields.maybe_text("body"), tuple(labels))
    return _shown(fields, Place(repo, talk.open_issue(fields.forge, repo, draft, actor)))


def _own_or(place: Place, author: Person | None, actor: Actor, role: str) -> None:
    people.require(place.repo, actor, "read" if author is actor.person else role)


def edit_issue(fields: Fields) -> Any:
    """Change title or body: one's own, or with write."""
    place, actor = fields.place(), fields.actor()
    _own_or(place, place.issue.author, actor, "write")
    talk.edit_issue(fields.forge, place, fields.maybe_text("title"), fields.maybe_text("body"), actor)
    return _shown(fields, place)


def label(fields: Fields) -> Any:
    """Put a label on: triage; a label that does not exist yet: write."""
    place, actor, name = fields.place(), fields.actor(), fields.text("label")
    people.require(place.repo, actor, "triage" if talk.label_named(place.repo, name) else "write")
    talk.add_label(fields.forge, place, name, actor)
    return _shown(fields, place)


def unlabel(fields: Fields) -> Any:
    """Take a label off: triage."""
    place, actor = fields.place(), fields.actor()
    people.require(place.repo, actor, "triage")
    talk.remove_label(fields.forge, place, fields.text("label"), actor)
    return _shown(fields, place)


def comment(fields: Fields) -> Any:
    """Speak: anybody who can read; in a locked conversation only with write."""
    place, actor = fields.place(), fields.actor()
    people.require(place.repo, actor, "read")
    if place.issue.locked and not people.at_least(place.repo, people.role_of(place.repo, actor.person), "write"):
        raise Refused(403, talk.LOCKED)
    return _comment_shown(fields, place, talk.add_comment(fields.forge, place, fields.text("body"), actor))


def edit_comment(fields: Fields) -> Any:
    """Edit one's own comment, or with write anybody's (github-facts 46)."""
    (place, one), actor = fields.comment(), fields.actor()
    _own_or(place, one.author, actor, "write")
    talk.edit_comment(fields.forge, place, one, fields.text("body"), actor)
    return _comment_shown(fields, place, one)


def delete_comment(fields: Fields) -> Any:
    """Delete one's own comment, or with write anybody's."""
    (place, one), actor = fields.comment(), fields.actor()
    _own_or(place, one.author, actor, "write")
    talk.delete_comment(fields.forge, place, one, actor)
    return {}


def minimize(fields: Fields) -> Any:
    """Hide a comment: triage, or one's own."""
    (place, one), actor = fields.comment(), fields.actor()
    _own_or(place, one.author, actor, "triage")
    one.minimized = fields.maybe_text("reason") or "outdated"
    return _comment_shown(fields, place, one)


def unminimize(fields: Fields) -> Any:
    """Show a hidden comment again."""
    (place, one), actor = fields.comment(), fields.actor()
    _own_or(place, one.author, actor, "triage")
    one.minimized = None
    return _comment_shown(fields, place, one)


def _reactions(fields: Fields) -> tuple[Place, list[Reaction]]:
    if fields.values.get("comment_id") is not None:
        place, one = fields.comment()
        return place, one.reactions
    place = fields.place()
    return place, place.issue.reactions


def react(fields: Fields) -> Any:
    """React: anybody who can read; nobody when the conversation is locked (github-facts 42, 45)."""
    (place, reactions), actor = _reactions(fields), fields.actor()
    people.require(place.repo, actor, "read")
    made, _ = talk.react(fields.forge, reactions, place.issue, fields.text("content"), actor.person)
    return shapes_issues.reaction(fields.forge.world, made)


def unreact(fields: Fields) -> Any:
    """Take one's own reaction back; 404 when there is none. No trace stays (github-facts 43)."""
    (_, reactions), actor = _reactions(fields), fields.actor()
    for one in reactions:
        if one.person is actor.person and one.content == fields.text("content"):
            reactions.remove(one)
            return {}
    raise not_found()


def set_issue_state(fields: Fields) -> Any:
    """Close or reopen: the author, or triage."""
    place, actor = fields.place(), fields.actor()
    _own_or(place, place.issue.author, actor, "triage")
    talk.set_open(fields.forge, place, fields.text("state"), actor, fields.maybe_text("reason"))
    return _shown(fields, place)


def set_lock(fields: Fields) -> Any:
    """Lock or unlock: write."""
    place, actor = fields.place(), fields.actor()
    people.require(place.repo, actor, "write")
    talk.set_lock(fields.forge, place, fields.text("state"), actor, fields.maybe_text("reason"))
    return _shown(fields, place)


def delete_issue(fields: Fields) -> Any:
    """Delete: admin. Reading it is 410 from now on."""
    place, actor = fields.place(), fields.actor()
    people.require(place.repo, actor, "admin")
    place.issue.deleted = True
    talk.tell(fields.forge, place, "deleted", actor)
    return {}


def convert_to_discussion(fields: Fields) -> Any:
    """The issue becomes a discussion: write. What the App is told is not documented, so it is told nothing of the
    issue; reading it is 410 from now on."""
    place, actor = fields.place(), fields.actor()
    people.require(place.repo, actor, "write")
    place.issue.deleted = True
    return {}


def transfer_issue(fields: Fields) -> Any:
    """Move to another repository of the owner: comments travel, labels only where the name exists there (27, 28)."""
    place, actor, goal = fields.place(), fields.actor(), fields.repo("to")
    people.require(place.repo, actor, "write")
    people.require(goal, actor, "write")
    if goal.owner is not place.repo.owner or (place.repo.private and not goal.private):
        raise Refused(422, "Issues can only move within one owner, and never from private to public.")
    world, old = fields.forge.world, place.issue
    new = Issue(
        world.next_id("issue"), talk.next_number(goal), old.author, old.title, old.body, old.created, world.now(),
        comments=old.comments, reactions=old.reactions, state=old.state,
    )
    new.labels = [mark for mark in goal.labels if mark.name.lower() in {one.name.lower() for one in old.labels}]
    goal.issues.append(new)
    moved = Place(goal, new)
    changes = {
        "new_issue": shapes_issues.issue(world, goal, new), "new_repository": shapes.repository(world, goal),
    }
    talk.tell(fields.forge, place, "transferred", actor, changes=changes)
    came = {
        "old_issue": shapes_issues.issue(world, place.repo, old),
        "old_repository": shapes.repository(world, place.repo),
    }
    old.moved_to, old.comments = (goal.id, new.number), []
    talk.tell(fields.forge, moved, "opened", actor, changes=came)
    return _shown(fields, moved)


def forget_author(fields: Fields) -> Any:
    """The account of an issue's or comment's author is deleted: the author is null from now on (WH-02)."""
    if fields.values.get("comment_id") is not None:
        _, one = fields.comment()
        one.author = None
    else:
        fields.issue().author = None
    return {}


def open_pull(fields: Fields) -> Any:
    """Open a pull request by hand from a branch of the repository: write."""
    repo, actor = fields.repo(), fields.actor()
    people.require(repo, actor, "write")
    wish = pulls.Wish(
        fields.text("title"), fields.maybe_text("body"), fields.text("head"), fields.text("into"),
        "draft" if fields.flag("draft") else "ready",
    )
    return _shown(fields, Place(repo, pulls.open_pull(fields.forge, repo, wish, actor)))


def merge_pull(fields: Fields) -> Any:
    """Merge: write."""
    place, actor = fields.place(), fields.actor()
    people.require(place.repo, actor, "write")
    if place.issue.pull is None:
        raise not_found()
    return {"sha": pulls.merge(fields.forge, place, actor)}


def mark_ready(fields: Fields) -> Any:
    """A draft becomes ready for review: the author, or write."""
    place, actor = fields.place(), fields.actor()
    _own_or(place, place.issue.author, actor, "write")
    if place.issue.pull is None:
        raise not_found()
    place.issue.pull.draft = False
    talk.tell(fields.forge, place, "ready_for_review", actor)
    return _shown(fields, place)


DEEDS: dict[str, Deed] = {
    "open_issue": open_issue, "edit_issue": edit_issue, "label": label, "unlabel": unlabel, "comment": comment,
    "edit_comment": edit_comment, "delete_comment": delete_comment, "minimize": minimize, "unminimize": unminimize,
    "react": react, "unreact": unreact, "set_issue_state": set_issue_state, "set_lock": set_lock,
    "delete_issue": delete_issue, "transfer_issue": transfer_issue, "convert_to_discussion": convert_to_discussion,
    "forget_author": forget_author,
    "open_pull": open_pull, "merge_pull": merge_pull, "mark_ready": mark_ready,
}
