"""What the reader shows is what GitHub says now, all of it, and unknown fields do not matter."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.rooms.github.conftest import WHEN, Answer, Wire
from worker.github import errors
from worker.github.connection import Connection
from worker.github.reader import Reader
from worker.github.views import RepositoryRef

R = "/repos/mira/humanize"


@pytest.fixture
def reader(connection: Connection, repository: RepositoryRef) -> Reader:
    return Reader(connection, repository)


def test_an_issue_shows_its_author_labels_and_kind(wire: Wire, reader: Reader) -> None:
    issue = {
        "number": 7, "id": 2_600_000_001, "node_id": "I_7", "title": "t", "body": None, "user": None, "state": "open",
        "locked": True, "labels": [{"id": 3_000_000_001, "name": "countersign", "color": "x"}, "old style"],
        "updated_at": WHEN, "html_url": "", "type": {"name": "Bug"}, "state_reason": "novel",
    }  # fmt: skip
    wire.prepare(f"GET {R}/issues/7", (200, issue), (200, issue | {"pull_request": {"url": "x"}, "body": "b"}))
    seen = reader.issue(7)
    assert (seen.id, seen.author, seen.body, seen.locked) == (2_600_000_001, None, "", True)
    assert seen.labels == ("countersign", "old style") and not seen.is_pull_request
    assert seen.updated_at == datetime(2026, 5, 1, 10, tzinfo=UTC)
    again = reader.issue(7)
    assert again.is_pull_request and again.body == "b"


def test_every_page_of_comments_is_read_and_a_deleted_account_stops_nothing(
    wire: Wire, reader: Reader, comment_of: Callable[..., dict[str, Any]]
) -> None:
    comments = [comment_of(n, None if n == 3 else 500) for n in range(1, 46)]
    comments[43]["body"] = "use the `retries` option, add no flag"
    following = {"Link": '<{url}/repositories/77/issues/7/comments?page=2>; rel="next"'}
    wire.prepare(f"GET {R}/issues/7/comments", Answer(200, comments[:30], following))
    wire.prepare("GET /repositories/77/issues/7/comments", (200, comments[30:]))
    seen = reader.comments(7)
    assert len(seen) == 45
    assert seen[2].author is None
    assert seen[43].body == "use the `retries` option, add no flag"
    assert seen[0].author is not None and seen[0].author.kind == "User"
    assert seen[0].issue_number == 7


def test_comments_can_be_read_from_a_time_on(wire: Wire, reader: Reader) -> None:
    wire.prepare(f"GET {R}/issues/7/comments", (200, []))
    reader.comments(7, since=datetime(2026, 5, 1, 10, tzinfo=UTC))
    assert wire.asked[0].query == {"per_page": "100", "since": WHEN}


PERMISSIONS = [
    ({"permission": "read", "role_name": "read", "user": {"id": 5, "login": "mira"}}, ("read", "read", 5)),
    ({"permission": "write", "role_name": "maintain", "user": {"id": 5}}, ("write", "maintain", 5)),
    ({"permission": "read", "role_name": "house-elf", "user": {"id": 5}}, ("read", "house-elf", 5)),
    ({"permission": "admin"}, ("admin", "admin", None)),
]


@pytest.mark.parametrize(("answer", "expected"), PERMISSIONS)
def test_a_permission_is_the_legacy_level_the_role_and_whose_it_is(
    wire: Wire, reader: Reader, answer: dict[str, Any], expected: tuple[str, str, int | None]
) -> None:
    wire.prepare(f"GET {R}/collaborators/mira/permission", (200, answer))
    seen = reader.permission_of("mira")
    assert (seen.legacy, seen.role_name, seen.user_id) == expected


def test_a_login_that_is_no_user_has_no_permission(wire: Wire, reader: Reader) -> None:
    wire.prepare(f"GET {R}/collaborators/Copilot/permission", (404, {"message": "Copilot is not a user"}))
    assert reader.permission_of("Copilot").legacy == "none"


def test_a_failing_permission_endpoint_is_an_error_and_is_asked_again(wire: Wire, reader: Reader) -> None:
    line = f"GET {R}/collaborators/mira/permission"
    wire.prepare(line, (500, "oops"), (403, {"message": "no"}), (200, {"novel": 1}), (200, {"permission": "write"}))
    for kind in (errors.Broken, errors.Forbidden, errors.NotUnderstood):
        with pytest.raises(kind):
            reader.permission_of("mira")
    assert reader.permission_of("mira").legacy == "write"


def test_a_login_cannot_lead_elsewhere(wire: Wire, reader: Reader) -> None:
    with pytest.raises(ValueError, match="segment"):
        reader.permission_of("..")
    reader.permission_of("mira/../../outsider?x#y")
    assert wire.asked[0].path == f"{R}/collaborators/mira%2F..%2F..%2Foutsider%3Fx%23y/permission"


def reaction(number: int, user: int | None) -> dict[str, Any]:
    who = None if user is None else {"databaseId": user, "login": f"user{user}"}
    return {"databaseId": number, "createdAt": WHEN, "user": who}


def reacted(node: str, thumbs: list[dict[str, Any]], cursor: str | None = None) -> dict[str, Any]:
    page = {"hasNextPage": cursor is not None, "endCursor": cursor}
    return {
        "id": node, "body": "plan", "createdAt": "2026-03-01T09:00:00Z", "lastEditedAt": None, "isMinimized": False,
        "reactions": {"pageInfo": page, "nodes": thumbs},
    }  # fmt: skip


def test_thumbs_are_read_in_batches_with_deleted_comments_and_people_left_out(wire: Wire, reader: Reader) -> None:
    first = {"data": {"nodes": [reacted("IC_0", [reaction(1, 5), reaction(2, None)]), None, {}]},
             "errors": [{"type": "NOT_FOUND", "path": ["nodes", 1], "message": "Could not resolve"}]}  # fmt: skip
    hidden = reacted("IC_100", []) | {"createdAt": "2026-03-01T09:00:00Z", "lastEditedAt": WHEN, "isMinimized": True}
    wire.prepare("POST /graphql", (200, first), (200, {"data": {"nodes": [hidden]}}))
    seen = reader.reactions([f"IC_{n}" for n in range(101)])
    assert [len(asked.body["variables"]["ids"]) for asked in wire.asked] == [100, 1]
    assert sorted(seen) == ["IC_0", "IC_100"]
    thumbs = seen["IC_0"].thumbs
    assert [(t.reaction_id, t.user_id, t.login) for t in thumbs] == [(1, 5, "user5")]
    assert seen["IC_100"].minimized and seen["IC_100"].edited_at == datetime(2026, 5, 1, 10, tzinfo=UTC)


def test_more_than_a_hundred_thumbs_are_all_seen(wire: Wire, reader: Reader) -> None:
    first = {"data": {"nodes": [reacted("IC_0", [reaction(1, 5)], "CUR")]}}
    second = {"data": {"nodes": [reacted("IC_0", [reaction(2, 6)])]}}
    wire.prepare("POST /graphql", (200, first), (200, second))
    assert [thumb.user_id for thumb in reader.reactions(["IC_0"])["IC_0"].thumbs] == [5, 6]
    assert wire.asked[1].body["variables"] == {"ids": ["IC_0"], "after": "CUR"}


def test_ids_that_graphql_leaves_out_are_read_over_rest(wire: Wire, reader: Reader) -> None:
    large = reacted("IC_0", [reaction(1, 5), reaction(2, 6) | {"databaseId": None}]) | {"fullDatabaseId": "5000000001"}
    wire.prepare("POST /graphql", (200, {"data": {"nodes": [large]}}))
    over_rest = {"id": 2**31 + 5, "content": "+1", "created_at": WHEN, "user": {"id": 5, "login": "mira"}}
    wire.prepare(f"GET {R}/issues/comments/5000000001/reactions", (200, [over_rest]))
    assert [thumb.reaction_id for thumb in reader.reactions(["IC_0"])["IC_0"].thumbs] == [2**31 + 5]


def test_an_error_beside_the_reactions_is_no_empty_answer(wire: Wire, reader: Reader) -> None:
    said = {"data": {"nodes": []}, "errors": [{"type": "NOT_FOUND"}, {"type": "RATE_LIMITED", "message": "x"}]}
    wire.prepare("POST /graphql", (200, said))
    with pytest.raises(errors.RateLimited):
        reader.reactions(["IC_0"])


def test_thumbs_over_rest_quote_the_plus_and_are_of_people_alone(wire: Wire, reader: Reader) -> None:
    one = {"id": 3, "content": "+1", "created_at": WHEN, "user": {"id": 5, "login": "mira"}}
    robot = one | {"id": 6, "user": {"id": 7, "login": "robot[bot]", "type": "Bot"}}
    wire.prepare(f"GET {R}/issues/comments/9/reactions", (200, [one, one | {"id": 4, "user": None}, robot]))
    assert [thumb.reaction_id for thumb in reader.thumbs(9)] == [3]
    assert wire.asked[0].query["content"] == "+1"


def test_a_branch_that_is_not_there_is_told_from_a_repository_that_is_not_visible(wire: Wire, reader: Reader) -> None:
    head = {"ref": "refs/heads/fix/a", "object": {"sha": "a" * 40, "type": "commit"}}
    wire.prepare(f"GET {R}/git/ref/heads/fix/a", (200, head))
    assert reader.head_of("fix/a") == "a" * 40
    with pytest.raises(errors.NotFound):
        reader.find_branch("fix/b")
    wire.prepare(f"GET {R}", (200, {"id": 77, "full_name": "mira/humanize"}))
    assert reader.find_branch("fix/b") is None


def test_a_file_is_its_bytes_whatever_its_size(wire: Wire, reader: Reader) -> None:
    small = {"type": "file", "sha": "s1", "encoding": "base64", "content": "aGVs\nbG8=\n"}
    large = {"type": "file", "sha": "s2", "encoding": "none", "content": ""}
    wire.prepare(f"GET {R}/contents/.github/countersign.yml", (200, small))
    wire.prepare(f"GET {R}/contents/big", (200, large))
    wire.prepare(f"GET {R}/git/blobs/s2", (200, {"content": "/w==", "encoding": "base64"}))
    found = reader.file_at(".github/countersign.yml", "main")
    assert found is not None and found.content == b"hello"
    assert wire.asked[0].query == {"ref": "main"}
    big = reader.file_at("big", "main")
    assert big is not None and big.content == b"\xff"


@pytest.mark.parametrize(
    "answer", [[{"name": "a"}], {"type": "symlink", "sha": "s"}, {"type": "submodule", "sha": "s"}]
)
def test_what_is_no_file_is_none(wire: Wire, reader: Reader, answer: object) -> None:
    wire.prepare(f"GET {R}/contents/x", (200, answer))
    assert reader.file_at("x", "main") is None


def test_a_missing_policy_is_told_from_a_repository_that_is_not_visible(wire: Wire, reader: Reader) -> None:
    with pytest.raises(errors.NotFound):
        reader.file_at("x", "main")
    wire.prepare(f"GET {R}", (200, {"id": 77, "full_name": "mira/humanize"}))
    assert reader.file_at("x", "main") is None


def test_checks_rules_timeline_and_people_are_read(wire: Wire, reader: Reader) -> None:
    run = {"id": 4_000_000_001, "name": "tests", "status": "completed", "conclusion": "failure"}
    wire.prepare(f"GET {R}/commits/abc/check-runs", (200, {"total_count": 1, "check_runs": [run]}))
    wire.prepare(f"GET {R}/rules/branches/fix%2Fa", (200, [{"type": "creation", "ruleset_id": 42}]))
    labeled = {"event": "labeled", "id": 1, "actor": None, "created_at": WHEN, "label": {"name": "countersign"}}
    wire.prepare(f"GET {R}/issues/7/timeline", (200, [labeled, {"event": "novel", "id": None}]))
    wire.prepare("GET /users/mira", (200, {"id": 5, "login": "mira", "type": "User"}))
    assert reader.check_runs("abc")[0].conclusion == "failure"
    assert reader.branch_rules("fix/a")[0].kind == "creation"
    assert [event.event for event in reader.timeline(7)] == ["labeled", "novel"]
    mira = reader.user("mira")
    assert mira is not None and mira.id == 5
    assert reader.user("nobody") is None


def test_pulls_are_looked_up_by_their_head_and_a_longer_list_is_not_believed(
    wire: Wire, reader: Reader, pull_of: Callable[..., dict[str, Any]]
) -> None:
    other = pull_of(2)
    other["head"] = other["head"] | {"ref": "something-else"}
    wire.prepare(f"GET {R}/pulls", (200, [pull_of(1), other]))
    assert [pull.number for pull in reader.pulls_by_head("mira", "countersign/7-a")] == [1]
    assert wire.asked[0].query["head"] == "mira:countersign/7-a" and wire.asked[0].query["state"] == "all"


def test_a_missing_field_is_said_and_not_guessed(wire: Wire, reader: Reader) -> None:
    wire.prepare(f"GET {R}/issues/7", (200, {"number": 7}))
    with pytest.raises(errors.NotUnderstood, match="lacks something"):
        reader.issue(7)
