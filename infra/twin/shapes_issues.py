"""Issues, comments, reactions, timelines and pull requests as GitHub's JSON."""

from typing import Any

from infra.twin.shapes import app_if, label, maybe_user, repo_url, repository, user
from infra.twin.state import Comment, Happening, Issue, Person, Pull, Reaction, Repo, World, node_id, stamp

CONTENTS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")


def association(repo: Repo, person: Person | None) -> str:
    """`author_association`: for display only, as unreliable as GitHub's (github-facts 73)."""
    if person is None:
        return "NONE"
    if person is repo.owner:
        return "OWNER"
    return "COLLABORATOR" if person.login.lower() in repo.roles else "NONE"


def rollup(reactions: list[Reaction], url: str) -> dict[str, Any]:
    """The reaction counts."""
    counts: dict[str, Any] = dict.fromkeys(CONTENTS, 0)
    for one in reactions:
        counts[one.content] += 1
    return {"url": f"{url}/reactions", "total_count": len(reactions), **counts}


def reaction(world: World, one: Reaction) -> dict[str, Any]:
    """One reaction."""
    return {
        "id": one.id, "node_id": node_id("REA", one.id), "user": user(world, one.person), "content": one.content,
        "created_at": stamp(one.created),
    }


def issue_page(world: World, repo: Repo, issue: Issue) -> str:
    """The page of an issue or pull request."""
    return f"{world.url}/{repo.full_name}/{'pull' if issue.pull else 'issues'}/{issue.number}"


def issue(world: World, repo: Repo, one: Issue) -> dict[str, Any]:
    """An issue; a pull request as the issue endpoints show it carries `pull_request`."""
    path = f"{repo_url(world, repo)}/issues/{one.number}"
    shown: dict[str, Any] = {
        "url": path, "repository_url": repo_url(world, repo), "labels_url": f"{path}/labels{{/name}}",
        "comments_url": f"{path}/comments", "events_url": f"{path}/events",
        "html_url": issue_page(world, repo, one), "id": one.id, "node_id": node_id("I", one.id),
        "number": one.number, "title": one.title, "user": maybe_user(world, one.author),
        "labels": [label(world, repo, mark) for mark in one.labels], "state": one.state, "locked": one.locked,
        "assignee": None, "assignees": [], "milestone": None, "comments": len(one.comments),
        "created_at": stamp(one.created), "updated_at": stamp(one.updated), "closed_at": stamp(one.closed),
        "author_association": association(repo, one.author), "active_lock_reason": one.lock_reason,
        "body": one.body, "closed_by": maybe_user(world, one.closed_by), "reactions": rollup(one.reactions, path),
        "timeline_url": f"{path}/timeline", "performed_via_github_app": app_if(world, one.via_app),
        "state_reason": one.state_reason,
    }
    if one.pull:
        page, pull_path = issue_page(world, repo, one), f"{repo_url(world, repo)}/pulls/{one.number}"
        shown["pull_request"] = {
            "url": pull_path, "html_url": page, "diff_url": f"{page}.diff", "patch_url": f"{page}.patch",
            "merged_at": stamp(one.pull.merged),
        }
        shown["draft"] = one.pull.draft
    return shown


def comment(world: World, repo: Repo, home: Issue, one: Comment) -> dict[str, Any]:
    """A comment."""
    path = f"{repo_url(world, repo)}/issues/comments/{one.id}"
    return {
        "url": path, "html_url": f"{issue_page(world, repo, home)}#issuecomment-{one.id}",
        "issue_url": f"{repo_url(world, repo)}/issues/{home.number}", "id": one.id,
        "node_id": node_id("IC", one.id), "user": maybe_user(world, one.author), "created_at": stamp(one.created),
        "updated_at": stamp(one.updated), "author_association": association(repo, one.author), "body": one.body,
        "reactions": rollup(one.reactions, path), "performed_via_github_app": app_if(world, one.via_app),
        "minimized": {"reason": one.minimized} if one.minimized else None, "pin": None,
    }


def happening(world: World, repo: Repo, home: Issue, one: Happening) -> dict[str, Any]:
    """A timeline entry."""
    if one.event == "cross-referenced":
        return _cross_referenced(world, one)
    details = dict(one.details)
    if "commit" in details:
        number, sha = details.pop("commit")
        details |= {"commit_id": sha, "commit_url": f"{repo_url(world, world.repos[number])}/commits/{sha}"}
    return {
        "id": one.id, "node_id": node_id("EV", one.id),
        "url": f"{repo_url(world, repo)}/issues/events/{one.id}", "actor": user(world, one.actor),
        "event": one.event, "commit_id": None, "commit_url": None, "created_at": stamp(one.created),
        "performed_via_github_app": app_if(world, one.via_app), **details,
    }


def _cross_referenced(world: World, one: Happening) -> dict[str, Any]:
    """The one entry that GitHub gives no id; what speaks of the issue is shown in full, with its repository."""
    home_id, number = one.details["source"]
    home = world.repos[home_id]
    speaking = next(found for found in home.issues if found.number == number)
    return {
        "event": one.event, "actor": user(world, one.actor), "created_at": stamp(one.created),
        "updated_at": stamp(one.created),
        "source": {"type": "issue", "issue": {**issue(world, home, speaking), "repository": repository(world, home)}},
    }


def timeline_comment(world: World, repo: Repo, home: Issue, one: Comment) -> dict[str, Any]:
    """A comment as the timeline shows it."""
    return {**comment(world, repo, home, one), "event": "commented", "actor": maybe_user(world, one.author)}


def _side(world: World, repo: Repo, branch: str, sha: str) -> dict[str, Any]:
    return {
        "label": f"{repo.owner.login}:{branch}", "ref": branch, "sha": sha, "user": user(world, repo.owner),
        "repo": repository(world, repo),
    }


def pull_simple(world: World, repo: Repo, one: Issue) -> dict[str, Any]:
    """A pull request as lists show it."""
    pull = _pull_of(one)
    path, page = f"{repo_url(world, repo)}/pulls/{one.number}", issue_page(world, repo, one)
    issue_path = f"{repo_url(world, repo)}/issues/{one.number}"
    links = {
        "self": path, "html": page, "issue": issue_path, "comments": f"{issue_path}/comments",
        "review_comments": f"{path}/comments", "review_comment": f"{repo_url(world, repo)}/pulls/comments{{/number}}",
        "commits": f"{path}/commits", "statuses": f"{repo_url(world, repo)}/statuses/{pull.head_sha}",
    }
    return {
        "url": path, "id": pull.id, "node_id": node_id("PR", pull.id), "html_url": page,
        "diff_url": f"{page}.diff", "patch_url": f"{page}.patch", "issue_url": issue_path, "number": one.number,
        "state": one.state, "locked": one.locked, "title": one.title, "user": maybe_user(world, one.author),
        "body": one.body, "created_at": stamp(one.created), "updated_at": stamp(one.updated),
        "closed_at": stamp(one.closed), "merged_at": stamp(pull.merged), "merge_commit_sha": pull.merge_sha,
        "assignee": None, "assignees": [], "requested_reviewers": [], "requested_teams": [],
        "labels": [{**label(world, repo, mark), "description": mark.description or ""} for mark in one.labels],
        "milestone": None, "draft": pull.draft, "commits_url": links["commits"],
        "review_comments_url": links["review_comments"], "review_comment_url": links["review_comment"],
        "comments_url": links["comments"], "statuses_url": links["statuses"],
        "head": _side(world, repo, pull.head, pull.head_sha),
        "base": _side(world, repo, pull.target, pull.target_sha),
        "_links": {name: {"href": address} for name, address in links.items()},
        "author_association": association(repo, one.author), "auto_merge": None,
        "active_lock_reason": one.lock_reason,
    }


def pull(world: World, repo: Repo, one: Issue, counts: dict[str, int]) -> dict[str, Any]:
    """A pull request in full; `counts` holds commits, additions, deletions and changed_files."""
    inner = _pull_of(one)
    is_open = one.state == "open"
    return {
        **pull_simple(world, repo, one), "merged": inner.merged is not None,
        "mergeable": True if is_open else None, "rebaseable": None,
        "mergeable_state": ("draft" if inner.draft else "clean") if is_open else "unknown",
        "merged_by": maybe_user(world, inner.merged_by), "comments": len(one.comments), "review_comments": 0,
        "maintainer_can_modify": inner.maintainer_can_modify, **counts,
    }


def _pull_of(one: Issue) -> Pull:
    if one.pull is None:
        raise LookupError(f"#{one.number} is not a pull request")
    return one.pull
