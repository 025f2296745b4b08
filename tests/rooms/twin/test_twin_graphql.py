"""GraphQL: reactions and edits of many comments in one question, hiding comments, and errors under status 200."""

from typing import Any

import pytest

REPO = "octo/demo"
QUESTION = """
query($ids: [ID!]!) { nodes(ids: $ids) { ... on IssueComment {
  id databaseId fullDatabaseId body isMinimized lastEditedAt editor { login }
  reactionGroups { content reactors(first: 50) { nodes { ... on User { login databaseId } } } }
  reactions(first: 50) { nodes { id databaseId content createdAt user { login databaseId } } } } } }
"""
HIDE = """
mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) {
  minimizedComment { isMinimized minimizedReason } } }
"""


@pytest.fixture
def spoken(yard: Any) -> Any:
    yard.control.open_issue(REPO, "mira", "A bug")
    yard.plan = yard.call("POST", "/issues/1/comments", yard.token(), {"body": "plan"}).json()
    return yard


def _ask(yard: Any, headers: dict[str, str], query: str, **variables: Any) -> Any:
    answer = yard.http.post("/graphql", headers=headers, json={"query": query, "variables": variables})
    assert answer.status_code == 200
    return answer.json()


def test_one_question_tells_reactions_edits_and_hiding_of_many_comments(spoken: Any) -> None:
    other = spoken.control.comment(REPO, 1, "other", "tess")
    spoken.control.react(spoken.plan["id"], "+1", "mira")
    spoken.control.edit_comment(spoken.plan["id"], "forged", "mira")
    spoken.control.minimize(other["id"], "tess")
    ids = [spoken.plan["node_id"], other["node_id"]]
    first, second = _ask(spoken, spoken.token(issues="read"), QUESTION, ids=ids)["data"]["nodes"]
    assert (first["fullDatabaseId"], first["body"]) == (str(spoken.plan["id"]), "forged")
    assert first["editor"] == {"login": "mira"} and first["lastEditedAt"] and not first["isMinimized"]
    (reaction,) = first["reactions"]["nodes"]
    assert (reaction["content"], reaction["user"]["login"]) == ("THUMBS_UP", "mira")
    thumbs = next(one for one in first["reactionGroups"] if one["content"] == "THUMBS_UP")
    assert [one["login"] for one in thumbs["reactors"]["nodes"]] == ["mira"]
    assert second["isMinimized"] and second["lastEditedAt"] is None and second["editor"] is None


def test_a_database_id_above_32_bits_is_null_and_the_full_one_is_exact(spoken: Any) -> None:
    (found,) = _ask(spoken, spoken.token(), QUESTION, ids=[spoken.plan["node_id"]])["data"]["nodes"]
    assert found["databaseId"] is None and int(found["fullDatabaseId"]) > 2**32


def test_a_deleted_comment_is_null_with_an_error_and_the_others_still_answer(spoken: Any) -> None:
    other = spoken.control.comment(REPO, 1, "other", "tess")
    spoken.control.delete_comment(other["id"], "tess")
    answer = _ask(spoken, spoken.token(), QUESTION, ids=[spoken.plan["node_id"], other["node_id"]])
    assert answer["data"]["nodes"][0]["body"] == "plan" and answer["data"]["nodes"][1] is None
    assert answer["errors"][0]["type"] == "NOT_FOUND" and answer["errors"][0]["path"] == ["nodes", 1]


def test_a_token_of_another_repository_sees_nothing_and_a_token_without_issues_is_forbidden(spoken: Any) -> None:
    other = spoken.control.add_repo("octo/other", {"a": "1"}, private=True)
    foreign = spoken.mint(repository_ids=[other["id"]], permissions={"issues": "read"}).json()["token"]
    ids = [spoken.plan["node_id"]]
    hidden = _ask(spoken, {"Authorization": f"bearer {foreign}"}, QUESTION, ids=ids)
    assert hidden["data"]["nodes"] == [None] and hidden["errors"][0]["type"] == "NOT_FOUND"
    narrow = _ask(spoken, spoken.token(contents="read"), QUESTION, ids=ids)
    assert narrow["errors"][0]["type"] == "FORBIDDEN"
    assert narrow["errors"][0]["message"] == "Resource not accessible by integration"


def test_a_bad_credential_is_401_and_a_bad_question_is_an_error_under_200(spoken: Any) -> None:
    ask = {"query": "{viewer{login}}"}
    refused = spoken.http.post("/graphql", headers={"Authorization": "bearer ghs_nobody"}, json=ask)
    assert refused.status_code == 401
    assert spoken.http.post("/graphql", json=ask).status_code == 401
    answer = _ask(spoken, spoken.token(), "{nowhere}")
    assert "data" not in answer and "nowhere" in answer["errors"][0]["message"]


def test_the_app_hides_a_comment_only_with_issues_write(spoken: Any) -> None:
    node = spoken.plan["node_id"]
    refused = _ask(spoken, spoken.token(issues="read"), HIDE, id=node)
    assert refused["data"] == {"minimizeComment": None} and refused["errors"][0]["type"] == "FORBIDDEN"
    done = _ask(spoken, spoken.token(issues="write"), HIDE, id=node)
    assert done["data"]["minimizeComment"]["minimizedComment"] == {"isMinimized": True, "minimizedReason": "outdated"}
    shown = spoken.call("GET", f"/issues/comments/{spoken.plan['id']}", spoken.token()).json()
    assert shown["minimized"] == {"reason": "outdated"}


def test_issues_and_pull_requests_are_found_by_number_and_by_node(spoken: Any) -> None:
    headers = spoken.token()
    spoken.branch(headers, "fix", {"a": "1"})
    made = spoken.call("POST", "/pulls", headers, {"title": "t", "head": "fix", "base": "main", "draft": True}).json()
    query = """query($pull: ID!) { repository(owner: "octo", name: "demo") {
      issue(number: 1) { title comments(first: 5) { totalCount nodes { body } } } pullRequest(number: 2) { isDraft } }
      node(id: $pull) { ... on PullRequest { number state } } }"""
    found = _ask(spoken, headers, query, pull=made["node_id"])["data"]
    assert found["repository"]["issue"]["comments"] == {"totalCount": 1, "nodes": [{"body": "plan"}]}
    assert found["repository"]["pullRequest"] == {"isDraft": True}
    assert found["node"] == {"number": 2, "state": "OPEN"}
