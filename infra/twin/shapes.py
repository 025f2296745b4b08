"""People, repositories, the App and installations as GitHub's JSON."""

from typing import Any
from urllib.parse import quote

from infra.twin.state import App, Installation, Label, Person, Repo, World, node_id, stamp

_USER_LINKS = {
    "followers_url": "followers",
    "following_url": "following{/other_user}",
    "gists_url": "gists{/gist_id}",
    "starred_url": "starred{/owner}{/repo}",
    "subscriptions_url": "subscriptions",
    "organizations_url": "orgs",
    "repos_url": "repos",
    "events_url": "events{/privacy}",
    "received_events_url": "received_events",
}
_REPO_LINKS = {
    "archive_url": "{archive_format}{/ref}", "assignees_url": "assignees{/user}", "blobs_url": "git/blobs{/sha}",
    "branches_url": "branches{/branch}", "collaborators_url": "collaborators{/collaborator}",
    "comments_url": "comments{/number}", "commits_url": "commits{/sha}", "compare_url": "compare/{base}...{head}",
    "contents_url": "contents/{+path}", "contributors_url": "contributors", "deployments_url": "deployments",
    "downloads_url": "downloads", "events_url": "events", "forks_url": "forks", "git_commits_url": "git/commits{/sha}",
    "git_refs_url": "git/refs{/sha}", "git_tags_url": "git/tags{/sha}", "hooks_url": "hooks",
    "issue_comment_url": "issues/comments{/number}", "issue_events_url": "issues/events{/number}",
    "issues_url": "issues{/number}", "keys_url": "keys{/key_id}", "labels_url": "labels{/name}",
    "languages_url": "languages", "merges_url": "merges", "milestones_url": "milestones{/number}",
    "notifications_url": "notifications{?since,all,participating}", "pulls_url": "pulls{/number}",
    "releases_url": "releases{/id}", "stargazers_url": "stargazers", "statuses_url": "statuses/{sha}",
    "subscribers_url": "subscribers", "subscription_url": "subscription", "tags_url": "tags", "teams_url": "teams",
    "trees_url": "git/trees{/sha}",
}
_NO_COUNTS = ("forks", "forks_count", "stargazers_count", "watchers", "watchers_count", "size")
_SWITCHES = ("has_discussions", "has_pages", "has_projects", "has_wiki", "has_downloads", "disabled", "fork")


def user(world: World, person: Person) -> dict[str, Any]:
    """A simple user."""
    path = f"{world.url}/users/{quote(person.login)}"
    page = f"apps/{person.login.removesuffix('[bot]')}" if person.kind == "Bot" else person.login
    return {
        "login": person.login, "id": person.id, "node_id": node_id("U", person.id),
        "avatar_url": f"{world.url}/_twin/avatars/{person.id}", "gravatar_id": "", "url": path,
        "html_url": f"{world.url}/{page}", "type": person.kind, "user_view_type": "public",
        "site_admin": False, **{name: f"{path}/{tail}" for name, tail in _USER_LINKS.items()},
    }


def maybe_user(world: World, person: Person | None) -> dict[str, Any] | None:
    """A simple user, or None for a deleted account."""
    return None if person is None else user(world, person)


def full_user(world: World, person: Person) -> dict[str, Any]:
    """A user as `GET /users/{login}` gives it."""
    nothing = dict.fromkeys(("company", "location", "email", "hireable", "bio", "twitter_username"))
    counts = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    return {
        **user(world, person), "name": person.name or person.login, "blog": "", **nothing, **counts,
        "created_at": "2020-01-01T00:00:00Z", "updated_at": "2020-01-01T00:00:00Z",
    }


def repo_url(world: World, repo: Repo) -> str:
    """The REST address of a repository."""
    return f"{world.url}/repos/{repo.full_name}"


def repository(world: World, repo: Repo) -> dict[str, Any]:
    """A repository as it appears inside other objects."""
    path, page = repo_url(world, repo), f"{world.url}/{repo.full_name}"
    host = world.url.split("//", 1)[-1]
    open_issues = sum(1 for issue in repo.issues if issue.state == "open" and not issue.deleted)
    return {
        "id": repo.id, "node_id": node_id("R", repo.id), "name": repo.name, "full_name": repo.full_name,
        "private": repo.private, "owner": user(world, repo.owner), "html_url": page, "url": path,
        "description": repo.description, **{name: f"{path}/{tail}" for name, tail in _REPO_LINKS.items()},
        "created_at": stamp(repo.created), "updated_at": stamp(repo.updated), "pushed_at": stamp(repo.updated),
        "git_url": f"git://{host}/{repo.full_name}.git", "ssh_url": f"git@{host}:{repo.full_name}.git",
        "clone_url": f"{page}.git", "svn_url": page, "homepage": None, "language": None, "mirror_url": None,
        **dict.fromkeys(_NO_COUNTS, 0), **dict.fromkeys(_SWITCHES, False),
        "has_issues": repo.has_issues, "archived": repo.archived, "license": None, "allow_forking": True,
        "is_template": False, "web_commit_signoff_required": False, "topics": [],
        "visibility": "private" if repo.private else "public",
        "open_issues": open_issues, "open_issues_count": open_issues, "default_branch": repo.default_branch,
    }


def full_repository(world: World, repo: Repo) -> dict[str, Any]:
    """A repository as `GET /repos/{owner}/{repo}` gives it."""
    return {
        **repository(world, repo), "network_count": 0, "subscribers_count": 0,
        "permissions": {"admin": False, "maintain": False, "push": False, "triage": False, "pull": False},
    }


def label(world: World, repo: Repo, mark: Label) -> dict[str, Any]:
    """A label."""
    return {
        "id": mark.id, "node_id": node_id("LA", mark.id), "url": f"{repo_url(world, repo)}/labels/{quote(mark.name)}",
        "name": mark.name, "color": mark.color, "default": False, "description": mark.description,
        "archived_at": None, "archived_by": None,
    }


def app(world: World, one: App) -> dict[str, Any]:
    """The App."""
    return {
        "id": one.id, "client_id": one.client_id, "slug": one.slug, "node_id": node_id("A", one.id),
        "owner": user(world, one.owner), "name": one.name, "description": None, "external_url": world.url,
        "html_url": f"{world.url}/apps/{one.slug}", "created_at": stamp(one.created),
        "updated_at": stamp(one.created), "permissions": {"metadata": "read", **one.permissions},
        "events": list(one.events),
    }


def app_if(world: World, via_app: bool) -> dict[str, Any] | None:
    """`performed_via_github_app`."""
    return app(world, world.app) if via_app and world.app else None


def installation(world: World, one: Installation) -> dict[str, Any]:
    """An installation with its true permissions and suspension (github-facts 25)."""
    assert world.app is not None
    account = one.account
    return {
        "id": one.id, "client_id": world.app.client_id, "account": user(world, account),
        "access_tokens_url": f"{world.url}/app/installations/{one.id}/access_tokens",
        "repositories_url": f"{world.url}/installation/repositories",
        "html_url": f"{world.url}/settings/installations/{one.id}", "app_id": world.app.id,
        "app_slug": world.app.slug, "target_id": account.id, "target_type": account.kind,
        "repository_selection": "all" if one.repo_ids is None else "selected",
        "permissions": {"metadata": "read", **one.permissions}, "events": list(one.events),
        "created_at": stamp(one.created), "updated_at": stamp(one.updated), "single_file_name": None,
        "has_multiple_single_files": False, "single_file_paths": [],
        "suspended_at": stamp(one.suspended), "suspended_by": maybe_user(world, one.suspended_by),
    }
