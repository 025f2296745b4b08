"""The App signs in whatever form its key came, cuts only what was asked for, and drops what is broader."""

import base64
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tests.rooms.github.conftest import CANARY, FAST, Answer, Wire
from worker.github import errors
from worker.github.app import AppIdentity, BroaderThanAsked
from worker.github.key import KeyRefused, private_key_of


def pem_of(key: Any) -> str:
    encoded: bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    return encoded.decode()


KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = pem_of(KEY)
PERMISSIONS = {"contents": "read", "issues": "read"}
MINT = "POST /app/installations/42/access_tokens"


@pytest.fixture
def app(wire: Wire) -> Iterator[AppIdentity]:
    with AppIdentity(wire.url, "12345", PEM, settings=FAST) as opened:
        yield opened


def cut(**changes: Any) -> dict[str, Any]:
    return {
        "token": CANARY, "expires_at": "2026-05-01T11:00:00Z", "permissions": {**PERMISSIONS, "metadata": "read"},
        "repository_selection": "selected", "repositories": [{"id": 77, "full_name": "mira/humanize"}],
    } | changes  # fmt: skip


def claims_of(header: str) -> dict[str, Any]:
    return jwt.decode(
        header.removeprefix("Bearer "), KEY.public_key(), ["RS256"], options={"verify_exp": False, "verify_iat": False}
    )


@pytest.mark.parametrize("ahead", [0, 45, -45])
def test_a_clock_that_is_somewhat_wrong_is_still_believed(wire: Wire, ahead: int) -> None:
    wire.prepare("GET /repos/mira/humanize/installation", (200, {"id": 42}))
    with AppIdentity(wire.url, "12345", PEM, lambda: time.time() + ahead, FAST) as app:
        app.installation("mira/humanize")
    claims = claims_of(wire.asked[0].headers["authorization"])
    assert claims["iss"] == "12345"
    assert claims["iat"] <= time.time() and claims["exp"] <= time.time() + 600
    assert claims["exp"] > time.time() + 300


def test_every_call_is_signed_anew_by_the_clock(wire: Wire) -> None:
    now = [1_800_000_000.0]
    wire.prepare("GET /repos/mira/humanize/installation", (200, {"id": 42, "suspended_at": None}))
    with AppIdentity(wire.url, "12345", PEM, lambda: now[0], FAST) as app:
        app.installation("mira/humanize")
        now[0] += 3600
        app.installation("mira/humanize")
    issued = [claims_of(asked.headers["authorization"])["iat"] for asked in wire.asked]
    assert issued == [1_799_999_940, 1_800_003_540]


def test_a_token_is_cut_for_one_repository_and_the_named_permissions(wire: Wire, app: AppIdentity) -> None:
    wire.prepare(MINT, (201, cut()))
    token = app.mint(42, 77, PERMISSIONS)
    assert wire.asked[0].body == {"repository_ids": [77], "permissions": PERMISSIONS}
    assert token.value == CANARY and token.repository_ids == (77,)
    assert token.expires_at == datetime(2026, 5, 1, 11, tzinfo=UTC)
    assert CANARY not in repr(token) and CANARY not in str(token) and CANARY not in f"{token}"


@pytest.mark.parametrize("permissions", [{}, {"contents": ""}, {"contents": "everything"}])
def test_no_permissions_are_never_asked_for(wire: Wire, app: AppIdentity, permissions: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="at least one permission"):
        app.mint(42, 77, permissions)
    assert wire.asked == []


BROADER = [
    {"permissions": {"contents": "write", "issues": "read", "metadata": "read"}},
    {"permissions": {"contents": "read", "issues": "read", "metadata": "read", "workflows": "write"}},
    {"permissions": {"contents": "read"}},
    {"repositories": [{"id": 77}, {"id": 78}]},
    {"repositories": [{"id": 78}]},
    {"repository_selection": "all", "repositories": None},
    {"repository_selection": "all"},
    {"repositories": None},
]


@pytest.mark.parametrize("changes", BROADER)
def test_a_token_that_is_not_what_was_asked_for_is_revoked_at_once(
    wire: Wire, app: AppIdentity, changes: dict[str, Any]
) -> None:
    wire.prepare(MINT, (201, cut(**changes)))
    wire.prepare("DELETE /installation/token", Answer(204))
    with pytest.raises(BroaderThanAsked, match="It was revoked") as caught:
        app.mint(42, 77, PERMISSIONS)
    assert wire.asked[-1].line == "DELETE /installation/token"
    assert wire.asked[-1].headers["authorization"] == f"Bearer {CANARY}"
    assert CANARY not in str(caught.value)


def test_a_broader_token_that_could_not_be_revoked_is_said(wire: Wire, app: AppIdentity) -> None:
    wire.prepare(MINT, (201, cut(repositories=[])))
    wire.prepare("DELETE /installation/token", (503, "oops"))
    with pytest.raises(BroaderThanAsked, match="could NOT be revoked"):
        app.mint(42, 77, PERMISSIONS)


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (403, "This installation has been suspended", errors.Suspended),
        (404, "Not Found", errors.NotFound),
        (422, "The permissions requested are not granted to this installation.", errors.Forbidden),
    ],
)
def test_an_installation_that_gives_no_token_says_why(
    wire: Wire, app: AppIdentity, status: int, message: str, kind: type[errors.GitHubError]
) -> None:
    wire.prepare(MINT, (status, {"message": message}))
    with pytest.raises(kind):
        app.mint(42, 77, PERMISSIONS)
    assert len(wire.asked) == 1


def test_revoking_uses_the_token_itself_and_an_expired_one_counts_as_revoked(wire: Wire, app: AppIdentity) -> None:
    wire.prepare("DELETE /installation/token", Answer(204), (401, {"message": "Bad credentials"}), (502, "oops"))
    app.revoke_value(CANARY)
    app.revoke_value(CANARY)
    with pytest.raises(errors.Broken):
        app.revoke_value(CANARY)
    assert {asked.headers["authorization"] for asked in wire.asked} == {f"Bearer {CANARY}"}


def test_the_apps_bot_is_known_by_its_own_id(wire: Wire, app: AppIdentity) -> None:
    wire.prepare("GET /app", (200, {"id": 12345, "slug": "countersign-try", "owner": None}))
    wire.prepare("GET /users/countersign-try%5Bbot%5D", (200, {"id": 900, "login": "x", "type": "Bot"}))
    wire.prepare(MINT, (201, cut()))
    assert app.identity().bot_user_id == 900
    assert "authorization" not in wire.asked[-1].headers
    who = app.identity(app.mint(42, 77, PERMISSIONS))
    assert (who.bot_user_id, who.bot_login) == (900, "countersign-try[bot]")
    assert wire.asked[-1].headers["authorization"] == f"Bearer {CANARY}"


def attempt(number: int, guid: str, minutes_ago: int, status: str = "OK") -> dict[str, Any]:
    when = datetime(2026, 5, 1, 10, tzinfo=UTC) - timedelta(minutes=minutes_ago)
    return {
        "id": number, "guid": guid, "delivered_at": when.isoformat(), "status": status, "event": "issues",
        "status_code": 0, "redelivery": False, "action": "labeled", "installation_id": 42, "repository_id": 77,
        "duration": 0.1, "throttled_at": None,
    }  # fmt: skip


def test_the_delivery_log_is_read_page_by_page_along_githubs_own_links(wire: Wire, app: AppIdentity) -> None:
    following = {"Link": '<{url}/app/hook/deliveries?cursor=v1_2&per_page=100>; rel="next"'}
    wire.prepare(
        "GET /app/hook/deliveries",
        Answer(200, [attempt(2**40, "a", 1), attempt(9, "b", 2, "timed out")], following),
        Answer(200, [attempt(8, "b", 3) | {"action": None}]),
    )
    page = app.delivery_log()
    assert [(one.id, one.guid, one.status, one.arrived) for one in page.attempts] == [
        (2**40, "a", "OK", True),
        (9, "b", "timed out", False),
    ]
    last = app.delivery_log(page.following)
    assert ([(one.id, one.action) for one in last.attempts], last.following) == ([(8, "")], "")
    assert [asked.query for asked in wire.asked] == [{"per_page": "100"}, {"per_page": "100", "cursor": "v1_2"}]


@pytest.mark.parametrize("elsewhere", ["https://evil.example/app/hook/deliveries", "{url}/app/installations"])
def test_the_apps_key_signs_nothing_for_another_place_than_the_log(
    wire: Wire, app: AppIdentity, elsewhere: str
) -> None:
    wire.prepare("GET /app/installations", (200, []))
    with pytest.raises(errors.Moved):
        app.delivery_log(elsewhere.replace("{url}", wire.url))
    assert wire.asked == []


def test_a_redelivery_is_asked_for_by_the_attempts_own_id(wire: Wire, app: AppIdentity) -> None:
    wire.prepare("POST /app/hook/deliveries/8/attempts", (202, {}))
    app.redeliver(8)
    assert wire.lines() == ["POST /app/hook/deliveries/8/attempts"]


FORMS = {
    "plain": PEM,
    "one line": PEM.replace("\n", "\\n"),
    "one line in quotes": f'"{PEM.replace(chr(10), chr(92) + "n")}"',
    "in quotes": f"'{PEM}'",
    "carriage returns": PEM.replace("\n", "\r\n"),
    "spaces for lines": PEM.replace("\n", " "),
    "space around": "\n  " + PEM + "  ",
    "base64": base64.b64encode(PEM.encode()).decode(),
    "base64 in lines": base64.encodebytes(PEM.encode()).decode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_key_works_in_every_form_that_containers_make_of_it(form: str) -> None:
    key = private_key_of(FORMS[form], "GITHUB_PRIVATE_KEY")
    signed = jwt.encode({"iss": "1"}, key, algorithm="RS256")
    assert jwt.decode(signed, KEY.public_key(), ["RS256"]) == {"iss": "1"}


ELLIPTIC = pem_of(ec.generate_private_key(ec.SECP256R1()))
BODY = PEM.splitlines()[5]
REFUSED = {
    "nothing": ("", "empty"),
    "quotes": ('""', "empty"),
    "a path": ("/etc/countersign/key.pem", "must begin with"),
    "half of it": (PEM[: len(PEM) // 2], "cut off"),
    "a line missing": (PEM.replace(BODY, ""), "cannot be read"),
    "another kind of key": (ELLIPTIC, "cannot be read"),
    "the middle alone": (BODY, "must begin with"),
    "two kinds in one": (PEM.replace("BEGIN RSA PRIVATE", "BEGIN RSA PUBLIC"), "cut off"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_key_that_cannot_be_used_is_refused_by_name_and_never_shown(case: str) -> None:
    given, said = REFUSED[case]
    with pytest.raises(KeyRefused, match=said) as caught:
        private_key_of(given, "GITHUB_PRIVATE_KEY")
    assert "GITHUB_PRIVATE_KEY" in str(caught.value)
    assert BODY not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
