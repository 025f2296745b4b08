"""Whose words on an issue say what is wanted: asked of GitHub once for each person, over a wire that a test holds."""

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.core.policy import Policy
from tests.rooms.github.conftest import FAST, WHEN, Answer, Wire, open_wire
from worker.belts.conversation import MOST_ASKED_ABOUT, MOST_HIDDEN, Conversation, read_conversation
from worker.github.connection import InstallationToken, connect
from worker.github.errors import GitHubError
from worker.github.reader import Reader
from worker.github.views import RepositoryRef

R = "/repos/mira/humanize"


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire, server = open_wire()
    yield wire
    server.shutdown()
    server.server_close()


def comment(number: int, login: str | None, body: str = "", **more: Any) -> dict[str, Any]:
    kind = more.pop("kind", "User")
    user = None if login is None else {"id": zlib.crc32(login.encode()), "login": login, "type": kind}
    return {
        "id": number, "node_id": "n", "created_at": WHEN, "updated_at": WHEN, "body": body or f"Words of {login}.",
        "user": user, "author_association": more.pop("association", "NONE"),
    }  # fmt: skip


@pytest.fixture
def told(wire: Wire) -> Callable[..., Conversation]:
    """The conversation of these comments, where those named here have the permission that is given."""

    def read(*comments: dict[str, Any], policy: Policy | None = None, **permissions: str) -> Conversation:
        wire.prepare(f"GET {R}/issues/7/comments", (200, list(comments)))
        for one in comments:
            user = one["user"] or {"login": "nobody", "id": 0}
            answer = {"permission": permissions.get(user["login"], "read"), "user": {"id": user["id"]}}
            wire.prepare(f"GET {R}/collaborators/{user['login']}/permission", (200, answer))
        with connect(wire.url, InstallationToken("ghs_" + "x" * 40), FAST) as connection:
            reader = Reader(connection, RepositoryRef(77, "mira/humanize"))
            return read_conversation(reader, reader.comments(7), policy or Policy())

    return read


def asked_about(wire: Wire) -> list[str]:
    return [one.path.split("/")[-2] for one in wire.asked if one.path.endswith("/permission")]


def deciders(conversation: Conversation) -> list[str]:
    return [one.text for one in conversation.remarks if one.decides]


def test_a_person_is_asked_about_once_and_every_comment_of_theirs_counts(told, wire):
    found = told(
        comment(1, "max", "One."), comment(2, "rita", "Two."), comment(3, "max", "Three."), max="write", rita="read"
    )
    assert deciders(found) == ["One.", "Three."] and [one.text for one in found.remarks] == ["One.", "Two.", "Three."]
    assert sorted(asked_about(wire)) == ["max", "rita"]


def test_whoever_hides_very_much_does_not_fill_the_plan_with_what_was_hidden(told):
    much = "".join(f"<!-- order {number} -->\n" for number in range(30))
    found = told(*(comment(number, "max", much) for number in range(1, 11)))
    assert len(found.hidden) == MOST_HIDDEN + 1
    assert "order 0" in found.hidden[0] and found.hidden[-1].startswith("240 more hidden pieces")


def test_an_association_gives_no_say_and_takes_none(told, wire):
    found = told(
        comment(1, "olga", association="OWNER"), comment(2, "max", association="NONE"), olga="read", max="admin"
    )
    assert deciders(found) == ["Words of max."]


def test_apps_and_deleted_accounts_are_asked_about_by_nobody(told, wire):
    found = told(
        comment(1, "dispatcher", kind="Bot"), comment(2, None, "Gone."), comment(3, "org", kind="Organization")
    )
    assert [one.text for one in found.remarks] == ["Gone.", "Words of org."]
    assert deciders(found) == [] and asked_about(wire) == []


def test_a_login_that_passed_to_another_account_has_no_say(told, wire):
    one = comment(1, "max")
    wire_answer = {"permission": "admin", "user": {"id": 999_999}}
    found = told(one, max="admin")
    assert deciders(found) == ["Words of max."]
    wire.prepare(f"GET {R}/collaborators/max/permission", (200, wire_answer))
    with connect(wire.url, InstallationToken("ghs_" + "x" * 40), FAST) as connection:
        reader = Reader(connection, RepositoryRef(77, "mira/humanize"))
        assert deciders(read_conversation(reader, reader.comments(7), Policy())) == []


def test_who_is_no_user_for_github_has_no_say_and_no_answer_is_no_permission(told, wire):
    told(comment(1, "ghost"))
    wire.prepare(f"GET {R}/collaborators/ghost/permission", (404, {"message": "ghost is not a user"}))
    with connect(wire.url, InstallationToken("ghs_" + "x" * 40), FAST) as connection:
        reader = Reader(connection, RepositoryRef(77, "mira/humanize"))
        comments = reader.comments(7)
        assert deciders(read_conversation(reader, comments, Policy())) == []
        wire.prepare(f"GET {R}/collaborators/ghost/permission", Answer(500, {"message": "down"}))
        with pytest.raises(GitHubError):
            read_conversation(reader, comments, Policy())


def test_of_very_many_people_the_likeliest_are_asked_about_and_the_rest_is_said(told, wire):
    crowd = [comment(number, f"reader{number:03}") for number in range(1, 60)]
    found = told(comment(0, "mira", "Mine.", association="MEMBER"), *crowd, mira="admin", reader059="write")
    assert deciders(found) == ["Mine.", "Words of reader059."]
    assert len(asked_about(wire)) == MOST_ASKED_ABOUT == 30
    assert found.left_out == ("Of 30 more people GitHub was not asked whether they may decide; their words are data.",)


def test_hidden_text_of_every_comment_is_taken_out_and_reported(told):
    """Case PI-01."""
    found = told(comment(1, "max", "Seen.<!-- unseen -->"), comment(2, "rita", "Plain\u200b."), max="write")
    assert [one.text for one in found.remarks] == ["Seen.", "Plain."]
    assert "comment by max" in found.hidden[0] and "unseen" in found.hidden[0] and "U+200B" in found.hidden[1]


def test_a_very_long_comment_is_cut_and_it_is_seen_that_it_was(told):
    found = told(comment(1, "max", "x" * 9_000), max="write")
    assert found.remarks[0].text == "x" * 8_000 + "\n[… cut]"
