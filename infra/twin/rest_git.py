"""REST: the Git database (refs, commits, trees, blobs), with the refusals that keep branches safe."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

from infra.twin import refs, shapes_git, talk
from infra.twin.access import actor_of
from infra.twin.dispatch import Handler
from infra.twin.forge import Forge
from infra.twin.git_store import WORKFLOWS, ZERO, GitFailed, Signature, decoded
from infra.twin.permissions import BY_NAME, Need, accepted_header, suffices
from infra.twin.state import Actor, Repo
from infra.twin.wire import Call, Refused, Reply, not_found, raw_reply, text_field

MODES = {"100644": "blob", "100755": "blob", "120000": "blob", "040000": "tree", "160000": "commit"}
GITHUB = ("GitHub", "noreply@github.com")
WORKFLOWS_NEED = Need("workflows", "write")


def refuse_workflow(call: Call, path: str | None) -> None:
    """403 with GitHub's sentence when a workflow file is touched without that permission (github-facts 66)."""
    token = call.caller.token
    if path is None or (token and suffices(token.permissions, WORKFLOWS_NEED)):
        return
    refusal = Refused(
        403, f"refusing to allow a GitHub App to create or update workflow `{path}` without `workflows` permission"
    )
    refusal.headers["X-Accepted-GitHub-Permissions"] = (
        accepted_header(BY_NAME["git/create-ref"].needs) + ",workflows=write"
    )
    raise refusal


def rules_for(repo: Repo, branch: str) -> list[dict[str, Any]]:
    """The active rules whose pattern (`*` and `?`, `~ALL`, `~DEFAULT_BRANCH`) fits; the branch need not exist."""
    return [
        rule
        for rule in repo.rules
        if rule["pattern"] == "~ALL"
        or (rule["pattern"] == "~DEFAULT_BRANCH" and branch == repo.default_branch)
        or fnmatchcase(branch, rule["pattern"])
    ]


def _obey_rules(repo: Repo, name: str, kind: str, unmet: Callable[[dict[str, Any]], bool] = lambda rule: False) -> None:
    branch = name.removeprefix(refs.HEADS)
    if any(rule["type"] == kind or unmet(rule) for rule in rules_for(repo, branch)):
        raise Refused(422, "Reference update failed")


def _unmet_by(forge: Forge, repo: Repo, branch: str, sha: str) -> Callable[[dict[str, Any]], bool]:
    """Whether a new branch at that commit breaks a rule (github-facts 126, 127); the answer never says which."""

    def unmet(rule: dict[str, Any]) -> bool:
        asked = rule.get("parameters") or {}
        match rule["type"]:
            case "required_signatures":
                return sha not in repo.signed
            case "branch_name_pattern":
                return not _fits(asked, branch)
            case "commit_message_pattern":
                return not _fits(asked, forge.git.read_commit(repo.id, sha).message)
            case "file_path_restriction":
                paths = forge.git.fresh_paths(repo.id, sha)
                return any(fnmatchcase(path, glob) for path in paths for glob in asked["restricted_file_paths"])
        return False

    return unmet


def _fits(asked: dict[str, Any], text: str) -> bool:
    pattern = asked["pattern"]
    found = {
        "starts_with": text.startswith(pattern), "ends_with": text.rstrip().endswith(pattern),
        "contains": pattern in text, "regex": asked["operator"] == "regex" and re.search(pattern, text) is not None,
    }[asked["operator"]]
    return found != bool(asked.get("negate"))


def get_ref(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET git/ref/{ref}`, exact name only."""
    name = "refs/" + call.params["ref"]
    _not_empty(forge, repo)
    sha = forge.git.ref(repo.id, name)
    if sha is None:
        raise not_found()
    return Reply(value=shapes_git.ref(forge, repo, name, sha))


def matching_refs(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET git/matching-refs/{ref}`: every ref that starts so."""
    start = "refs/" + call.params["ref"]
    found = forge.git.refs(repo.id, "refs/")
    shown = [shapes_git.ref(forge, repo, name, sha) for name, sha in found.items() if name.startswith(start)]
    return Reply(value=shown)


def _not_empty(forge: Forge, repo: Repo) -> None:
    if not forge.git.refs(repo.id):
        raise Refused(409, "Git Repository is empty.")


def create_ref(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`POST git/refs`: 422 when it exists, when the object does not, or when a rule forbids it (github-facts 119)."""
    fields = call.fields()
    name, sha = text_field(fields, "ref", "Reference"), text_field(fields, "sha", "Reference")
    talk.writable(repo)
    _not_empty(forge, repo)
    if not name.startswith("refs/") or name.count("/") < 2:
        raise Refused(422, "Reference name must start with 'refs/' and have at least two slashes.")
    try:
        forge.git.git(repo.id, ["check-ref-format", name])
    except GitFailed:
        raise Refused(422, "Reference name is not valid.") from None
    if forge.git.ref(repo.id, name) is not None:
        raise Refused(422, "Reference already exists")
    if forge.git.kind(repo.id, sha) != "commit":
        raise Refused(422, "Object does not exist")
    _obey_rules(repo, name, "creation", _unmet_by(forge, repo, name.removeprefix(refs.HEADS), sha))
    refuse_workflow(call, forge.git.fresh_workflow(repo.id, sha))
    _move(forge, repo, name, (ZERO, sha), actor_of(forge, call))
    return Reply(201, shapes_git.ref(forge, repo, name, sha))


def _move(forge: Forge, repo: Repo, name: str, moved: tuple[str, str], actor: Actor) -> None:
    before = refs.snapshot(forge, repo)
    try:
        forge.git.move_ref(repo.id, name, moved[1], moved[0])
    except GitFailed:
        raise Refused(422, "Reference update failed") from None
    refs.announce(forge, repo, before, actor)


def update_ref(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`PATCH git/refs/{ref}`: `force` is false by default and a non-fast-forward is 422 (github-facts 120)."""
    name, fields = "refs/" + call.params["ref"], call.fields()
    sha = text_field(fields, "sha", "Reference")
    talk.writable(repo)
    old = forge.git.ref(repo.id, name)
    if old is None:
        raise Refused(422, "Reference does not exist")
    if forge.git.kind(repo.id, sha) != "commit":
        raise Refused(422, "Object does not exist")
    if fields.get("force") is not True and not forge.git.is_ancestor(repo.id, old, sha):
        raise Refused(422, "Update is not a fast forward")
    _obey_rules(repo, name, "update")
    refuse_workflow(call, forge.git.fresh_workflow(repo.id, sha))
    _move(forge, repo, name, (old, sha), actor_of(forge, call))
    return Reply(value=shapes_git.ref(forge, repo, name, sha))


def delete_ref(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`DELETE git/refs/{ref}`: 204; 422 when there is none. Open pull requests from it are closed."""
    name = "refs/" + call.params["ref"]
    talk.writable(repo)
    if forge.git.ref(repo.id, name) is None:
        raise Refused(422, "Reference does not exist")
    _obey_rules(repo, name, "deletion")
    actor, before = actor_of(forge, call), refs.snapshot(forge, repo)
    forge.git.drop_ref(repo.id, name)
    for issue in refs.pulls_from(repo, name.removeprefix(refs.HEADS)):
        talk.set_open(forge, talk.Place(repo, issue), "closed", actor)
    refs.announce(forge, repo, before, actor)
    return Reply(204)


def create_blob(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`POST git/blobs`: utf-8 text or base64."""
    fields = call.fields()
    talk.writable(repo)
    try:
        content = decoded(text_field(fields, "content", "Blob"), fields.get("encoding", "utf-8"))
    except (binascii.Error, ValueError):
        raise Refused(422, "content is not valid Base64") from None
    sha = forge.git.write_blob(repo.id, content)
    return Reply(201, {"sha": sha, "url": f"{forge.world.url}/repos/{repo.full_name}/git/blobs/{sha}"})


def get_blob(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET git/blobs/{sha}`: always base64 (github-facts 104), or the bytes for the raw media type."""
    sha = call.params["file_sha"]
    if forge.git.kind(repo.id, sha) != "blob":
        raise not_found()
    content = forge.git.read_blob(repo.id, sha)
    if call.wants("raw"):
        return raw_reply(content, "raw")
    return Reply(
        value={
            "sha": sha, "node_id": f"B_{sha[:20]}", "size": len(content), "encoding": "base64",
            "url": f"{forge.world.url}/repos/{repo.full_name}/git/blobs/{sha}",
            "content": base64.encodebytes(content).decode(),
        }
    )


def create_tree(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`POST git/trees`: without `base_tree` only the listed files exist afterwards (github-facts 117)."""
    fields = call.fields()
    talk.writable(repo)
    entries, start = fields.get("tree"), fields.get("base_tree")
    if not isinstance(entries, list):
        raise Refused(422, "Invalid tree info")
    if start is not None and forge.git.kind(repo.id, str(start)) not in {"tree", "commit"}:
        raise Refused(404, "Not Found")
    there = {one.path for one in forge.git.list_tree(repo.id, start, "recursive")} if start else set()
    changes = [_tree_change(forge, repo, entry, there) for entry in entries]
    refuse_workflow(call, next((path for _, _, path in changes if path.startswith(WORKFLOWS)), None))
    sha = forge.git.write_tree(repo.id, start, changes)
    return Reply(201, shapes_git.tree(forge, repo, sha, "flat"))


def _tree_change(forge: Forge, repo: Repo, entry: Any, there: set[str]) -> tuple[str, str | None, str]:
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str) or entry.get("mode") not in MODES:
        raise Refused(422, "tree.path and tree.mode are needed for every entry")
    path, mode = entry["path"], entry["mode"]
    if not path or path.startswith("/") or {"", ".", "..", ".git"} & set(path.lower().split("/")):
        raise Refused(422, "tree.path contains a malformed path component")
    if ("sha" in entry) == ("content" in entry):
        raise Refused(422, "Must supply either tree.sha or tree.content, not both")
    if "content" in entry:
        return mode, forge.git.write_blob(repo.id, str(entry["content"]).encode()), path
    sha = entry["sha"]
    if sha is None:
        if path not in there:
            raise Refused(422, "GitRPC::BadObjectState")
        return mode, None, path
    if MODES[mode] != "commit" and forge.git.kind(repo.id, str(sha)) != MODES[mode]:
        raise Refused(422, f"tree.sha {sha} is not a valid {MODES[mode]}")
    return mode, str(sha), path


def get_tree(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET git/trees/{sha}`: *any* value of `recursive` turns recursion on (github-facts 101)."""
    name = call.params["tree_sha"]
    _not_empty(forge, repo)
    commit = forge.git.resolve(repo.id, name)
    sha = forge.git.read_commit(repo.id, commit).tree if commit else name
    if forge.git.kind(repo.id, sha) != "tree":
        raise not_found()
    return Reply(value=shapes_git.tree(forge, repo, sha, "recursive" if "recursive" in call.query else "flat"))


def create_commit(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`POST git/commits`: signed by GitHub only when no author, committer or signature is sent (github-facts 114)."""
    fields = call.fields()
    talk.writable(repo)
    message, tree = text_field(fields, "message", "Commit"), text_field(fields, "tree", "Commit")
    if forge.git.kind(repo.id, tree) != "tree":
        raise Refused(422, "Tree SHA does not exist")
    parents = fields.get("parents") or []
    if any(forge.git.kind(repo.id, str(parent)) != "commit" for parent in parents):
        raise Refused(422, "Parent SHA does not exist or is not a commit object")
    own = not any(fields.get(name) for name in ("author", "committer", "signature"))
    actor, now = actor_of(forge, call), forge.world.now()
    bot = Signature(actor.person.login, bot_address(actor), now)
    author = _given(fields.get("author"), bot, now)
    committer = Signature(*GITHUB, now) if own else _given(fields.get("committer"), author, now)
    sha = forge.git.write_commit(repo.id, tree, [str(parent) for parent in parents], message, (author, committer))
    if own and repo.web_signing:
        repo.signed[sha] = now
    return Reply(201, shapes_git.git_commit(forge, repo, forge.git.read_commit(repo.id, sha)))


def bot_address(actor: Actor) -> str:
    """The commit address of a bot: `<bot user id>+<login>@users.noreply.github.com` (github-facts 87)."""
    return f"{actor.person.id}+{actor.person.login}@users.noreply.github.com"


def _given(value: Any, otherwise: Signature, now: datetime) -> Signature:
    if not isinstance(value, Mapping):
        return otherwise
    when = datetime.fromisoformat(str(value["date"])) if value.get("date") else now
    return Signature(str(value.get("name", "")), str(value.get("email", "")), when)


def get_git_commit(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET git/commits/{sha}`."""
    sha = call.params["commit_sha"]
    if forge.git.kind(repo.id, sha) != "commit":
        raise not_found()
    return Reply(value=shapes_git.git_commit(forge, repo, forge.git.read_commit(repo.id, sha)))


HANDLERS: dict[str, Handler] = {
    "git/get-ref": get_ref,
    "git/list-matching-refs": matching_refs,
    "git/create-ref": create_ref,
    "git/update-ref": update_ref,
    "git/delete-ref": delete_ref,
    "git/create-commit": create_commit,
    "git/get-commit": get_git_commit,
    "git/create-tree": create_tree,
    "git/get-tree": get_tree,
    "git/create-blob": create_blob,
    "git/get-blob": get_blob,
}
