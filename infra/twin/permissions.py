"""One row per operation: who may call it and which permission it needs.

The rows follow the lists of GitHub's documentation (github-facts 2.3). Alternatives are tried in order and one is
enough; an alternative marked `PULLS_ONLY` counts when the number in the path is a pull request.
"""

from dataclasses import dataclass
from typing import Literal

Level = Literal["read", "write", "admin"]
Caller = Literal["app", "installation", "anyone"]
Subject = Literal["always", "pulls-only"]

RANK: dict[str, int] = {"none": 0, "read": 1, "write": 2, "admin": 3}


@dataclass(frozen=True)
class Need:
    """One sufficient permission: its name, the least level, and whether it counts for pull requests only."""

    permission: str
    level: Level
    subject: Subject = "always"


@dataclass(frozen=True)
class Operation:
    """One REST call: GitHub's operation id, method, path template, caller and the alternatives that suffice."""

    name: str
    method: str
    path: str
    caller: Caller
    needs: tuple[Need, ...] = ()

    @property
    def described_path(self) -> str:
        """The key of this operation under `paths` in GitHub's OpenAPI description."""
        return self.path.replace(":path}", "}")


METADATA = (Need("metadata", "read"),)
CONTENTS_READ = (Need("contents", "read"),)
CONTENTS_WRITE = (Need("contents", "write"),)
PULLS_READ = (Need("pull_requests", "read"),)
PULLS_WRITE = (Need("pull_requests", "write"),)
CHECKS_READ = (Need("checks", "read"),)
STATUSES_READ = (Need("statuses", "read"),)
ISSUES_READ = (Need("issues", "read"),)
ISSUES_WRITE = (Need("issues", "write"),)
TALK_READ = (Need("issues", "read"), Need("pull_requests", "read", "pulls-only"))
TALK_WRITE = (Need("issues", "write"), Need("pull_requests", "write", "pulls-only"))
LABEL_READ = (Need("issues", "read"), Need("pull_requests", "read"))
LABEL_WRITE = (Need("issues", "write"), Need("pull_requests", "write"))
MEMBERS_READ = (Need("members", "read"),)

REPO = "/repos/{owner}/{repo}"
NUMBER = REPO + "/issues/{issue_number}"
COMMENT = REPO + "/issues/comments/{comment_id}"
PULL = REPO + "/pulls/{pull_number}"


def _app(name: str, method: str, path: str) -> Operation:
    return Operation(name, method, path, "app")


def _repo(name: str, method: str, path: str, needs: tuple[Need, ...]) -> Operation:
    return Operation(name, method, path, "installation", needs)


OPERATIONS: tuple[Operation, ...] = (
    _app("apps/get-authenticated", "GET", "/app"),
    _app("apps/get-webhook-config-for-app", "GET", "/app/hook/config"),
    _app("apps/list-webhook-deliveries", "GET", "/app/hook/deliveries"),
    _app("apps/get-webhook-delivery", "GET", "/app/hook/deliveries/{delivery_id}"),
    _app("apps/redeliver-webhook-delivery", "POST", "/app/hook/deliveries/{delivery_id}/attempts"),
    _app("apps/list-installations", "GET", "/app/installations"),
    _app("apps/get-installation", "GET", "/app/installations/{installation_id}"),
    _app("apps/create-installation-access-token", "POST", "/app/installations/{installation_id}/access_tokens"),
    _app("apps/get-repo-installation", "GET", REPO + "/installation"),
    _repo("apps/revoke-installation-access-token", "DELETE", "/installation/token", ()),
    _repo("apps/list-repos-accessible-to-installation", "GET", "/installation/repositories", METADATA),
    Operation("meta/get", "GET", "/meta", "anyone"),
    Operation("rate-limit/get", "GET", "/rate_limit", "anyone"),
    Operation("users/get-by-username", "GET", "/users/{username}", "anyone"),
    _repo(
        "teams/get-membership-for-user-in-org",
        "GET",
        "/orgs/{org}/teams/{team_slug}/memberships/{username}",
        MEMBERS_READ,
    ),
    _repo("repos/get", "GET", REPO, METADATA),
    _repo("repos/get-collaborator-permission-level", "GET", REPO + "/collaborators/{username}/permission", METADATA),
    _repo("repos/get-branch-rules", "GET", REPO + "/rules/branches/{branch:path}", METADATA),
    _repo("repos/list-branches", "GET", REPO + "/branches", CONTENTS_READ),
    _repo("repos/get-branch", "GET", REPO + "/branches/{branch:path}", CONTENTS_READ),
    _repo("repos/list-commits", "GET", REPO + "/commits", CONTENTS_READ),
    _repo("checks/list-for-ref", "GET", REPO + "/commits/{ref:path}/check-runs", CHECKS_READ),
    _repo("checks/list-annotations", "GET", REPO + "/check-runs/{check_run_id}/annotations", CHECKS_READ),
    _repo("repos/get-combined-status-for-ref", "GET", REPO + "/commits/{ref:path}/status", STATUSES_READ),
    _repo("repos/get-commit", "GET", REPO + "/commits/{ref:path}", CONTENTS_READ),
    _repo("repos/compare-commits-with-basehead", "GET", REPO + "/compare/{basehead:path}", CONTENTS_READ),
    _repo("repos/get-content", "GET", REPO + "/contents/{path:path}", CONTENTS_READ),
    _repo("git/get-ref", "GET", REPO + "/git/ref/{ref:path}", CONTENTS_READ),
    _repo("git/list-matching-refs", "GET", REPO + "/git/matching-refs/{ref:path}", CONTENTS_READ),
    _repo("git/create-ref", "POST", REPO + "/git/refs", CONTENTS_WRITE),
    _repo("git/update-ref", "PATCH", REPO + "/git/refs/{ref:path}", CONTENTS_WRITE),
    _repo("git/delete-ref", "DELETE", REPO + "/git/refs/{ref:path}", CONTENTS_WRITE),
    _repo("git/create-commit", "POST", REPO + "/git/commits", CONTENTS_WRITE),
    _repo("git/get-commit", "GET", REPO + "/git/commits/{commit_sha}", CONTENTS_READ),
    _repo("git/create-tree", "POST", REPO + "/git/trees", CONTENTS_WRITE),
    _repo("git/get-tree", "GET", REPO + "/git/trees/{tree_sha:path}", CONTENTS_READ),
    _repo("git/create-blob", "POST", REPO + "/git/blobs", CONTENTS_WRITE),
    _repo("git/get-blob", "GET", REPO + "/git/blobs/{file_sha}", CONTENTS_READ),
    _repo("issues/list-labels-for-repo", "GET", REPO + "/labels", LABEL_READ),
    _repo("issues/create-label", "POST", REPO + "/labels", LABEL_WRITE),
    _repo("issues/get-label", "GET", REPO + "/labels/{name:path}", LABEL_READ),
    _repo("issues/list-for-repo", "GET", REPO + "/issues", LABEL_READ),
    _repo("issues/create", "POST", REPO + "/issues", ISSUES_WRITE),
    _repo("issues/get-comment", "GET", COMMENT, TALK_READ),
    _repo("issues/update-comment", "PATCH", COMMENT, TALK_WRITE),
    _repo("issues/delete-comment", "DELETE", COMMENT, TALK_WRITE),
    _repo("reactions/list-for-issue-comment", "GET", COMMENT + "/reactions", ISSUES_READ),
    _repo("reactions/create-for-issue-comment", "POST", COMMENT + "/reactions", ISSUES_WRITE),
    _repo("reactions/delete-for-issue-comment", "DELETE", COMMENT + "/reactions/{reaction_id}", ISSUES_WRITE),
    _repo("issues/get", "GET", NUMBER, TALK_READ),
    _repo("issues/update", "PATCH", NUMBER, TALK_WRITE),
    _repo("issues/list-comments", "GET", NUMBER + "/comments", TALK_READ),
    _repo("issues/create-comment", "POST", NUMBER + "/comments", TALK_WRITE),
    _repo("issues/list-events-for-timeline", "GET", NUMBER + "/timeline", TALK_READ),
    _repo("issues/list-labels-on-issue", "GET", NUMBER + "/labels", TALK_READ),
    _repo("issues/add-labels", "POST", NUMBER + "/labels", TALK_WRITE),
    _repo("issues/remove-label", "DELETE", NUMBER + "/labels/{name:path}", TALK_WRITE),
    _repo("issues/lock", "PUT", NUMBER + "/lock", TALK_WRITE),
    _repo("issues/unlock", "DELETE", NUMBER + "/lock", TALK_WRITE),
    _repo("reactions/list-for-issue", "GET", NUMBER + "/reactions", ISSUES_READ),
    _repo("reactions/create-for-issue", "POST", NUMBER + "/reactions", ISSUES_WRITE),
    _repo("pulls/list", "GET", REPO + "/pulls", PULLS_READ),
    _repo("pulls/create", "POST", REPO + "/pulls", PULLS_WRITE),
    _repo("pulls/get", "GET", PULL, PULLS_READ),
    _repo("pulls/update", "PATCH", PULL, PULLS_WRITE),
    _repo("pulls/list-files", "GET", PULL + "/files", PULLS_READ),
    _repo("pulls/list-commits", "GET", PULL + "/commits", PULLS_READ),
    _repo("pulls/merge", "PUT", PULL + "/merge", CONTENTS_WRITE),
)

BY_NAME: dict[str, Operation] = {operation.name: operation for operation in OPERATIONS}


def suffices(held: dict[str, str], need: Need) -> bool:
    """True when a token holding `held` (permission -> level) reaches the level of `need`; metadata is always held."""
    level = held.get(need.permission, "read" if need.permission == "metadata" else "none")
    return RANK[level] >= RANK[need.level]


def allowed(held: dict[str, str], needs: tuple[Need, ...], subject: Subject) -> bool:
    """True when one of the alternatives is held; `subject` says whether the number named is a pull request."""
    if not needs:
        return True
    return any(
        suffices(held, need) for need in needs if need.subject == "always" or subject == "pulls-only"
    )


def accepted_header(needs: tuple[Need, ...]) -> str:
    """The value of `X-Accepted-GitHub-Permissions`: alternatives parted by `; `."""
    return "; ".join(f"{need.permission}={need.level}" for need in needs)
