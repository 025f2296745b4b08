"""Opening and merging pull requests, whoever does it."""

from dataclasses import dataclass
from typing import Literal

from infra.twin import mentions, refs
from infra.twin.diffs import changed_files
from infra.twin.forge import Forge
from infra.twin.git_store import GitFailed, Signature
from infra.twin.state import Actor, Issue, Pull, Repo
from infra.twin.talk import Place, checked_body, checked_title, happen, next_number, set_open, tell, writable
from infra.twin.wire import Refused, invalid

Readiness = Literal["draft", "ready"]
NO_DRAFTS = "Draft pull requests are not supported in this repository."


@dataclass(frozen=True)
class Wish:
    """What somebody wants opened; `head` is a branch, or `owner:branch`."""

    title: str
    body: str | None
    head: str
    target: str
    readiness: Readiness


def open_pull(forge: Forge, repo: Repo, wish: Wish, actor: Actor) -> Issue:
    """A new pull request in the shared number sequence; 422 with `errors[]` as GitHub's (github-facts 139, 140)."""
    writable(repo)
    owner, colon, branch = wish.head.rpartition(":")
    if colon and owner.lower() != repo.owner.login.lower():
        raise invalid("PullRequest", "head")
    head_sha = forge.git.ref(repo.id, refs.HEADS + branch)
    target_sha = forge.git.ref(repo.id, refs.HEADS + wish.target)
    if head_sha is None:
        raise invalid("PullRequest", "head")
    if target_sha is None:
        raise invalid("PullRequest", "base")
    _refuse_duplicate(repo, branch, wish.target)
    if not forge.git.commits_between(repo.id, target_sha, head_sha):
        raise invalid("PullRequest", "head", message=f"No commits between {wish.target} and {branch}")
    if wish.readiness == "draft" and not repo.drafts:
        raise Refused(422, NO_DRAFTS)
    title, body = checked_title(wish.title), checked_body(wish.body, "PullRequest")
    now, world = forge.world.now(), forge.world
    pull = Pull(
        world.next_id(), branch, repo.owner.login, wish.target, wish.readiness == "draft", head_sha, target_sha
    )
    issue = Issue(
        world.next_id("issue"), next_number(repo), actor.person, title, body, now, now, pull=pull, via_app=actor.via_app
    )
    repo.issues.append(issue)
    forge.git.move_ref(repo.id, f"refs/pull/{issue.number}/head", head_sha)
    mentions.cross_reference(forge, repo, issue, body, actor)
    tell(forge, Place(repo, issue), "opened", actor)
    return issue


def _refuse_duplicate(repo: Repo, branch: str, target: str) -> None:
    for issue in refs.pulls_from(repo, branch):
        if issue.pull and issue.pull.target == target:
            message = f"A pull request already exists for {repo.owner.login}:{branch}."
            raise invalid("PullRequest", "head", message=message)


def span(forge: Forge, repo: Repo, issue: Issue) -> tuple[str, str]:
    """The commits between which a pull request's diff lies: merge base and head."""
    assert issue.pull is not None
    new = issue.pull.head_sha
    return forge.git.merge_point(repo.id, issue.pull.target_sha, new) or issue.pull.target_sha, new


def counts(forge: Forge, repo: Repo, issue: Issue) -> dict[str, int]:
    """Commits, added and removed lines, and files."""
    old, new = span(forge, repo, issue)
    files = changed_files(forge.git, repo.id, old, new)
    return {
        "commits": len(forge.git.commits_between(repo.id, old, new)),
        "additions": sum(one.additions for one in files), "deletions": sum(one.deletions for one in files),
        "changed_files": len(files),
    }


def merge(forge: Forge, place: Place, actor: Actor) -> str:
    """Merge with a merge commit; its name. 405 for drafts, closed ones and conflicts."""
    writable(place.repo)
    repo, issue, pull = place.repo, place.issue, place.issue.pull
    assert pull is not None
    if issue.state != "open" or pull.draft:
        why = "Pull Request is still a draft" if pull.draft else "Pull Request is not mergeable"
        raise Refused(405, why)
    target = forge.git.ref(repo.id, refs.HEADS + pull.target) or pull.target_sha
    tree = _merged_tree(forge, repo, target, pull.head_sha)
    now = forge.world.now()
    by = Signature(actor.person.login, f"{actor.person.login}@users.noreply.github.com", now)
    message = f"Merge pull request #{issue.number} from {pull.head_owner}/{pull.head}\n\n{issue.title}"
    sha = forge.git.write_commit(repo.id, tree, [target, pull.head_sha], message, (by, by))
    before, head = refs.snapshot(forge, repo), pull.head_sha
    pull.merged, pull.merged_by, pull.merge_sha = now, actor.person, sha
    happen(forge, place, "merged", actor)
    set_open(forge, place, "closed", actor)
    forge.git.move_ref(repo.id, refs.HEADS + pull.target, sha)
    pull.target_sha, pull.head_sha = target, head
    refs.announce(forge, repo, before, actor)
    return sha


def _merged_tree(forge: Forge, repo: Repo, target: str, head: str) -> str:
    try:
        return forge.git.text(repo.id, ["merge-tree", "--write-tree", target, head]).splitlines()[0]
    except GitFailed:
        raise Refused(405, "Pull Request is not mergeable") from None
