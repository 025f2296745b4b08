"""Commits, trees, refs, blobs and changed files as GitHub's JSON."""

from typing import Any
from urllib.parse import quote

from infra.twin.diffs import ChangedFile
from infra.twin.forge import Forge
from infra.twin.git_store import CommitObject, Signature
from infra.twin.shapes import repo_url, user
from infra.twin.state import Person, Repo, node_id, stamp


def readable(path: str) -> str:
    """A path as JSON can carry it: bytes that are no UTF-8 become U+FFFD."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def person_of(forge: Forge, signature: Signature) -> Person | None:
    """The account behind a commit address: `<id>+<login>@users.noreply.github.com`, or the login before the @."""
    login = signature.email.partition("@")[0].rpartition("+")[2]
    return forge.world.person(login)


def verification(forge: Forge, repo: Repo, commit: CommitObject) -> dict[str, Any]:
    """Verified only for commits that GitHub made itself (github-facts 114, 115)."""
    signed = repo.signed.get(commit.sha)
    if signed is None:
        return {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}
    return {
        "verified": True, "reason": "valid", "signature": "-----BEGIN PGP SIGNATURE-----\n\ntwin\n",
        "payload": f"tree {commit.tree}\n", "verified_at": stamp(signed),
    }


def _signature(one: Signature) -> dict[str, Any]:
    return {"name": one.name, "email": one.email, "date": one.when.strftime("%Y-%m-%dT%H:%M:%SZ")}


def git_commit(forge: Forge, repo: Repo, one: CommitObject) -> dict[str, Any]:
    """A commit as the Git database shows it."""
    path, page = repo_url(forge.world, repo), f"{forge.world.url}/{repo.full_name}/commit"
    return {
        "sha": one.sha, "node_id": node_id("C", int(one.sha[:12], 16)), "url": f"{path}/git/commits/{one.sha}",
        "html_url": f"{page}/{one.sha}", "author": _signature(one.author), "committer": _signature(one.committer),
        "tree": {"sha": one.tree, "url": f"{path}/git/trees/{one.tree}"}, "message": one.message,
        "parents": [
            {"sha": sha, "url": f"{path}/git/commits/{sha}", "html_url": f"{page}/{sha}"} for sha in one.parents
        ],
        "verification": verification(forge, repo, one),
    }


def commit(forge: Forge, repo: Repo, one: CommitObject) -> dict[str, Any]:
    """A commit as `commits`, `compare` and branches show it."""
    path, page = repo_url(forge.world, repo), f"{forge.world.url}/{repo.full_name}/commit"
    people = [person_of(forge, one.author), person_of(forge, one.committer)]
    author, committer = (user(forge.world, person) if person else None for person in people)
    return {
        "sha": one.sha, "node_id": node_id("C", int(one.sha[:12], 16)), "url": f"{path}/commits/{one.sha}",
        "html_url": f"{page}/{one.sha}", "comments_url": f"{path}/commits/{one.sha}/comments",
        "commit": {
            "url": f"{path}/git/commits/{one.sha}", "author": _signature(one.author),
            "committer": _signature(one.committer), "message": one.message, "comment_count": 0,
            "tree": {"sha": one.tree, "url": f"{path}/git/trees/{one.tree}"},
            "verification": verification(forge, repo, one),
        },
        "author": author, "committer": committer,
        "parents": [{"sha": sha, "url": f"{path}/commits/{sha}", "html_url": f"{page}/{sha}"} for sha in one.parents],
    }


def changed(forge: Forge, repo: Repo, one: ChangedFile, commit_sha: str) -> dict[str, Any]:
    """A changed file."""
    name = readable(one.path)
    page, place = f"{forge.world.url}/{repo.full_name}", quote(one.path, errors="surrogateescape")
    shown: dict[str, Any] = {
        "sha": one.sha, "filename": name, "status": one.status, "additions": one.additions,
        "deletions": one.deletions, "changes": one.additions + one.deletions,
        "blob_url": f"{page}/blob/{commit_sha}/{place}", "raw_url": f"{page}/raw/{commit_sha}/{place}",
        "contents_url": f"{repo_url(forge.world, repo)}/contents/{place}?ref={commit_sha}",
    }
    if one.patch is not None:
        shown["patch"] = one.patch
    if one.previous is not None:
        shown["previous_filename"] = readable(one.previous)
    return shown


def ref(forge: Forge, repo: Repo, name: str, sha: str) -> dict[str, Any]:
    """A ref."""
    path = f"{repo_url(forge.world, repo)}/git"
    return {
        "ref": name, "node_id": node_id("REF", int(sha[:12], 16)), "url": f"{path}/{name}",
        "object": {"sha": sha, "type": "commit", "url": f"{path}/commits/{sha}"},
    }


def tree(forge: Forge, repo: Repo, sha: str, depth: str) -> dict[str, Any]:
    """A tree, `flat` or `recursive`."""
    path = f"{repo_url(forge.world, repo)}/git"
    plural = {"blob": "blobs", "tree": "trees"}
    entries: list[dict[str, Any]] = []
    for one in forge.git.list_tree(repo.id, sha, depth):
        shown: dict[str, Any] = {"path": readable(one.path), "mode": one.mode, "type": one.kind, "sha": one.sha}
        if one.size is not None:
            shown["size"] = one.size
        if one.kind in plural:
            shown["url"] = f"{path}/{plural[one.kind]}/{one.sha}"
        entries.append(shown)
    return {"sha": sha, "url": f"{path}/trees/{sha}", "tree": entries, "truncated": False}
