"""What a planner looks up beside the issue: who speaks of it, what CI says, what a pull request changes."""

from typing import Any

REPO = "octo/demo"


def timeline(yard: Any, number: int, headers: dict[str, str] | None = None) -> list[dict[str, Any]]:
    answer = yard.call("GET", f"/issues/{number}/timeline", headers or yard.token(issues="read"))
    assert answer.status_code == 200, answer.text
    return [one for one in answer.json() if one["event"] in ("cross-referenced", "referenced")]


def test_an_issue_a_comment_and_a_pull_request_that_name_an_issue_show_on_its_timeline_once(yard: Any) -> None:
    yard.control.open_issue(REPO, "mira", "A bug", "text")
    yard.control.open_issue(REPO, "tess", "The same", "See #1, and #1 again, and #77.")
    yard.control.comment(REPO, 2, "Really #1.", "mira")
    yard.control.open_issue(REPO, "mira", "Neither", "x#1, &#1; a/#1, #10")
    yard.control.comment(REPO, 1, "I am #1 myself", "mira")
    yard.branch(yard.token(), "fix", {"a": "a\n"})
    yard.control.open_pull(REPO, "Mend it", "fix", "main", "mira")
    yard.control.do("edit_issue", repo=REPO, number=4, as_login="mira", body="Fixes octo/demo#1.")
    told = [one["source"]["issue"] for one in timeline(yard, 1)]
    assert [(one["number"], one["title"], "pull_request" in one) for one in told] == [
        (2, "The same", False), (4, "Mend it", True),
    ]  # fmt: skip
    assert told[0]["repository"]["full_name"] == REPO


def test_a_private_repository_that_speaks_of_a_public_one_is_not_told(yard: Any) -> None:
    yard.control.change_repo(REPO, private=False)
    yard.control.open_issue(REPO, "mira", "A bug", "text")
    for name, private in (("octo/secret", True), ("octo/open", False)):
        yard.control.add_repo(name, {"a": "a"}, collaborators={"mira": "write"}, private=private)
        yard.control.open_issue(name, "mira", f"of {name}", "because of octo/demo#1")
    assert [one["source"]["issue"]["title"] for one in timeline(yard, 1)] == ["of octo/open"]


def test_a_commit_that_names_an_issue_is_told_with_its_id(yard: Any) -> None:
    yard.control.open_issue(REPO, "mira", "A bug", "text")
    sha = yard.control.push_commit(REPO, "main", {"a": "a"}, message="Mend it (#1)", as_login="mira")
    (told,) = timeline(yard, 1)
    assert told["event"] == "referenced" and told["commit_id"] == sha and told["commit_url"].endswith(sha)


def test_of_each_check_the_latest_run_is_told_unless_all_are_asked_for(yard: Any) -> None:
    main = yard.control.branches(REPO)["main"]
    for conclusion in ("failure", "success"):
        yard.control.add_check_run(REPO, main, "ci", conclusion)
    headers = yard.token(checks="read")

    def told(asked: str) -> list[str]:
        shown = yard.call("GET", f"/commits/{main}/check-runs{asked}", headers).json()
        return [one["conclusion"] for one in shown["check_runs"]]

    assert told("") == told("?filter=latest") == ["success"]
    assert told("?filter=all") == ["failure", "success"]


def test_the_newest_status_of_each_context_counts_and_the_worst_of_them_is_the_commits(yard: Any) -> None:
    main, headers = yard.control.branches(REPO)["main"], _statuses(yard)

    def state() -> tuple[str, int]:
        shown = yard.call("GET", f"/commits/{main}/status", headers).json()
        return shown["state"], shown["total_count"]

    assert state() == ("pending", 0)
    yard.control.add_status(REPO, main, "jenkins", "failure", as_login="mira")
    yard.control.add_status(REPO, main, "docs", "success", as_login="mira")
    assert state() == ("failure", 2)
    yard.control.add_status(REPO, main, "jenkins", "success", as_login="mira")
    assert state() == ("success", 2)


def _statuses(yard: Any) -> dict[str, str]:
    yard.control.set_installation_permissions("octo", {"contents": "read", "metadata": "read", "statuses": "read"})
    return dict(yard.token(statuses="read"))


def test_checks_and_statuses_each_need_their_own_permission(yard: Any) -> None:
    main = yard.control.branches(REPO)["main"]
    run = yard.control.add_check_run(REPO, main, "ci", "success")
    reader = yard.token(contents="read", issues="read")
    for path, needed in (
        (f"/commits/{main}/check-runs", "checks=read"),
        (f"/check-runs/{run['id']}/annotations", "checks=read"),
        (f"/commits/{main}/status", "statuses=read"),
    ):
        answer = yard.call("GET", path, reader)
        assert answer.status_code == 403, path
        assert answer.headers["x-accepted-github-permissions"] == needed
