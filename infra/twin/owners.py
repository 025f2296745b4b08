"""What owners and administrators do: accounts, repositories, branches, roles, rules and the App's installation."""

from typing import Any

from infra.twin import mentions, people, refs, shapes, talk
from infra.twin.fields import Fields
from infra.twin.git_store import ZERO, Signature, decoded
from infra.twin.human import Deed
from infra.twin.state import Actor, Installation, Repo
from infra.twin.wire import Refused, not_found


def add_user(fields: Fields) -> Any:
    """An account, made when it is new."""
    number = fields.whole("id") if fields.values.get("id") is not None else None
    person = fields.forge.world.add_person(fields.text("login"), fields.maybe_text("kind") or "User", number)
    return shapes.user(fields.forge.world, person)


def add_repo(fields: Fields) -> Any:
    """A repository with a first commit of `files` ({path, mode, content: base64}); covered by an `all` installation."""
    forge, world = fields.forge, fields.forge.world
    owner_login, _, name = fields.text("repo").partition("/")
    if not name or world.repo_named(owner_login, name):
        raise Refused(422, "the repository exists already, or its name is not owner/name")
    owner = world.add_person(owner_login, fields.maybe_text("owner_kind") or "Organization")
    now = world.now()
    repo = Repo(
        world.next_id(), owner, name, now, now, fields.flag("private"), fields.maybe_text("default_branch") or "main",
        fields.maybe_text("description"), roles={}, custom_roles=fields.pairs("custom_roles"),
    )
    repo.drafts = fields.values.get("drafts") is not False
    for login, role in fields.pairs("collaborators").items():
        world.add_person(login)
        repo.roles[login.lower()] = role
    world.repos[repo.id] = repo
    forge.git.create(repo.id, repo.default_branch)
    for label in fields.texts("labels"):
        talk.ensure_label(forge, repo, label, Actor(owner))
    if fields.values.get("files"):
        commit_files(fields, repo, repo.default_branch, fields.maybe_text("message") or "First commit", Actor(owner))
    return shapes.full_repository(world, repo)


def commit_files(fields: Fields, repo: Repo, branch: str, message: str, actor: Actor) -> str:
    """One commit on `branch` (made when new, from the default branch); content None deletes; the commit's name."""
    git = fields.forge.git
    name = refs.HEADS + branch
    old = git.ref(repo.id, name)
    start = old or git.ref(repo.id, refs.HEADS + repo.default_branch)
    changes: list[tuple[str, str | None, str]] = []
    for entry in fields.values.get("files") or []:
        content = entry.get("content")
        sha = None if content is None else git.write_blob(repo.id, decoded(content, "base64"))
        changes.append((entry.get("mode") or "100644", sha, entry["path"]))
    tree = git.write_tree(repo.id, git.read_commit(repo.id, start).tree if start else None, changes)
    login = actor.person.login
    by = Signature(login, f"{actor.person.id}+{login}@users.noreply.github.com", fields.forge.world.now())
    sha = git.write_commit(repo.id, tree, [start] if start else [], message, (by, by))
    before = refs.snapshot(fields.forge, repo)
    git.move_ref(repo.id, name, sha, old or ZERO)
    refs.announce(fields.forge, repo, before, actor)
    return sha


def push_commit(fields: Fields) -> Any:
    """Push files to a branch by hand: write."""
    repo, actor = fields.repo(), fields.actor()
    people.require(repo, actor, "write")
    talk.writable(repo)
    sha = commit_files(fields, repo, fields.text("branch"), fields.text("message"), actor)
    mentions.reference_commit(fields.forge, repo, sha, fields.text("message"), actor)
    return {"sha": sha}


def set_permission(fields: Fields) -> Any:
    """Give a role, built-in or one of the repository's custom roles; `none` takes all away."""
    repo, login, role = fields.repo(), fields.text("login"), fields.text("role")
    if role not in people.ROLES and role not in repo.custom_roles:
        raise Refused(422, f"no role {role}")
    fields.forge.world.add_person(login)
    repo.roles[login.lower()] = role
    return {"login": login, "role": role}


def set_team(fields: Fields) -> Any:
    """The members of `org`'s team `slug`."""
    members = {login.lower() for login in fields.texts("members")}
    fields.forge.world.teams[(fields.text("org").lower(), fields.text("slug"))] = members
    return {"members": sorted(members)}


def change_repo(fields: Fields) -> Any:
    """Rename, archive, make private, change default branch …; each change sends its `repository` event."""
    repo, actor = fields.repo(), Actor(fields.repo().owner)
    emit, changed = fields.forge.webhooks.emit, fields.values
    if changed.get("name"):
        old, repo.name = repo.name, fields.text("name")
        repo.former_names.append(f"{repo.owner.login}/{old}".lower())
        emit("repository", "renamed", repo, actor, changes={"repository": {"name": {"from": old}}})
    if changed.get("archived") is not None:
        repo.archived = fields.flag("archived")
        emit("repository", "archived" if repo.archived else "unarchived", repo, actor)
    if changed.get("private") is not None:
        repo.private = fields.flag("private")
        emit("repository", "privatized" if repo.private else "publicized", repo, actor)
    if changed.get("default_branch"):
        old, repo.default_branch = repo.default_branch, fields.text("default_branch")
        fields.forge.git.git(repo.id, ["symbolic-ref", "HEAD", refs.HEADS + repo.default_branch])
        emit("repository", "edited", repo, actor, changes={"default_branch": {"from": old}})
    if changed.get("drafts") is not None:
        repo.drafts = fields.flag("drafts")
    if changed.get("web_signing") is not None:
        repo.web_signing = fields.flag("web_signing")
    if changed.get("blocked") is not None:
        repo.blocked = fields.flag("blocked")
    if changed.get("has_issues") is not None:
        repo.has_issues = fields.flag("has_issues")
    return shapes.full_repository(fields.forge.world, repo)


def transfer_repo(fields: Fields) -> Any:
    """Another account's from now on: only the new owner's installation is told, where there is one (fact 26)."""
    repo, actor = fields.repo(), Actor(fields.repo().owner)
    repo.former_names.append(repo.full_name.lower())
    old, repo.owner = repo.owner, fields.forge.world.add_person(fields.text("to"), "Organization")
    changes = {"owner": {"from": {"organization": shapes.user(fields.forge.world, old)}}}
    fields.forge.webhooks.emit("repository", "transferred", repo, actor, changes=changes)
    return shapes.full_repository(fields.forge.world, repo)


def move_branch(fields: Fields) -> Any:
    """A branch is renamed (`to`), set to a commit of its own with `files` and no history before (forced), or gone."""
    forge, repo, actor = fields.forge, fields.repo(), Actor(fields.repo().owner)
    branch, to, before = fields.text("branch"), fields.maybe_text("to"), refs.snapshot(fields.forge, repo)
    if to is not None:
        forge.git.move_ref(repo.id, refs.HEADS + to, before[refs.HEADS + branch])
    if fields.values.get("files"):
        forge.git.move_ref(repo.id, refs.HEADS + branch, _rootless(fields, repo))
    else:
        forge.git.drop_ref(repo.id, refs.HEADS + branch)
    refs.announce(forge, repo, before, actor)
    if to is not None and branch == repo.default_branch:
        repo.default_branch = to
        forge.git.git(repo.id, ["symbolic-ref", "HEAD", refs.HEADS + to])
        forge.webhooks.emit("repository", "edited", repo, actor, changes={"default_branch": {"from": branch}})
    return {}


def _rootless(fields: Fields, repo: Repo) -> str:
    git, login = fields.forge.git, repo.owner.login
    blobs = [
        (one.get("mode") or "100644", git.write_blob(repo.id, decoded(one["content"], "base64")), one["path"])
        for one in fields.values["files"]
    ]
    by = Signature(login, f"{login}@users.noreply.github.com", fields.forge.world.now())
    return git.write_commit(repo.id, git.write_tree(repo.id, None, blobs), [], "Begin anew", (by, by))


def delete_repo(fields: Fields) -> Any:
    """Delete a repository: `repository.deleted`, then it is gone."""
    repo = fields.repo()
    fields.forge.webhooks.emit("repository", "deleted", repo, Actor(repo.owner))
    del fields.forge.world.repos[repo.id]
    return {}


def rename_label(fields: Fields) -> Any:
    """One `label.edited`, nothing per issue (github-facts 4)."""
    repo, actor = fields.repo(), fields.actor()
    people.require(repo, actor, "write")
    mark = talk.label_named(repo, fields.text("label"))
    if mark is None:
        raise not_found()
    old, mark.name = mark.name, fields.text("name")
    shown = shapes.label(fields.forge.world, repo, mark)
    fields.forge.webhooks.emit("label", "edited", repo, actor, label=shown, changes={"name": {"from": old}})
    return shown


def delete_label(fields: Fields) -> Any:
    """`label.deleted`, and `issues.unlabeled` *without* `label` for every issue that carried it (github-facts 3)."""
    repo, actor = fields.repo(), fields.actor()
    people.require(repo, actor, "write")
    mark = talk.label_named(repo, fields.text("label"))
    if mark is None:
        raise not_found()
    repo.labels.remove(mark)
    for issue in repo.issues:
        if mark in issue.labels:
            issue.labels.remove(mark)
            talk.tell(fields.forge, talk.Place(repo, issue), "unlabeled", actor)
    shown = shapes.label(fields.forge.world, repo, mark)
    fields.forge.webhooks.emit("label", "deleted", repo, actor, label=shown)
    return {}


def add_rule(fields: Fields) -> Any:
    """A branch rule (`creation`, `update`, `deletion`, `required_signatures` …) for a pattern."""
    repo = fields.repo()
    rule = {
        "id": fields.forge.world.next_id(), "pattern": fields.text("pattern"), "type": fields.text("type"),
        "parameters": fields.values.get("parameters"),
    }
    repo.rules.append(rule)
    return rule


def install(fields: Fields) -> Any:
    """Install the App on an account, for all its repositories or for those named."""
    world = fields.forge.world
    if world.app is None:
        raise Refused(422, "there is no App")
    account, now = fields.person("account"), world.now()
    names = fields.texts("repos")
    ids = [repo.id for repo in world.repos.values() if repo.full_name in names] if names else None
    one = Installation(
        world.next_id(), account, fields.pairs("permissions") or dict(world.app.permissions),
        fields.texts("events") or list(world.app.events), now, now, ids,
    )
    world.installations[one.id] = one
    _lifecycle(fields, one, "created")
    return shapes.installation(world, one)


def _installation(fields: Fields) -> Installation:
    account = fields.person("account")
    for one in fields.forge.world.installations.values():
        if one.account is account:
            return one
    raise not_found()


def _lifecycle(fields: Fields, one: Installation, action: str) -> None:
    world = fields.forge.world
    payload: dict[str, Any] = {
        "installation": shapes.installation(world, one), "sender": shapes.user(world, one.account)
    }
    if action in {"created", "deleted", "suspend", "unsuspend"}:
        payload["repositories"] = [_brief(fields, repo) for repo in world.covered(one)]
    fields.forge.webhooks.emit_lifecycle("installation", action, one.id, payload)


def _brief(fields: Fields, repo: Repo) -> dict[str, Any]:
    whole = shapes.repository(fields.forge.world, repo)
    return {name: whole[name] for name in ("id", "node_id", "name", "full_name", "private")}


def suspend(fields: Fields) -> Any:
    """No webhooks and no tokens from now on, but still listed (github-facts 69)."""
    one = _installation(fields)
    one.suspended, one.suspended_by = fields.forge.world.now(), one.account
    _lifecycle(fields, one, "suspend")
    return shapes.installation(fields.forge.world, one)


def unsuspend(fields: Fields) -> Any:
    """As before."""
    one = _installation(fields)
    one.suspended = one.suspended_by = None
    _lifecycle(fields, one, "unsuspend")
    return shapes.installation(fields.forge.world, one)


def uninstall(fields: Fields) -> Any:
    """`installation.deleted`; tokens are dead and minting is 404."""
    one = _installation(fields)
    _lifecycle(fields, one, "deleted")
    del fields.forge.world.installations[one.id]
    for token in fields.forge.world.tokens.values():
        if token.installation_id == one.id and token.revoked is None:
            token.revoked = fields.forge.world.now()
    return {}


def set_installation_permissions(fields: Fields) -> Any:
    """The owner accepts other permissions; tokens minted before keep theirs (github-facts 61, 67)."""
    one = _installation(fields)
    one.permissions, one.updated = fields.pairs("permissions"), fields.forge.world.now()
    _lifecycle(fields, one, "new_permissions_accepted")
    return shapes.installation(fields.forge.world, one)


def choose_repos(fields: Fields) -> Any:
    """Select which repositories the installation covers; `installation_repositories` tells the difference."""
    world, one = fields.forge.world, _installation(fields)
    before, names = world.covered(one), fields.texts("repos")
    one.repo_ids = [repo.id for repo in world.repos.values() if repo.full_name in names]
    after = world.covered(one)
    for action, first, second in (("added", after, before), ("removed", before, after)):
        changed = [_brief(fields, repo) for repo in first if repo not in second]
        if changed:
            payload = {
                "installation": shapes.installation(world, one), "repository_selection": "selected",
                "repositories_added": changed if action == "added" else [],
                "repositories_removed": changed if action == "removed" else [],
                "requester": None, "sender": shapes.user(world, one.account),
            }
            fields.forge.webhooks.emit_lifecycle("installation_repositories", action, one.id, payload)
    return shapes.installation(world, one)


DEEDS: dict[str, Deed] = {
    "add_user": add_user, "add_repo": add_repo, "push_commit": push_commit, "set_permission": set_permission,
    "set_team": set_team, "change_repo": change_repo, "delete_repo": delete_repo,
    "transfer_repo": transfer_repo, "move_branch": move_branch, "rename_label": rename_label,
    "delete_label": delete_label, "add_rule": add_rule, "install": install,
    "suspend": suspend, "unsuspend": unsuspend, "uninstall": uninstall,
    "set_installation_permissions": set_installation_permissions, "choose_repos": choose_repos,
}
