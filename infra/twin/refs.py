"""Moving branches, whoever moves them: pull requests follow their head, and the App hears of the push."""

from typing import Any

from infra.twin.forge import Forge
from infra.twin.git_store import ZERO, GitFailed
from infra.twin.shapes import repository
from infra.twin.state import Actor, Issue, Repo
from infra.twin.talk import Place, tell

HEADS = "refs/heads/"


def snapshot(forge: Forge, repo: Repo) -> dict[str, str]:
    """The branches now."""
    return forge.git.refs(repo.id, HEADS)


def announce(forge: Forge, repo: Repo, before: dict[str, str], actor: Actor) -> None:
    """After branches moved: refresh pull requests and send one `push` per branch that differs from `before`."""
    after = snapshot(forge, repo)
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, ZERO), after.get(name, ZERO)
        if old == new:
            continue
        repo.updated = forge.world.now()
        _follow(forge, repo, name.removeprefix(HEADS), (old, new), actor)
        forge.webhooks.emit("push", None, repo, actor, **push_payload(forge, repo, name, (old, new), actor))


def _follow(forge: Forge, repo: Repo, branch: str, moved: tuple[str, str], actor: Actor) -> None:
    old, new = moved
    for issue in repo.issues:
        if issue.pull is None or issue.state != "open" or new == ZERO:
            continue
        if issue.pull.target == branch:
            issue.pull.target_sha = new
        if issue.pull.head == branch:
            issue.pull.head_sha = new
            issue.updated = forge.world.now()
            forge.git.move_ref(repo.id, f"refs/pull/{issue.number}/head", new)
            tell(forge, Place(repo, issue), "synchronize", actor, before=old, after=new)


def pulls_from(repo: Repo, branch: str) -> list[Issue]:
    """Open pull requests whose head is that branch."""
    return [issue for issue in repo.issues if issue.pull and issue.state == "open" and issue.pull.head == branch]


def push_payload(forge: Forge, repo: Repo, name: str, moved: tuple[str, str], actor: Actor) -> dict[str, Any]:
    """The fields of a `push` payload, without repository and sender."""
    old, new = moved
    page = f"{forge.world.url}/{repo.full_name}"
    commits = [] if new == ZERO else _commits(forge, repo, old, new)
    return {
        "ref": name, "before": old, "after": new, "created": old == ZERO, "deleted": new == ZERO,
        "forced": ZERO not in moved and not forge.git.is_ancestor(repo.id, old, new), "base_ref": None,
        "compare": f"{page}/compare/{old[:12]}...{new[:12]}", "commits": commits,
        "head_commit": commits[-1] if commits else None,
        "pusher": {"name": actor.person.login, "email": None if actor.via_app else _address(actor)},
        "repository": push_repository(forge, repo),
    }


def _address(actor: Actor) -> str:
    return f"{actor.person.login}@users.noreply.github.com"


def push_repository(forge: Forge, repo: Repo) -> dict[str, Any]:
    """The repository as `push` shows it: times as numbers, the owner with a name."""
    shown = repository(forge.world, repo)
    shown["created_at"] = int(repo.created.timestamp())
    shown["pushed_at"] = int(repo.updated.timestamp())
    shown["url"] = shown["html_url"]
    shown["owner"] = {**shown["owner"], "name": repo.owner.login, "email": None}
    return shown


def _commits(forge: Forge, repo: Repo, old: str, new: str) -> list[dict[str, Any]]:
    git = forge.git
    names = [new] if old == ZERO else git.commits_between(repo.id, old, new)[-20:]
    return [_commit(forge, repo, sha) for sha in names]


def _commit(forge: Forge, repo: Repo, sha: str) -> dict[str, Any]:
    one = forge.git.read_commit(repo.id, sha)
    touched: dict[str, list[str]] = {"A": [], "D": [], "M": []}
    try:
        raw = forge.git.git(repo.id, ["diff-tree", "-r", "-z", "--root", "--no-commit-id", "--name-status", sha])
    except GitFailed:
        raw = b""
    parts = raw.decode("utf-8", "replace").split("\0")
    for kind, path in zip(parts[0::2], parts[1::2], strict=False):
        touched.get(kind[:1], touched["M"]).append(path)
    return {
        "id": sha, "tree_id": one.tree, "distinct": True, "message": one.message,
        "timestamp": one.committer.when.isoformat(), "url": f"{forge.world.url}/{repo.full_name}/commit/{sha}",
        "author": {"name": one.author.name, "email": one.author.email},
        "committer": {"name": one.committer.name, "email": one.committer.email},
        "added": touched["A"], "removed": touched["D"], "modified": touched["M"],
    }
