"""REST: issues, comments, labels, locks, reactions and the timeline."""

from typing import Any

from infra.twin import shapes, shapes_issues, talk
from infra.twin.access import actor_of, reaches
from infra.twin.dispatch import Handler, paged
from infra.twin.forge import Forge
from infra.twin.state import Comment, Happening, Issue, Label, Reaction, Repo, stamp
from infra.twin.talk import Place
from infra.twin.wire import Call, Refused, Reply, invalid, not_found, text_field


def _issue(forge: Forge, call: Call, repo: Repo) -> Issue:
    return talk.find_issue(forge, repo, call.number("issue_number"))


def _comment(forge: Forge, call: Call, repo: Repo) -> tuple[Issue, Comment]:
    found = forge.world.find_comment(repo, call.number("comment_id"))
    if found is None:
        raise not_found()
    if not repo.has_issues and found[0].pull is None:
        raise Refused(410, talk.NO_ISSUES)
    return found


def _unlocked(issue: Issue) -> None:
    """An App is no collaborator: it may not speak in a locked conversation (github-facts 156)."""
    if issue.locked:
        raise Refused(403, talk.LOCKED)


def get_issue(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET issues/{n}`, for pull requests too."""
    return Reply(value=shapes_issues.issue(forge.world, repo, _issue(forge, call, repo)))


def list_issues(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET issues`: newest first, `state` open by default, `labels` all required, changed at or after `since`."""
    state = call.query.get("state", "open")
    since = call.query.get("since", "")
    wanted = {name.lower() for name in call.query.get("labels", "").split(",") if name}
    chosen = [
        one
        for one in sorted(repo.issues, key=lambda one: -one.number)
        if not one.deleted and state in {"all", one.state} and wanted <= {mark.name.lower() for mark in one.labels}
        and (stamp(one.updated) or "") >= since
    ]
    return paged(forge, call, [shapes_issues.issue(forge.world, repo, one) for one in chosen])


def create_issue(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`POST issues`."""
    fields = call.fields()
    draft = talk.Draft(text_field(fields, "title", "Issue"), fields.get("body"), tuple(_names(fields.get("labels"))))
    made = talk.open_issue(forge, repo, draft, actor_of(forge, call))
    return Reply(201, shapes_issues.issue(forge.world, repo, made))


def update_issue(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`PATCH issues/{n}`: title, body, state, labels."""
    fields, actor = call.fields(), actor_of(forge, call)
    place = Place(repo, _issue(forge, call, repo))
    if fields.get("state") not in {None, "open", "closed"}:
        raise invalid("Issue", "state")
    talk.edit_issue(forge, place, fields.get("title"), fields.get("body"), actor)
    if fields.get("labels") is not None:
        _set_labels(forge, place, _names(fields["labels"]), actor)
    if fields.get("state"):
        talk.set_open(forge, place, fields["state"], actor, fields.get("state_reason"))
    return Reply(value=shapes_issues.issue(forge.world, repo, place.issue))


def _set_labels(forge: Forge, place: Place, names: list[str], actor: Any) -> None:
    wanted = {name.lower() for name in names}
    for mark in list(place.issue.labels):
        if mark.name.lower() not in wanted:
            talk.remove_label(forge, place, mark.name, actor)
    for name in names:
        talk.add_label(forge, place, name, actor)


def _names(value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise invalid("Label", "labels")
    names = [one.get("name") if isinstance(one, dict) else one for one in value]
    if not all(isinstance(name, str) and name for name in names):
        raise invalid("Label", "name")
    return [str(name) for name in names]


def list_comments(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET issues/{n}/comments`, oldest first."""
    issue = _issue(forge, call, repo)
    since = call.query.get("since")
    chosen = [one for one in issue.comments if since is None or one.updated.strftime("%Y-%m-%dT%H:%M:%SZ") >= since]
    return paged(forge, call, [shapes_issues.comment(forge.world, repo, issue, one) for one in chosen])


def create_comment(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`POST issues/{n}/comments`."""
    issue, actor = _issue(forge, call, repo), actor_of(forge, call)
    _unlocked(issue)
    one = talk.add_comment(forge, Place(repo, issue), call.fields().get("body"), actor)
    shown = shapes_issues.comment(forge.world, repo, issue, one)
    return Reply(201, shown, headers={"Location": shown["url"]})


def get_comment(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET issues/comments/{id}`."""
    issue, one = _comment(forge, call, repo)
    return Reply(value=shapes_issues.comment(forge.world, repo, issue, one))


def update_comment(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`PATCH issues/comments/{id}`."""
    issue, one = _comment(forge, call, repo)
    _unlocked(issue)
    talk.edit_comment(forge, Place(repo, issue), one, call.fields().get("body"), actor_of(forge, call))
    return Reply(value=shapes_issues.comment(forge.world, repo, issue, one))


def delete_comment(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`DELETE issues/comments/{id}`."""
    issue, one = _comment(forge, call, repo)
    talk.delete_comment(forge, Place(repo, issue), one, actor_of(forge, call))
    return Reply(204)


def _list_reactions(forge: Forge, call: Call, reactions: list[Reaction]) -> Reply:
    content = call.query.get("content")
    chosen = [one for one in reactions if content in {None, one.content}]
    return paged(forge, call, [shapes_issues.reaction(forge.world, one) for one in chosen])


def list_comment_reactions(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET issues/comments/{id}/reactions`, optionally of one `content`."""
    return _list_reactions(forge, call, _comment(forge, call, repo)[1].reactions)


def create_comment_reaction(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`POST issues/comments/{id}/reactions`."""
    issue, one = _comment(forge, call, repo)
    talk.writable(repo)
    person = actor_of(forge, call).person
    made, status = talk.react(forge, one.reactions, issue, call.fields().get("content"), person)
    return Reply(status, shapes_issues.reaction(forge.world, made))


def delete_comment_reaction(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`DELETE issues/comments/{id}/reactions/{id}`: the App's own only."""
    reactions = _comment(forge, call, repo)[1].reactions
    number, person = call.number("reaction_id"), actor_of(forge, call).person
    found = next((one for one in reactions if one.id == number and one.person is person), None)
    if found is None:
        raise not_found()
    reactions.remove(found)
    return Reply(204)


def list_issue_reactions(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET issues/{n}/reactions`."""
    return _list_reactions(forge, call, _issue(forge, call, repo).reactions)


def create_issue_reaction(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`POST issues/{n}/reactions`."""
    issue, person = _issue(forge, call, repo), actor_of(forge, call).person
    made, status = talk.react(forge, issue.reactions, issue, call.fields().get("content"), person)
    return Reply(status, shapes_issues.reaction(forge.world, made))


def _labels(forge: Forge, repo: Repo, marks: list[Label]) -> list[dict[str, Any]]:
    return [shapes.label(forge.world, repo, mark) for mark in marks]


def list_issue_labels(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET issues/{n}/labels`."""
    return paged(forge, call, _labels(forge, repo, _issue(forge, call, repo).labels))


def add_labels(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`POST issues/{n}/labels`: the labels afterwards."""
    place, actor = Place(repo, _issue(forge, call, repo)), actor_of(forge, call)
    for name in _names(call.fields().get("labels")):
        talk.add_label(forge, place, name, actor)
    return Reply(value=_labels(forge, repo, place.issue.labels))


def remove_label(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`DELETE issues/{n}/labels/{name}`: the labels left."""
    place = Place(repo, _issue(forge, call, repo))
    talk.remove_label(forge, place, call.params["name"], actor_of(forge, call))
    return Reply(value=_labels(forge, repo, place.issue.labels))


def list_repo_labels(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET labels`."""
    return paged(forge, call, _labels(forge, repo, repo.labels))


def get_repo_label(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET labels/{name}`."""
    mark = talk.label_named(repo, call.params["name"])
    if mark is None:
        raise not_found()
    return Reply(value=shapes.label(forge.world, repo, mark))


def create_repo_label(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`POST labels`; 422 `already_exists`."""
    fields = call.fields()
    name = text_field(fields, "name", "Label")
    talk.writable(repo)
    if talk.label_named(repo, name):
        raise invalid("Label", "name", "already_exists")
    mark = talk.ensure_label(forge, repo, name, actor_of(forge, call))
    mark.color, mark.description = fields.get("color") or mark.color, fields.get("description")
    return Reply(201, shapes.label(forge.world, repo, mark))


def lock(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`PUT issues/{n}/lock`."""
    place = Place(repo, _issue(forge, call, repo))
    talk.set_lock(forge, place, "locked", actor_of(forge, call), call.fields().get("lock_reason"))
    return Reply(204)


def unlock(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`DELETE issues/{n}/lock`."""
    talk.set_lock(forge, Place(repo, _issue(forge, call, repo)), "unlocked", actor_of(forge, call))
    return Reply(204)


def timeline(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET issues/{n}/timeline`: who labelled, and when, after the fact (github-facts 82), and what speaks of it,
    except from where the caller may not look."""
    issue, world = _issue(forge, call, repo), forge.world
    entries = [
        (one.created, one.id, shapes_issues.happening(world, repo, issue, one))
        for one in issue.timeline
        if _may_be_seen(forge, call, one)
    ]
    for one in issue.comments:
        entries.append((one.created, one.id, shapes_issues.timeline_comment(world, repo, issue, one)))
    return paged(forge, call, [shown for _, _, shown in sorted(entries, key=lambda entry: entry[:2])])


def _may_be_seen(forge: Forge, call: Call, one: Happening) -> bool:
    if one.event != "cross-referenced":
        return True
    home = forge.world.repos.get(one.details["source"][0])
    return home is not None and (not home.private or reaches(forge, call.caller, home))


HANDLERS: dict[str, Handler] = {
    "issues/get": get_issue,
    "issues/list-for-repo": list_issues,
    "issues/create": create_issue,
    "issues/update": update_issue,
    "issues/list-comments": list_comments,
    "issues/create-comment": create_comment,
    "issues/get-comment": get_comment,
    "issues/update-comment": update_comment,
    "issues/delete-comment": delete_comment,
    "issues/list-labels-on-issue": list_issue_labels,
    "issues/add-labels": add_labels,
    "issues/remove-label": remove_label,
    "issues/list-labels-for-repo": list_repo_labels,
    "issues/get-label": get_repo_label,
    "issues/create-label": create_repo_label,
    "issues/lock": lock,
    "issues/unlock": unlock,
    "issues/list-events-for-timeline": timeline,
    "reactions/list-for-issue-comment": list_comment_reactions,
    "reactions/create-for-issue-comment": create_comment_reaction,
    "reactions/delete-for-issue-comment": delete_comment_reaction,
    "reactions/list-for-issue": list_issue_reactions,
    "reactions/create-for-issue": create_issue_reaction,
}
