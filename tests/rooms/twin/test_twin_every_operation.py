"""Every operation of the table answers as GitHub's description says (checked by the client on each answer)."""

import base64
from typing import Any

from infra.twin.permissions import OPERATIONS
from infra.twin.twin import PERMISSIONS
from tests.fakes.github.described import operation_of


def _walk(yard: Any) -> set[str]:
    """Call every operation once with success; the names of those called."""
    called: set[str] = set()
    app, token = yard.jwt(), yard.token()

    def go(method: str, path: str, headers: dict[str, str], body: Any = None) -> Any:
        answer = yard.http.request(method, path, headers=headers, json=body)
        assert answer.status_code < 400, f"{method} {path}: {answer.status_code} {answer.text[:300]}"
        operation = operation_of(method, path.partition("?")[0])
        assert operation
        called.add(operation.name)
        return answer.json() if answer.content else None

    here = "/repos/octo/demo"

    def do(method: str, tail: str, body: Any = None) -> Any:
        return go(method, here + tail, token, body)

    yard.control.open_issue("octo/demo", "mira", "A bug", "text", labels=["bug"])
    yard.control.do("set_team", org="octo", slug="core", members=["mira"])
    _app_walk(yard, go, app, token)
    main = do("GET", "/git/ref/heads/main")["object"]["sha"]
    note = {"path": "src/app.py", "start_line": 2, "message": "y is not used"}
    yard.control.add_check_run("octo/demo", main, "ci", "failure", title="1 error", annotations=[note])
    yard.control.add_check_run("octo/demo", main, "slow", None)
    yard.control.add_status("octo/demo", main, "jenkins", "error", description="no node", target_url="http://ci/1")
    yard.control.open_issue("octo/demo", "mira", "Another", "See #1.")
    yard.control.push_commit("octo/demo", "aside", {"a": "a"}, message="Mend #1", as_login="mira")
    yard.control.do("add_rule", repo="octo/demo", pattern="release/*", type="creation")
    _issue_walk(do)
    _git_walk(do, main)
    yard.control.set_installation_permissions("octo", {**PERMISSIONS, "statuses": "read"})
    assert go("GET", f"{here}/commits/{main}/status", yard.token(statuses="read"))["state"] == "failure"
    _pull_walk(do)
    go("DELETE", "/installation/token", token)
    return called


def _app_walk(yard: Any, go: Any, app: dict[str, str], token: dict[str, str]) -> None:
    assert go("GET", "/app", app)["slug"] == "countersign"
    go("GET", "/app/hook/config", app)
    yard.control.settle()
    newest = go("GET", "/app/hook/deliveries", app)[0]["id"]
    assert go("GET", f"/app/hook/deliveries/{newest}", app)["request"]["payload"]
    go("POST", f"/app/hook/deliveries/{newest}/attempts", app)
    number = go("GET", "/app/installations", app)[0]["id"]
    go("GET", f"/app/installations/{number}", app)
    go("POST", f"/app/installations/{number}/access_tokens", app)
    assert go("GET", "/repos/octo/demo/installation", app)["id"] == number
    assert go("GET", "/installation/repositories", token)["total_count"] == 1
    for path in ("/meta", "/rate_limit", "/users/mira", "/users/countersign[bot]", "/repos/octo/demo"):
        go("GET", path, token)
    assert go("GET", f"/repositories/{yard.repo['id']}", token)["full_name"] == "octo/demo"
    member = {"members": "read"}
    reader = {"Authorization": "token " + yard.mint(permissions=member).json()["token"]}
    assert go("GET", "/orgs/octo/teams/core/memberships/mira", reader)["state"] == "active"
    assert go("GET", "/repos/octo/demo/collaborators/mira/permission", token)["role_name"] == "maintain"


def _issue_walk(do: Any) -> None:
    assert do("POST", "/issues", {"title": "Second", "labels": ["bug"]})["number"] == 3
    do("GET", "/issues"), do("GET", "/issues/1")
    do("PATCH", "/issues/3", {"title": "Renamed", "state": "closed", "labels": ["countersign"]})
    comment = do("POST", "/issues/1/comments", {"body": "hi"})["id"]
    do("GET", "/issues/1/comments"), do("GET", f"/issues/comments/{comment}")
    do("PATCH", f"/issues/comments/{comment}", {"body": "changed"})
    made = do("POST", f"/issues/comments/{comment}/reactions", {"content": "eyes"})["id"]
    assert do("GET", f"/issues/comments/{comment}/reactions")[0]["id"] == made
    do("DELETE", f"/issues/comments/{comment}/reactions/{made}")
    do("POST", "/issues/1/reactions", {"content": "+1"}), do("GET", "/issues/1/reactions")
    do("POST", "/labels", {"name": "new", "color": "ff0000"}), do("GET", "/labels"), do("GET", "/labels/new")
    assert len(do("POST", "/issues/1/labels", {"labels": ["new", "countersign"]})) == 3
    do("GET", "/issues/1/labels"), do("DELETE", "/issues/1/labels/new")
    do("PUT", "/issues/1/lock", {"lock_reason": "resolved"}), do("DELETE", "/issues/1/lock")
    told = [one["event"] for one in do("GET", "/issues/1/timeline")]
    assert {"labeled", "cross-referenced", "referenced"} <= set(told)
    do("DELETE", f"/issues/comments/{comment}")


def _git_walk(do: Any, main: str) -> None:
    blob = do("POST", "/git/blobs", {"content": base64.b64encode(b"\0x").decode(), "encoding": "base64"})["sha"]
    do("GET", f"/git/blobs/{blob}")
    entries = [
        {"path": "bin", "mode": "100755", "type": "blob", "sha": blob},
        {"path": "README.md", "mode": "100644", "type": "blob", "sha": None},
        {"path": "src/new.py", "mode": "100644", "type": "blob", "content": "z = 3\n"},
    ]
    tree = do("POST", "/git/trees", {"base_tree": main, "tree": entries})["sha"]
    do("GET", f"/git/trees/{tree}?recursive=0")
    commit = do("POST", "/git/commits", {"message": "Change", "tree": tree, "parents": [main]})["sha"]
    do("GET", f"/git/commits/{commit}"), do("GET", f"/commits/{commit}"), do("GET", "/commits?path=src/app.py")
    do("POST", "/git/refs", {"ref": "refs/heads/spare", "sha": main})
    do("PATCH", "/git/refs/heads/spare", {"sha": commit})
    do("GET", "/git/matching-refs/heads/sp"), do("GET", "/branches"), do("GET", "/branches/spare")
    assert do("GET", "/compare/main...spare")["ahead_by"] == 1
    assert do("GET", "/contents/src/app.py")["type"] == "file"
    assert [one["name"] for one in do("GET", "/contents/src")] == ["app.py"]
    runs = do("GET", f"/commits/{main}/check-runs")["check_runs"]
    assert [(one["name"], one["status"]) for one in runs] == [("ci", "completed"), ("slow", "in_progress")]
    assert do("GET", f"/check-runs/{runs[0]['id']}/annotations")[0]["start_line"] == 2
    assert do("GET", "/rules/branches/release/1.0")[0]["type"] == "creation"


def _pull_walk(do: Any) -> None:
    wish = {"title": "Fix", "head": "spare", "base": "main", "draft": False, "body": "Fixes #1"}
    number = do("POST", "/pulls", wish)["number"]
    assert number == 4
    do("GET", "/pulls?head=octo:spare&state=all"), do("GET", f"/pulls/{number}")
    do("PATCH", f"/pulls/{number}", {"title": "Better"})
    assert {one["status"] for one in do("GET", f"/pulls/{number}/files")} == {"added", "removed"}
    do("GET", f"/pulls/{number}/commits")
    assert do("PUT", f"/pulls/{number}/merge", {})["merged"]
    do("DELETE", "/git/refs/heads/spare")


def test_every_operation_answers_as_github_describes(yard: Any) -> None:
    called = _walk(yard)
    assert {one.name for one in OPERATIONS} - called == set()
    yard.heard()


def test_an_unknown_token_is_401_everywhere(yard: Any) -> None:
    for operation in OPERATIONS:
        path = operation.path.replace("{owner}", "octo").replace("{repo}", "demo").replace(":path}", "}")
        for name in (
            "issue_number", "pull_number", "comment_id", "reaction_id", "installation_id", "delivery_id",
            "check_run_id",
        ):
            path = path.replace("{" + name + "}", "1")
        headers = {"Authorization": "token ghs_nobody"}
        assert yard.http.request(operation.method, path, headers=headers).status_code == 401, operation.name
