"""App JWTs and installation tokens: what is accepted, what it reaches, and what is refused with which answer."""

import time
from typing import Any

import pytest

from infra.twin.app_key import new_private_key
from infra.twin.permissions import OPERATIONS, RANK, accepted_header

NOT_ACCESSIBLE = "Resource not accessible by integration"


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"iat": 0}, 200),
        ({"iat": 45}, 401),
        ({"exp": -1}, 401),
        ({"exp": 660}, 401),
        ({"exp": 590}, 200),
        ({"iss": "999"}, 404),
        ({"iss": "Iv23twin000000004711"}, 200),
    ],
)
def test_a_jwt_is_judged_by_its_claims_and_the_twins_clock(yard: Any, claims: dict[str, Any], status: int) -> None:
    now = int(time.time())
    moved = {name: now + value if isinstance(value, int) else value for name, value in claims.items()}
    assert yard.http.get("/app", headers=yard.jwt(**moved)).status_code == status


def test_a_fast_host_clock_makes_github_refuse_the_jwt_until_iat_lies_in_the_past(yard: Any) -> None:
    yard.control.set_clock(-45)
    now = int(time.time())
    assert yard.http.get("/app", headers=yard.jwt(iat=now)).status_code == 401
    assert yard.http.get("/app", headers=yard.jwt(iat=now - 60, exp=now + 540)).status_code == 200


def test_a_jwt_of_another_key_is_refused(yard: Any) -> None:
    yard.key = new_private_key()
    answer = yard.http.get("/app", headers=yard.jwt())
    assert (answer.status_code, answer.json()["message"]) == (401, "A JSON web token could not be decoded")


def test_tokens_have_the_new_long_form_and_the_old_one_on_request(yard: Any) -> None:
    token = yard.mint().json()["token"]
    assert token.startswith("ghs_4711_") and token.count(".") == 2 and len(token) > 450
    path = f"/app/installations/{yard.installation['id']}/access_tokens"
    forced = yard.http.post(path, headers={**yard.jwt(), "X-GitHub-Stateless-S2S-Token": "disabled"}).json()["token"]
    assert len(forced) == 40 and "." not in forced
    yard.control.set_tokens(format="classic")
    assert len(yard.mint().json()["token"]) == 40


def test_an_expired_a_revoked_and_an_unknown_token_are_401(yard: Any) -> None:
    headers = yard.token()
    assert yard.call("GET", "", headers).status_code == 200
    yard.control.set_clock(3599)
    assert yard.call("GET", "", headers).status_code == 200
    yard.control.set_clock(3601)
    assert yard.call("GET", "", headers).json() == {
        "message": "Bad credentials",
        "documentation_url": "https://docs.github.com/rest",
        "status": "401",
    }
    yard.control.set_clock(0)
    assert yard.http.delete("/installation/token", headers=headers).status_code == 204
    assert yard.call("GET", "", headers).status_code == 401
    assert yard.call("GET", "", {"Authorization": "token ghs_nobody"}).status_code == 401


def test_the_life_of_a_token_can_be_set_in_seconds(yard: Any) -> None:
    yard.control.set_tokens(seconds=3)
    headers = yard.token()
    yard.control.set_clock(4)
    assert yard.call("GET", "", headers).status_code == 401


def test_a_token_without_a_permission_gets_403_that_names_it_for_every_operation(yard: Any) -> None:
    for operation in OPERATIONS:
        if operation.caller != "installation" or not operation.needs or "{owner}" not in operation.path:
            continue
        if operation.needs[0].permission == "metadata":
            continue
        needed = {need.permission: need.level for need in operation.needs}
        granted = yard.installation["permissions"]
        below = {
            name: ("read" if needed.get(name) == "write" else level)
            for name, level in granted.items()
            if needed.get(name) != "read" and name != "metadata"
        }
        assert all(RANK[below.get(name, "none")] < RANK[level] for name, level in needed.items())
        path = operation.path.replace("{owner}", "octo").replace("{repo}", "demo").replace(":path}", "}")
        for name in ("issue_number", "pull_number", "comment_id", "reaction_id"):
            path = path.replace("{" + name + "}", "1")
        answer = yard.http.request(operation.method, path, headers=yard.token(**below))
        assert (answer.status_code, answer.json()["message"]) == (403, NOT_ACCESSIBLE), operation.name
        assert answer.headers["x-accepted-github-permissions"] == accepted_header(operation.needs)


def test_a_token_never_holds_more_than_was_asked_for_or_granted(yard: Any) -> None:
    reader = yard.token(issues="read")
    yard.control.open_issue("octo/demo", "mira", "A bug")
    assert yard.call("GET", "/issues/1", reader).status_code == 200
    assert yard.call("POST", "/issues/1/comments", reader, {"body": "x"}).status_code == 403
    assert yard.mint(permissions={"workflows": "write"}).status_code == 422
    assert yard.mint(permissions={"checks": "write"}).status_code == 422
    assert yard.mint(repository_ids=[987654]).status_code == 422


def test_another_private_repository_does_not_exist_and_a_public_one_can_only_be_read(yard: Any) -> None:
    yard.control.add_repo("octo/hidden", {"a": "1"}, private=True)
    yard.control.add_repo("octo/open", {"a": "1"})
    headers = yard.token()
    assert yard.http.get("/repos/octo/hidden", headers=headers).status_code == 404
    assert yard.http.post("/repos/octo/hidden/issues", headers=headers, json={"title": "t"}).status_code == 404
    assert yard.http.get("/repos/octo/open", headers=headers).status_code == 200
    assert yard.http.post("/repos/octo/open/issues", headers=headers, json={"title": "t"}).status_code == 403
    assert yard.http.get("/repos/octo/open").status_code == 200
    assert yard.http.get("/repos/octo/demo").status_code == 404


def test_a_token_keeps_its_permissions_when_the_installation_changes_and_loses_removed_repositories(yard: Any) -> None:
    headers = yard.token()
    yard.control.set_installation_permissions("octo", {"issues": "read"})
    yard.control.open_issue("octo/demo", "mira", "A bug")
    assert yard.call("POST", "/issues/1/comments", headers, {"body": "x"}).status_code == 201
    assert yard.mint(permissions={"issues": "write"}).status_code == 422
    yard.control.add_repo("octo/other", {"a": "1"})
    yard.control.do("choose_repos", account="octo", repos=["octo/other"])
    assert yard.call("GET", "", headers).status_code == 404


def test_a_suspended_installation_mints_nothing_but_is_still_listed(yard: Any) -> None:
    headers = yard.token()
    yard.control.suspend("octo")
    refused = yard.mint()
    assert (refused.status_code, refused.json()["message"]) == (403, "This installation has been suspended")
    assert yard.call("GET", "", headers).status_code == 403
    listed = yard.http.get("/app/installations", headers=yard.jwt()).json()
    assert listed[0]["suspended_at"]
    yard.control.unsuspend("octo")
    assert yard.call("GET", "", headers).status_code == 200


def test_an_uninstalled_app_gets_404_for_a_token_and_its_old_one_dies(yard: Any) -> None:
    headers = yard.token()
    yard.control.uninstall("octo")
    assert yard.mint().status_code == 404
    assert yard.http.get("/repos/octo/demo/installation", headers=yard.jwt()).status_code == 404
    assert yard.call("GET", "", headers).status_code == 401


def test_a_pull_request_permission_speaks_on_pull_requests_only_and_never_reads_reactions(yard: Any) -> None:
    writer = yard.token()
    yard.control.open_issue("octo/demo", "mira", "A bug")
    yard.branch(writer, "fix", {"a.txt": "a"})
    yard.call("POST", "/pulls", writer, {"title": "t", "head": "fix", "base": "main"})
    only = yard.token(pull_requests="write")
    assert yard.call("POST", "/issues/1/comments", only, {"body": "x"}).status_code == 403
    spoken = yard.call("POST", "/issues/2/comments", only, {"body": "x"})
    assert spoken.status_code == 201
    assert yard.call("GET", f"/issues/comments/{spoken.json()['id']}", only).status_code == 200
    assert yard.call("GET", f"/issues/comments/{spoken.json()['id']}/reactions", only).status_code == 403


def test_the_list_of_tokens_tells_reach_and_life_and_never_a_value(yard: Any) -> None:
    headers = yard.token(contents="read")
    yard.http.delete("/installation/token", headers=headers)
    (one,) = yard.control.tokens()
    assert one["permissions"] == {"metadata": "read", "contents": "read"}
    assert one["repository_ids"] == [yard.repo["id"]]
    assert 3598 < one["expires"] - one["minted"] <= 3600 and one["revoked"] >= one["minted"]
    assert headers["Authorization"].split()[1] not in str(yard.control.tokens()) + str(yard.control.journal())
