"""Pull requests: the refusals that catch a careless client, and that a pull request is an issue."""

from typing import Any

import pytest

from infra.twin.control import TwinRefused

REPO = "octo/demo"
WISH = {"title": "Fix", "head": "fix", "base": "main", "body": "Fixes #1", "draft": True}


def _message(answer: Any) -> str:
    assert answer.status_code == 422 and answer.json()["message"] == "Validation Failed"
    return str(answer.json()["errors"][0].get("message") or answer.json()["errors"][0]["code"])


def test_a_second_pull_request_from_the_same_branch_is_refused(yard: Any) -> None:
    headers = yard.token()
    yard.branch(headers, "fix", {"a.txt": "a"})
    assert yard.call("POST", "/pulls", headers, WISH).status_code == 201
    refused = yard.call("POST", "/pulls", headers, WISH)
    assert _message(refused) == "A pull request already exists for octo:fix."
    yard.control.close_pull(REPO, 1, "mira")
    assert yard.call("POST", "/pulls", headers, WISH).status_code == 201


def test_a_missing_head_a_missing_base_and_an_empty_difference_are_refused(yard: Any) -> None:
    headers = yard.token()
    missing = yard.call("POST", "/pulls", headers, {**WISH, "head": "nowhere"})
    assert missing.json()["errors"] == [{"resource": "PullRequest", "field": "head", "code": "invalid"}]
    yard.branch(headers, "fix", {"a.txt": "a"})
    wrong = yard.call("POST", "/pulls", headers, {**WISH, "base": "nowhere"})
    assert wrong.json()["errors"][0]["field"] == "base"
    main = yard.control.branches(REPO)["main"]
    yard.call("POST", "/git/refs", headers, {"ref": "refs/heads/same", "sha": main})
    empty = yard.call("POST", "/pulls", headers, {**WISH, "head": "same"})
    assert _message(empty) == "No commits between main and same"


def test_drafts_can_be_unsupported(yard: Any) -> None:
    headers = yard.token()
    yard.branch(headers, "fix", {"a.txt": "a"})
    yard.control.change_repo(REPO, drafts=False)
    refused = yard.call("POST", "/pulls", headers, WISH)
    assert (refused.status_code, refused.json()["message"]) == (
        422,
        "Draft pull requests are not supported in this repository.",
    )
    made = yard.call("POST", "/pulls", headers, {**WISH, "draft": False})
    assert made.status_code == 201 and made.json()["draft"] is False


def test_a_draft_cannot_be_merged_until_it_is_ready(yard: Any) -> None:
    headers = yard.token()
    yard.branch(headers, "fix", {"a.txt": "a"})
    yard.call("POST", "/pulls", headers, WISH)
    assert yard.call("PUT", "/pulls/1/merge", headers, {}).status_code == 405
    with pytest.raises(TwinRefused):
        yard.control.merge_pull(REPO, 1, "mira")
    yard.control.mark_ready(REPO, 1, "mira")
    yard.control.merge_pull(REPO, 1, "mira")
    assert yard.control.branch_files(REPO, "main")["a.txt"] == b"a"
    assert yard.call("GET", "/pulls/1", headers).json()["merged"] is True


def test_pull_requests_and_issues_share_one_sequence_and_every_pull_request_is_an_issue(yard: Any) -> None:
    headers = yard.token()
    yard.control.open_issue(REPO, "mira", "A bug")
    yard.branch(headers, "fix", {"a.txt": "a"})
    made = yard.call("POST", "/pulls", headers, WISH).json()
    assert made["number"] == 2
    as_issue = yard.call("GET", "/issues/2", headers).json()
    assert as_issue["pull_request"]["url"] == made["url"] and as_issue["id"] != made["id"]
    assert yard.call("GET", "/pulls/1", headers).status_code == 404
    assert yard.call("POST", "/issues/2/comments", headers, {"body": "x"}).status_code == 201


def test_the_list_is_filtered_by_head_with_its_owner_and_by_state(yard: Any) -> None:
    headers = yard.token()
    yard.branch(headers, "fix", {"a.txt": "a"})
    yard.branch(headers, "other", {"b.txt": "b"})
    yard.call("POST", "/pulls", headers, WISH)
    yard.call("POST", "/pulls", headers, {**WISH, "head": "other"})
    yard.control.close_pull(REPO, 1, "mira")

    def numbers(query: str) -> list[int]:
        return [one["number"] for one in yard.call("GET", f"/pulls?{query}", headers).json()]

    assert numbers("head=octo:fix&state=all") == [1]
    assert numbers("head=octo:fix") == [] and numbers("state=all") == [2, 1] and numbers("head=mira:other") == []


def test_files_and_diff_show_the_change_with_exact_names_and_renames(yard: Any) -> None:
    headers = yard.token()
    tree = {"docs/caf\u00e9 menu.md": "1\n", "docs/cafe\u0301 menu.md": "2\n", "odd b/ name": "3\n"}
    yard.branch(headers, "fix", tree)
    yard.call("POST", "/pulls", headers, WISH)
    files = yard.call("GET", "/pulls/1/files", headers).json()
    assert {one["filename"]: one["patch"] for one in files} == {
        name: f"@@ -0,0 +1 @@\n+{text.strip()}" for name, text in tree.items()
    }
    diff = yard.call("GET", "/pulls/1", {**headers, "Accept": "application/vnd.github.diff"})
    assert diff.text.count("diff --git") == 3 and "vnd.github.diff" in diff.headers["content-type"]
    patch = yard.call("GET", "/pulls/1", {**headers, "Accept": "application/vnd.github.v3.patch"})
    assert patch.text.startswith("From ")


def test_a_pull_request_follows_its_head_branch(yard: Any) -> None:
    headers = yard.token()
    yard.branch(headers, "fix", {"a.txt": "a"})
    yard.call("POST", "/pulls", headers, WISH)
    sha = yard.control.push_commit(REPO, "fix", {"a.txt": "b"}, as_login="mira")
    assert yard.call("GET", "/pulls/1", headers).json()["head"]["sha"] == sha
    assert "pull_request.synchronize" in yard.heard()
