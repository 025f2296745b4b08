"""Writes are looked for before they are made, made once, and never land where they must not."""

import base64
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rooms.github.conftest import Answer, Wire
from worker.github import errors
from worker.github.blobs import FEW
from worker.github.commenter import Commenter, How, Smile
from worker.github.connection import Connection
from worker.github.views import RepositoryRef
from worker.github.writer import (
    Delete,
    FileMode,
    Move,
    Publisher,
    Put,
    Work,
    refuse_branch_name,
)

R = "/repos/mira/humanize"
BOT = 900
MARKER = "<!-- countersign:run-1 -->"
BRANCH = "countersign/7-a"
PARENT, TREE, HEAD = "b" * 40, "d" * 40, "c" * 40

Made = Callable[..., dict[str, Any]]


@pytest.fixture
def commenter(connection: Connection, repository: RepositoryRef) -> Commenter:
    return Commenter(connection, repository, BOT)


@pytest.fixture
def publisher(connection: Connection, repository: RepositoryRef) -> Publisher:
    return Publisher(connection, repository, BOT)


def test_a_comment_is_made_once_and_then_found(wire: Wire, commenter: Commenter, comment_of: Made) -> None:
    body = MARKER + "\nhello"
    wire.prepare(f"GET {R}/issues/7/comments", (200, []), (200, [comment_of(1, BOT, body.replace("\n", "\r\n"))]))
    wire.prepare(f"POST {R}/issues/7/comments", (201, comment_of(1, BOT, body)))
    assert commenter.say(7, MARKER, body).how is How.MADE
    assert commenter.say(7, MARKER, body).how is How.FOUND
    assert wire.lines().count(f"POST {R}/issues/7/comments") == 1


def test_a_comment_that_was_made_although_github_failed_is_not_made_again(
    wire: Wire, commenter: Commenter, comment_of: Made
) -> None:
    wire.prepare(f"GET {R}/issues/7/comments", (200, []), (200, [comment_of(1, BOT, MARKER)]))
    wire.prepare(f"POST {R}/issues/7/comments", (500, "oops"))
    with pytest.raises(errors.Broken) as caught:
        commenter.say(7, MARKER, MARKER)
    assert caught.value.maybe_done
    assert commenter.say(7, MARKER, MARKER).how is How.FOUND
    assert wire.lines().count(f"POST {R}/issues/7/comments") == 1


def test_a_changed_text_edits_the_comment_in_place(wire: Wire, commenter: Commenter, comment_of: Made) -> None:
    wire.prepare(f"GET {R}/issues/7/comments", (200, [comment_of(1, BOT, MARKER + "old")]))
    wire.prepare(f"PATCH {R}/issues/comments/4300000001", (200, comment_of(1, BOT, MARKER + "new")))
    assert commenter.say(7, MARKER, MARKER + "new").how is How.UPDATED
    assert wire.asked[-1].body == {"body": MARKER + "new"}


def test_a_marker_copied_by_somebody_else_is_not_ours(wire: Wire, commenter: Commenter, comment_of: Made) -> None:
    following = {"Link": '<{url}/page2>; rel="next"'}
    wire.prepare(
        f"GET {R}/issues/7/comments", Answer(200, [comment_of(1, 5, MARKER), comment_of(2, None, MARKER)], following)
    )
    wire.prepare("GET /page2", (200, [comment_of(3, BOT, MARKER)]))
    found = commenter.find_comment(7, MARKER)
    assert found is not None and found.id == 4_300_000_003


def test_a_body_without_its_marker_is_a_broken_promise(wire: Wire, commenter: Commenter) -> None:
    with pytest.raises(ValueError, match="marker"):
        commenter.say(7, MARKER, "hello")
    assert wire.asked == []


def test_a_comment_on_a_transferred_issue_is_not_posted_elsewhere(wire: Wire, commenter: Commenter) -> None:
    wire.prepare(f"POST {R}/issues/7/comments", Answer(301, {}, {"Location": "{url}/repositories/5/issues/1/comments"}))
    wire.prepare("GET /repositories/5/issues/1/comments", (200, []))
    with pytest.raises(errors.Moved):
        commenter.create_comment(7, "hello")
    assert len(wire.asked) == 1


def test_a_comment_is_hidden_and_doubt_about_it_is_said(wire: Wire, commenter: Commenter) -> None:
    done = {"data": {"minimizeComment": {"minimizedComment": {"isMinimized": True}}}}
    wire.prepare("POST /graphql", (200, done), (200, {"data": {"minimizeComment": None}}))
    commenter.minimise("IC_1")
    assert wire.asked[0].body["variables"] == {"id": "IC_1", "why": "OUTDATED"}
    with pytest.raises(errors.NotUnderstood):
        commenter.minimise("IC_1")


def test_a_reaction_that_is_there_already_is_fine(wire: Wire, commenter: Commenter) -> None:
    wire.prepare(f"POST {R}/issues/comments/9/reactions", (201, {"id": 1}), (200, {"id": 1}))
    wire.prepare(f"POST {R}/issues/7/reactions", (201, {"id": 1}))
    commenter.react(9, Smile.SEEN)
    commenter.react(9, Smile.SEEN)
    commenter.react_to_issue(7, Smile.THUMBS_UP)
    assert [asked.body["content"] for asked in wire.asked] == ["eyes", "eyes", "+1"]


def commit_of(sha: str, tree: str = TREE, parent: str = PARENT, message: str = "Roll over") -> dict[str, Any]:
    return {
        "sha": sha, "message": message, "tree": {"sha": tree}, "parents": [{"sha": parent}],
        "verification": {"verified": True, "reason": "valid", "signature": "x", "payload": "y"},
    }  # fmt: skip


@pytest.fixture
def ready(wire: Wire) -> Wire:
    """A repository where a commit can be made: base `main` at PARENT, no branch of ours yet."""
    wire.prepare(f"GET {R}", (200, {"id": 77, "full_name": "mira/humanize", "default_branch": "trunk"}))
    wire.prepare(f"GET {R}/git/commits/{PARENT}", (200, commit_of(PARENT, tree="a" * 40)))
    wire.prepare(f"POST {R}/git/blobs", (201, {"sha": "e" * 40, "url": ""}))
    wire.prepare(f"POST {R}/git/trees", (201, {"sha": TREE, "tree": [], "truncated": False}))
    wire.prepare(f"POST {R}/git/commits", (201, commit_of(HEAD)))
    wire.prepare(f"POST {R}/git/refs", (201, {"ref": f"refs/heads/{BRANCH}", "object": {"sha": HEAD}}))
    return wire


WORK = Work.at_once(
    PARENT,
    ("Roll over",),
    (
        Put("src/a.py", b"\xff\x00new\r\n"),
        Put("run.sh", b"#!/bin/sh\n", FileMode.EXECUTABLE),
        Delete("gone.txt"),
        Move("old.py", "new/dir.py", b"x"),
    ),
)


def test_work_lands_as_one_commit_on_a_new_branch_without_author_fields(ready: Wire, publisher: Publisher) -> None:
    landed = publisher.land(BRANCH, "main", WORK)
    assert landed.how is How.MADE and landed.commit.sha == HEAD
    assert landed.commit.verification.verified and landed.commit.verification.reason == "valid"
    posted = {asked.path.removeprefix(R): asked.body for asked in ready.asked if asked.method == "POST"}
    assert posted["/git/commits"] == {"message": "Roll over", "tree": TREE, "parents": [PARENT]}
    assert posted["/git/refs"] == {"ref": f"refs/heads/{BRANCH}", "sha": HEAD}
    blob = "e" * 40
    assert posted["/git/trees"] == {"base_tree": "a" * 40, "tree": [
        {"path": "src/a.py", "mode": "100644", "type": "blob", "sha": blob},
        {"path": "run.sh", "mode": "100755", "type": "blob", "sha": blob},
        {"path": "gone.txt", "mode": "100644", "type": "blob", "sha": None},
        {"path": "old.py", "mode": "100644", "type": "blob", "sha": None},
        {"path": "new/dir.py", "mode": "100644", "type": "blob", "sha": blob},
    ]}  # fmt: skip
    blobs = [base64.b64decode(asked.body["content"]) for asked in ready.asked if asked.path.endswith("/blobs")]
    assert blobs == [b"\xff\x00new\r\n", b"#!/bin/sh\n", b"x"]


def test_texts_of_which_github_made_other_bytes_go_by_themselves(ready: Wire, publisher: Publisher) -> None:
    """This GitHub names no blob of the tree that carries them, as if it had made something else of each."""
    contents = [f"{number}\n".encode() for number in range(FEW + 1)]
    publisher.tree(PARENT, [Put(f"src/{number}.py", content) for number, content in enumerate(contents)])
    carried, last = (asked.body["tree"] for asked in ready.asked if asked.path.endswith("/trees"))
    assert [one["content"].encode() for one in carried] == contents and "base_tree" not in carried
    blobs = [base64.b64decode(asked.body["content"]) for asked in ready.asked if asked.path.endswith("/blobs")]
    assert blobs == contents and {one["sha"] for one in last} == {"e" * 40}


def test_work_that_landed_before_a_crash_is_found(ready: Wire, publisher: Publisher) -> None:
    ready.prepare(f"GET {R}/git/ref/heads/{BRANCH}", (200, {"ref": f"refs/heads/{BRANCH}", "object": {"sha": HEAD}}))
    ready.prepare(f"GET {R}/git/commits/{HEAD}", (200, commit_of(HEAD, message="Roll over\n")))
    landed = publisher.land(BRANCH, "main", WORK)
    assert landed.how is How.FOUND and landed.commit.sha == HEAD
    assert f"POST {R}/git/refs" not in ready.lines() and f"POST {R}/git/commits" not in ready.lines()


@pytest.mark.parametrize(
    "there", [commit_of(HEAD, tree="9" * 40), commit_of(HEAD, parent="9" * 40), commit_of(HEAD, message="mine")]
)
def test_a_branch_with_somebody_elses_commit_is_left_alone(
    ready: Wire, publisher: Publisher, there: dict[str, Any]
) -> None:
    ready.prepare(f"GET {R}/git/ref/heads/{BRANCH}", (200, {"ref": f"refs/heads/{BRANCH}", "object": {"sha": HEAD}}))
    ready.prepare(f"GET {R}/git/commits/{HEAD}", (200, there))
    with pytest.raises(errors.AlreadyExists):
        publisher.land(BRANCH, "main", WORK)
    assert not [asked for asked in ready.asked if asked.path.endswith("/refs")]


def test_a_name_taken_in_the_last_moment_is_adopted_only_at_our_commit(ready: Wire, publisher: Publisher) -> None:
    ready.prepare(f"POST {R}/git/refs", (422, {"message": "Reference already exists"}))
    where = f"GET {R}/git/ref/heads/{BRANCH}"
    ready.prepare(where, (200, {"ref": "x", "object": {"sha": HEAD}}), (200, {"ref": "x", "object": {"sha": "9" * 40}}))
    assert publisher.create_branch(BRANCH, HEAD, "main") is How.FOUND
    with pytest.raises(errors.AlreadyExists):
        publisher.create_branch(BRANCH, HEAD, "main")
    assert not [asked for asked in ready.asked if asked.method in ("PATCH", "DELETE", "PUT")]


@pytest.mark.parametrize("name", ["main", "trunk"])
def test_the_base_and_the_default_branch_are_never_written(ready: Wire, publisher: Publisher, name: str) -> None:
    with pytest.raises(ValueError, match="never written"):
        publisher.create_branch(name, HEAD, "main")
    assert not [asked for asked in ready.asked if asked.method == "POST"]


BAD_NAMES = [
    "", "a" * 40, "ABCDEF0123" * 4, "f" * 64, "refs/heads/x", "HEAD", "-x", "a..b", "a//b", "/a", "a/", "a.lock",
    "a/b.lock/c", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "a@{1}", "a.", ".a", "a/.b", "a\n", "ü", "1a",
]  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_git_or_github_would_refuse_or_misread_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="safe branch name"):
        refuse_branch_name(name)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 10**9), st.text(alphabet="abcdef0123456789", min_size=1, max_size=40))
def test_names_of_our_own_form_are_fine(number: int, run: str) -> None:
    refuse_branch_name(f"countersign/{number}-{run}")


@pytest.mark.parametrize(
    "changes",
    [
        (),
        (Put("a", b""), Delete("a")),
        (Move("a", "b", b""), Put("b", b"")),
        (Put("../a", b""),),
        (Put("/a", b""),),
        (Put(".git/hooks/x", b""),),
        (Put("sub/.GIT/config", b""),),
        (Put("a//b", b""),),
    ],
)
def test_a_tree_of_no_change_twice_named_or_outside_paths_is_refused(
    wire: Wire, publisher: Publisher, changes: tuple[Put, ...]
) -> None:
    with pytest.raises(ValueError, match=r"path"):
        publisher.tree(PARENT, changes)
    assert wire.asked == []


def test_a_draft_is_opened_once_and_then_found(wire: Wire, publisher: Publisher, pull_of: Made) -> None:
    wire.prepare(f"GET {R}/pulls", (200, []), (200, [pull_of(12)]))
    wire.prepare(f"POST {R}/pulls", (201, pull_of(12)))
    made = publisher.open_draft(BRANCH, "main", "title", "body")
    assert made.how is How.MADE and made.pull.draft
    assert wire.asked[-1].body == {"head": BRANCH, "base": "main", "title": "title", "body": "body", "draft": True}
    assert publisher.open_draft(BRANCH, "main", "title", "body").how is How.FOUND
    assert wire.lines().count(f"POST {R}/pulls") == 1


def test_a_draft_that_was_opened_although_the_answer_was_lost_is_adopted(
    wire: Wire, publisher: Publisher, pull_of: Made
) -> None:
    wire.prepare(f"GET {R}/pulls", (200, []), (200, [pull_of(12)]))
    wire.prepare(f"POST {R}/pulls", Answer(drop=True))
    with pytest.raises(errors.Unreachable) as caught:
        publisher.open_draft(BRANCH, "main", "title", "body")
    assert caught.value.maybe_done
    assert publisher.open_draft(BRANCH, "main", "title", "body").pull.number == 12
    assert wire.lines().count(f"POST {R}/pulls") == 1


def test_a_duplicate_that_github_reports_is_adopted_when_ours_and_said_when_not(
    wire: Wire, publisher: Publisher, pull_of: Made
) -> None:
    exists = {
        "message": "Validation Failed",
        "errors": [{"message": f"A pull request already exists for mira:{BRANCH}."}],
    }
    wire.prepare(f"POST {R}/pulls", (422, exists))
    wire.prepare(f"GET {R}/pulls", (200, []), (200, [pull_of(12)]))
    assert publisher.open_draft(BRANCH, "main", "t", "b").pull.number == 12
    wire.prepare(f"GET {R}/pulls", (200, [pull_of(13, author=5), pull_of(14, repo=8)]))
    with pytest.raises(errors.AlreadyExists):
        publisher.open_draft(BRANCH, "main", "t", "b")


def test_an_open_pull_comes_before_a_closed_one_and_a_closed_one_is_not_opened_again(
    wire: Wire, publisher: Publisher, pull_of: Made
) -> None:
    wire.prepare(
        f"GET {R}/pulls", (200, [pull_of(13, state="closed"), pull_of(12)]), (200, [pull_of(13, state="closed")])
    )
    assert publisher.open_draft(BRANCH, "main", "t", "b").pull.number == 12
    closed = publisher.open_draft(BRANCH, "main", "t", "b")
    assert (closed.pull.number, closed.pull.state, closed.how) == (13, "closed", How.FOUND)
    assert f"POST {R}/pulls" not in wire.lines()


def test_where_drafts_do_not_exist_that_is_said_after_one_attempt_and_a_plain_one_can_follow(
    wire: Wire, publisher: Publisher, pull_of: Made
) -> None:
    none = {
        "message": "Validation Failed",
        "errors": [{"message": "Draft pull requests are not supported in this repository."}],
    }
    wire.prepare(f"GET {R}/pulls", (200, []))
    wire.prepare(f"POST {R}/pulls", (422, none), (201, pull_of(12) | {"draft": False}))
    with pytest.raises(errors.DraftUnsupported):
        publisher.open_draft(BRANCH, "main", "t", "b")
    assert wire.lines().count(f"POST {R}/pulls") == 1
    assert not publisher.open_undrafted(BRANCH, "main", "not reviewed: t", "b").pull.draft
    assert wire.asked[-1].body["draft"] is False
