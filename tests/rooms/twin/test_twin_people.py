"""What people may do by hand, and how GitHub tells the App about their rights."""

from typing import Any

import pytest

from infra.twin.control import TwinRefused

REPO = "octo/demo"


def test_labelling_needs_triage(yard: Any, public: Any) -> None:
    yard.control.open_issue(REPO, "outsider", "A bug")
    with pytest.raises(TwinRefused) as refused:
        yard.control.label(REPO, 1, "countersign", "outsider")
    assert refused.value.status == 403
    yard.control.label(REPO, 1, "countersign", "tess")
    with pytest.raises(TwinRefused):
        yard.control.label(REPO, 1, "brand new", "tess")
    yard.control.label(REPO, 1, "brand new", "mira")
    assert [one["name"] for one in yard.control.issue(REPO, 1)["labels"]] == ["countersign", "brand new"]


def test_labels_given_by_an_outsider_are_dropped_unless_a_form_applies_them(public: Any) -> None:
    plain = public.control.open_issue(REPO, "outsider", "A bug", labels=["countersign"])
    assert plain["labels"] == []
    formed = public.control.open_issue(REPO, "outsider", "A bug", labels=["countersign"], through="form")
    assert [one["name"] for one in formed["labels"]] == ["countersign"]
    labelled = [one for one in _payloads(public) if one.get("action") == "labeled"]
    assert [one["sender"]["login"] for one in labelled] == ["outsider"]


def _payloads(yard: Any) -> list[dict[str, Any]]:
    yard.heard()
    return [one.payload for one in yard.receiver.seen]


@pytest.mark.parametrize(
    ("role", "legacy"),
    [
        ("admin", "admin"),
        ("maintain", "write"),
        ("write", "write"),
        ("triage", "read"),
        ("read", "read"),
        ("none", "none"),
    ],
)
def test_the_permission_endpoint_gives_the_legacy_level_and_the_true_role(yard: Any, role: str, legacy: str) -> None:
    yard.control.add_user("kit")
    yard.control.set_permission(REPO, "kit", role)
    found = yard.call("GET", "/collaborators/kit/permission", yard.token()).json()
    assert (found["permission"], found["role_name"]) == (legacy, role)


def test_a_custom_role_keeps_its_name_and_gives_the_level_below_it(yard: Any) -> None:
    yard.control.add_user("kit")
    yard.control.add_repo("octo/two", {"a": "1"}, custom_roles={"release": "write"}, collaborators={"kit": "release"})
    path = "/repos/octo/two/collaborators/kit/permission"
    token = {"Authorization": "token " + yard.mint().json()["token"]}
    found = yard.http.get(path, headers=token).json()
    assert (found["permission"], found["role_name"]) == ("write", "release")


def test_anybody_reads_a_public_repository_and_nobody_a_private_one(yard: Any) -> None:
    headers = yard.token()
    assert yard.call("GET", "/collaborators/outsider/permission", headers).json()["permission"] == "none"
    yard.control.change_repo(REPO, private=False)
    assert yard.call("GET", "/collaborators/outsider/permission", headers).json()["permission"] == "read"


def test_what_is_no_user_is_404_and_another_bot_has_no_permission(public: Any) -> None:
    headers = public.token()
    public.control.add_user("Copilot", kind="Bot")
    public.control.add_user("dispatcher[bot]", kind="Bot")
    refused = public.call("GET", "/collaborators/Copilot/permission", headers)
    assert (refused.status_code, refused.json()["message"]) == (404, "Copilot is not a user")
    assert public.call("GET", "/collaborators/ghost/permission", headers).status_code == 404
    found = public.call("GET", "/collaborators/dispatcher%5Bbot%5D/permission", headers)
    assert found.json()["permission"] == "none"


def test_a_reaction_is_201_then_200_and_sends_no_webhook(yard: Any) -> None:
    headers = yard.token()
    yard.control.open_issue(REPO, "mira", "A bug")
    comment = yard.call("POST", "/issues/1/comments", headers, {"body": "plan"}).json()
    before = len(yard.heard())
    yard.control.react(comment["id"], "+1", "mira")
    path = f"/issues/comments/{comment['id']}/reactions"
    assert yard.call("POST", path, headers, {"content": "eyes"}).status_code == 201
    assert yard.call("POST", path, headers, {"content": "eyes"}).status_code == 200
    assert yard.call("POST", path, headers, {"content": "wave"}).status_code == 422
    found = yard.call("GET", path + "?content=%2B1&per_page=100", headers).json()
    assert [(one["user"]["login"], one["content"]) for one in found] == [("mira", "+1")]
    yard.control.unreact(comment["id"], "+1", "mira")
    assert yard.call("GET", path + "?content=%2B1", headers).json() == []
    assert len(yard.heard()) == before


def test_a_deleted_comment_takes_its_reactions_to_404(yard: Any) -> None:
    headers = yard.token()
    yard.control.open_issue(REPO, "mira", "A bug")
    comment = yard.call("POST", "/issues/1/comments", headers, {"body": "plan"}).json()
    yard.control.delete_comment(comment["id"], "mira")
    assert yard.call("GET", f"/issues/comments/{comment['id']}/reactions", headers).status_code == 404


def test_a_locked_conversation_takes_no_word_of_the_app_and_no_reaction_of_anybody(yard: Any) -> None:
    headers = yard.token()
    yard.control.open_issue(REPO, "mira", "A bug")
    comment = yard.call("POST", "/issues/1/comments", headers, {"body": "plan"}).json()
    yard.control.lock_issue(REPO, 1, "mira")
    refused = yard.call("POST", "/issues/1/comments", headers, {"body": "more"})
    assert (refused.status_code, refused.json()["message"]) == (
        403,
        "Unable to create comment because issue is locked.",
    )
    with pytest.raises(TwinRefused):
        yard.control.react(comment["id"], "+1", "mira")
    yard.control.comment(REPO, 1, "maintainers may", "mira")


def test_an_archived_repository_takes_nothing(yard: Any) -> None:
    headers = yard.token()
    yard.control.open_issue(REPO, "mira", "A bug")
    yard.control.change_repo(REPO, archived=True)
    for method, tail, body in (
        ("POST", "/issues", {"title": "t"}),
        ("POST", "/issues/1/comments", {"body": "x"}),
        ("POST", "/issues/1/labels", {"labels": ["bug"]}),
        ("POST", "/git/blobs", {"content": "x"}),
        ("POST", "/git/refs", {"ref": "refs/heads/x", "sha": "0" * 40}),
    ):
        refused = yard.call(method, tail, headers, body)
        assert (refused.status_code, refused.json()["message"]) == (403, "Repository was archived so is read-only."), (
            tail
        )


def test_a_body_that_is_too_long_is_refused_with_githubs_words(yard: Any) -> None:
    headers = yard.token()
    yard.control.open_issue(REPO, "mira", "A bug")
    refused = yard.call("POST", "/issues/1/comments", headers, {"body": "😀" * 65537})
    assert refused.status_code == 422 and "Body is too long" in refused.json()["errors"][0]["message"]
    assert yard.call("POST", "/issues/1/comments", headers, {"body": "😀" * 65536}).status_code == 201
    refused = yard.call("POST", "/issues", headers, {"title": "t", "body": "x" * 65537})
    assert "body is too long (maximum is 65536 characters)" in refused.json()["errors"][0]["message"]


def test_a_moved_issue_is_301_and_a_deleted_one_410(yard: Any) -> None:
    headers = {"Authorization": "token " + yard.mint().json()["token"]}
    yard.control.add_repo("octo/two", {"a": "1"}, labels=["bug"], private=True, collaborators={"mira": "admin"})
    yard.control.set_permission(REPO, "mira", "admin")
    yard.control.open_issue(REPO, "mira", "A bug", labels=["bug", "countersign"])
    yard.control.comment(REPO, 1, "text", "mira")
    moved = yard.control.transfer_issue(REPO, 1, "octo/two", "mira")
    assert [one["name"] for one in moved["labels"]] == ["bug"] and moved["comments"] == 1
    answer = yard.call("GET", "/issues/1", headers)
    assert answer.status_code == 301
    assert yard.http.get(answer.headers["location"], headers=headers).json()["title"] == "A bug"
    yard.control.open_issue(REPO, "mira", "Another")
    yard.control.delete_issue(REPO, 2, "mira")
    assert yard.call("GET", "/issues/2", headers).status_code == 410
    assert {"issues.transferred", "issues.opened", "issues.deleted"} <= set(yard.heard())


def test_a_renamed_repository_answers_301_by_its_old_name_and_200_by_its_id(yard: Any) -> None:
    headers = yard.token()
    yard.control.change_repo(REPO, name="renamed")
    answer = yard.call("GET", "/issues", headers)
    assert answer.status_code == 301
    assert yard.http.get(answer.headers["location"], headers=headers).status_code == 200
    assert yard.http.get(f"/repositories/{yard.repo['id']}", headers=headers).json()["full_name"] == "octo/renamed"


def test_ids_lie_above_32_bits_and_can_be_moved_on(yard: Any) -> None:
    yard.control.set_ids("comment", 9_000_000_000)
    issue = yard.control.open_issue(REPO, "mira", "A bug")
    assert issue["id"] > 2**31
    assert yard.control.comment(REPO, 1, "x", "mira")["id"] == 9_000_000_000
