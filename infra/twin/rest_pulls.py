"""REST: pull requests."""

from typing import Any

from infra.twin import pulls, shapes_git, shapes_issues, talk
from infra.twin.access import actor_of
from infra.twin.diffs import changed_files, diff_text, mail_text
from infra.twin.dispatch import Handler, paged
from infra.twin.forge import Forge
from infra.twin.state import Issue, Repo
from infra.twin.talk import Place
from infra.twin.wire import Call, Refused, Reply, invalid, not_found, raw_reply, text_field


def _pull(forge: Forge, call: Call, repo: Repo) -> Issue:
    issue = talk.find_issue(forge, repo, call.number("pull_number"))
    if issue.pull is None:
        raise not_found()
    return issue


def list_pulls(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET pulls`: newest first; `head` is `owner:branch`, `state` open by default."""
    state, head, target = call.query.get("state", "open"), call.query.get("head"), call.query.get("base")
    chosen = []
    for one in sorted(repo.issues, key=lambda one: -one.number):
        if one.pull is None or one.deleted or state not in {"all", one.state}:
            continue
        if head and ":" in head and head.lower() != f"{one.pull.head_owner}:{one.pull.head}".lower():
            continue
        if target and target != one.pull.target:
            continue
        chosen.append(shapes_issues.pull_simple(forge.world, repo, one))
    return paged(forge, call, chosen)


def create_pull(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`POST pulls`."""
    fields = call.fields()
    wish = pulls.Wish(
        text_field(fields, "title", "PullRequest"), fields.get("body"), text_field(fields, "head", "PullRequest"),
        text_field(fields, "base", "PullRequest"), "draft" if fields.get("draft") is True else "ready",
    )
    made = pulls.open_pull(forge, repo, wish, actor_of(forge, call))
    shown = _full(forge, repo, made)
    return Reply(201, shown, headers={"Location": shown["url"]})


def _full(forge: Forge, repo: Repo, issue: Issue) -> dict[str, Any]:
    return shapes_issues.pull(forge.world, repo, issue, pulls.counts(forge, repo, issue))


def get_pull(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET pulls/{n}`, also as `.diff` and `.patch`."""
    issue = _pull(forge, call, repo)
    old, new = pulls.span(forge, repo, issue)
    if call.wants("diff"):
        return raw_reply(diff_text(forge.git, repo.id, old, new).encode(), "diff")
    if call.wants("patch"):
        return raw_reply(mail_text(forge.git, repo.id, old, new).encode(), "patch")
    return Reply(value=_full(forge, repo, issue))


def update_pull(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`PATCH pulls/{n}`: title, body, state; `draft` is no field of it (github-facts 143)."""
    fields, actor = call.fields(), actor_of(forge, call)
    place = Place(repo, _pull(forge, call, repo))
    if fields.get("state") not in {None, "open", "closed"}:
        raise invalid("PullRequest", "state")
    talk.edit_issue(forge, place, fields.get("title"), fields.get("body"), actor)
    if fields.get("state"):
        talk.set_open(forge, place, fields["state"], actor)
    return Reply(value=_full(forge, repo, place.issue))


def list_files(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET pulls/{n}/files`."""
    issue = _pull(forge, call, repo)
    old, new = pulls.span(forge, repo, issue)
    files = changed_files(forge.git, repo.id, old, new)
    return paged(forge, call, [shapes_git.changed(forge, repo, one, new) for one in files[:3000]])


def list_commits(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET pulls/{n}/commits`, oldest first, at most 250."""
    issue = _pull(forge, call, repo)
    names = forge.git.commits_between(repo.id, *pulls.span(forge, repo, issue))[:250]
    return paged(forge, call, [shapes_git.commit(forge, repo, forge.git.read_commit(repo.id, sha)) for sha in names])


def merge(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`PUT pulls/{n}/merge`: 405 for a draft (github-facts 141)."""
    issue = _pull(forge, call, repo)
    wanted = call.fields().get("sha")
    if wanted and issue.pull and wanted != issue.pull.head_sha:
        raise Refused(409, "Head branch was modified. Review and try the merge again.")
    sha = pulls.merge(forge, Place(repo, issue), actor_of(forge, call))
    return Reply(value={"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


HANDLERS: dict[str, Handler] = {
    "pulls/list": list_pulls,
    "pulls/create": create_pull,
    "pulls/get": get_pull,
    "pulls/update": update_pull,
    "pulls/list-files": list_files,
    "pulls/list-commits": list_commits,
    "pulls/merge": merge,
}
