"""REST: the repository, its people, branches, commits, comparison, contents and rules."""

import base64
from typing import Any
from urllib.parse import quote

from infra.twin import people, shapes, shapes_git
from infra.twin.diffs import changed_files, diff_text, mail_text
from infra.twin.dispatch import Handler, paged
from infra.twin.forge import Forge
from infra.twin.git_store import TreeEntry
from infra.twin.rest_git import rules_for
from infra.twin.state import Repo
from infra.twin.wire import Call, Refused, Reply, not_found, raw_reply


def get_repo(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET /repos/{owner}/{repo}`."""
    return Reply(value=shapes.full_repository(forge.world, repo))


def permission(forge: Forge, call: Call, repo: Repo) -> Reply:
    """The legacy level and the true role; a public repository answers `read` for anybody (github-facts 74-77)."""
    login = call.params["username"]
    person = forge.world.person(login)
    if person is None or (person.kind != "User" and not person.login.endswith("[bot]")):
        raise Refused(404, f"{login} is not a user")
    role = people.role_of(repo, person)
    level = people.legacy(repo, role)
    ranks = {name: people.at_least(repo, role, name) for name in ("admin", "maintain", "triage")}
    shown = {
        **shapes.user(forge.world, person), "role_name": role,
        "permissions": {**ranks, "push": people.at_least(repo, role, "write"), "pull": level != "none"},
    }
    return Reply(value={"permission": level, "role_name": role, "user": shown})


def branch_rules(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET rules/branches/{branch}`; the branch need not exist (github-facts 124)."""
    shown = [
        {
            "type": rule["type"], "ruleset_source_type": "Repository", "ruleset_source": repo.full_name,
            "ruleset_id": rule["id"], **({"parameters": rule["parameters"]} if rule.get("parameters") else {}),
        }
        for rule in rules_for(repo, call.params["branch"])
    ]
    return paged(forge, call, shown)


def list_branches(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET branches`."""
    path = f"{shapes.repo_url(forge.world, repo)}/commits"
    shown = [
        {"name": name.removeprefix("refs/heads/"), "commit": {"sha": sha, "url": f"{path}/{sha}"}, "protected": False}
        for name, sha in forge.git.refs(repo.id).items()
    ]
    return paged(forge, call, shown)


def get_branch(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET branches/{branch}`."""
    name = call.params["branch"]
    sha = forge.git.ref(repo.id, f"refs/heads/{name}")
    if sha is None:
        raise Refused(404, "Branch not found")
    path = f"{shapes.repo_url(forge.world, repo)}/branches/{name}"
    return Reply(
        value={
            "name": name, "commit": shapes_git.commit(forge, repo, forge.git.read_commit(repo.id, sha)),
            "_links": {"self": path, "html": f"{forge.world.url}/{repo.full_name}/tree/{name}"},
            "protected": False, "protection": {"enabled": False}, "protection_url": f"{path}/protection",
        }
    )


def list_commits(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET commits`: from `sha` (default branch when absent), newest first, optionally of one `path`."""
    start = forge.git.resolve(repo.id, call.query.get("sha") or repo.default_branch)
    if start is None:
        raise Refused(409, "Git Repository is empty.") if not forge.git.refs(repo.id) else not_found()
    place = ["--", call.query["path"]] if call.query.get("path") else []
    names = forge.git.text(repo.id, ["rev-list", "--max-count=1000", start, *place]).split()
    reply = paged(forge, call, names)
    reply.value = [shapes_git.commit(forge, repo, forge.git.read_commit(repo.id, sha)) for sha in reply.value]
    return reply


def commit_sha(forge: Forge, repo: Repo, name: str) -> str:
    """The commit that a branch, tag or (short) name stands for; 422."""
    sha = forge.git.resolve(repo.id, name)
    if sha is None:
        raise Refused(422, f"No commit found for SHA: {name}")
    return sha


def get_commit(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET commits/{ref}` with its files, or as `.diff`/`.patch`."""
    sha = commit_sha(forge, repo, call.params["ref"])
    one = forge.git.read_commit(repo.id, sha)
    before = one.parents[0] if one.parents else forge.git.write_tree(repo.id, None, [])
    if call.wants("sha"):
        return raw_reply(sha.encode(), "sha")
    if call.wants("diff"):
        return raw_reply(diff_text(forge.git, repo.id, before, sha).encode(), "diff")
    files = changed_files(forge.git, repo.id, before, sha)
    added, removed = sum(one.additions for one in files), sum(one.deletions for one in files)
    return Reply(
        value={
            **shapes_git.commit(forge, repo, one),
            "stats": {"additions": added, "deletions": removed, "total": added + removed},
            "files": [shapes_git.changed(forge, repo, file, sha) for file in files],
        }
    )


def compare(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET compare/{base}...{head}`: from the current merge base (github-facts 107)."""
    old_name, dots, new_name = call.params["basehead"].partition("...")
    owner = repo.owner.login + ":"
    old, new = (forge.git.resolve(repo.id, name.removeprefix(owner)) for name in (old_name, new_name))
    if not dots or old is None or new is None:
        raise not_found()
    point = forge.git.merge_point(repo.id, old, new)
    if point is None:
        raise Refused(404, f"No common ancestor between {old_name} and {new_name}.")
    if call.wants("diff"):
        return raw_reply(diff_text(forge.git, repo.id, point, new).encode(), "diff")
    if call.wants("patch"):
        return raw_reply(mail_text(forge.git, repo.id, point, new).encode(), "patch")
    ahead, behind = forge.git.commits_between(repo.id, old, new), forge.git.commits_between(repo.id, new, old)
    status = ("diverged" if behind else "ahead") if ahead else ("behind" if behind else "identical")
    page = f"{forge.world.url}/{repo.full_name}/compare/{old_name}...{new_name}"

    def shown(sha: str) -> dict[str, Any]:
        return shapes_git.commit(forge, repo, forge.git.read_commit(repo.id, sha))

    reply, files = paged(forge, call, ahead), changed_files(forge.git, repo.id, point, new)
    reply.value = {
        "url": forge.world.url + call.path, "html_url": page, "permalink_url": page, "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch", "base_commit": shown(old), "merge_base_commit": shown(point), "status": status,
        "ahead_by": len(ahead), "behind_by": len(behind), "total_commits": len(ahead),
        "commits": [shown(sha) for sha in reply.value],
        "files": [shapes_git.changed(forge, repo, file, new) for file in files[:300]],
    }
    return reply


def contents(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET contents/{path}`: a file, a directory; links to files are followed (github-facts 102)."""
    path, name = call.params["path"].strip("/"), call.query.get("ref") or repo.default_branch
    commit = forge.git.resolve(repo.id, name)
    if commit is None:
        raise Refused(404, f"No commit found for the ref {name}")
    entries = {one.path: one for one in forge.git.list_tree(repo.id, commit, "recursive")}
    entry = entries.get(path)
    if entry and entry.mode == "120000":
        target = forge.git.read_blob(repo.id, entry.sha).decode("utf-8", "replace")
        inside = "/".join([*path.split("/")[:-1], target]) if "/" in path else target
        entry = entries.get(inside, entry)
    if path and entry is None:
        raise not_found()
    if entry and entry.kind == "blob":
        content = forge.git.read_blob(repo.id, entry.sha)
        if call.wants("raw"):
            return raw_reply(content, "raw")
        encoded = {"content": base64.encodebytes(content).decode(), "encoding": "base64"}
        return Reply(value={**_entry(forge, repo, entry, path, name), **encoded, "size": len(content)})
    inside = f"{path}/" if path else ""
    children = [
        one for one in entries.values() if one.path.startswith(inside) and "/" not in one.path[len(inside) :]
    ]
    return Reply(value=[_entry(forge, repo, one, one.path, name) for one in children[:1000]])


def _entry(forge: Forge, repo: Repo, one: TreeEntry, path: str, name: str) -> dict[str, Any]:
    place = quote(path, errors="surrogateescape")
    url = f"{shapes.repo_url(forge.world, repo)}/contents/{place}?ref={quote(name)}"
    page = f"{forge.world.url}/{repo.full_name}/blob/{quote(name)}/{place}"
    plural = "trees" if one.kind == "tree" else "blobs"
    git_url = f"{shapes.repo_url(forge.world, repo)}/git/{plural}/{one.sha}"
    return {
        "type": "dir" if one.kind == "tree" else "file", "size": one.size or 0,
        "name": shapes_git.readable(path.rsplit("/", 1)[-1]), "path": shapes_git.readable(path), "sha": one.sha,
        "url": url, "git_url": git_url, "html_url": page,
        "download_url": None if one.kind == "tree" else page.replace("/blob/", "/raw/"),
        "_links": {"self": url, "git": git_url, "html": page},
    }


HANDLERS: dict[str, Handler] = {
    "repos/get": get_repo,
    "repos/get-collaborator-permission-level": permission,
    "repos/get-branch-rules": branch_rules,
    "repos/list-branches": list_branches,
    "repos/get-branch": get_branch,
    "repos/list-commits": list_commits,
    "repos/get-commit": get_commit,
    "repos/compare-commits-with-basehead": compare,
    "repos/get-content": contents,
}
