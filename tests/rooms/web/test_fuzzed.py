"""Whatever is sent to the web process: it answers with 2xx or 4xx and a reason, records nothing unsigned, and works on.

Deliveries are published examples that were spoilt in many ways, with a right signature. Every path of the pages' own
description is asked with every method, and with odd parameters, queries and headers. `make soak` goes on for longer.
"""

import copy
import gzip
import json
import random
import re
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from app.core.advance import replay
from app.web.intake import READERS
from app.web.pages import Told, make_pages
from app.web.sessions import seal_of
from app.web.viewers import Viewers, Watchers
from tests.fakes.webhook_examples import examples
from tests.rooms.web.conftest import Door, commented, labeled, sign

SHORT = 60
"""Examples of the short form."""

NO_HTTP = "Invalid HTTP request received."
"""What uvicorn says, and at once hangs up."""

Tries = Callable[[Callable[..., None], st.SearchStrategy[Any]], None]


@pytest.fixture
def tries(chance: random.Random, soak_seconds: float | None) -> Tries:
    """Has a check hold for examples: a few, or in a soak ever new ones until its time is over."""

    def hold(check: Callable[..., None], examples_of: st.SearchStrategy[Any]) -> None:
        until = time.monotonic() + (soak_seconds or 0.0)
        many = settings(max_examples=SHORT, database=None, suppress_health_check=list(HealthCheck))
        while True:
            seed(chance.random())(many(given(examples_of)(check)))()
            if time.monotonic() >= until:
                return

    return hold


# -- deliveries -------------------------------------------------------------------------------------------------

STRANGE: list[Any] = [
    None, True, 0, -1, 7.0, 1e300, 2**31, 2**53, 2**63, 2**64, 10**400, "", "7", "\0", "a\0b", "\ud800", "\udfff\ud83d",
    "x" * 70_000, "😀ç\u202e\u200b", "countersign", "countersign:", "/approve", "/approve\0", "2026-02-30T25:00:00Z",
    "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", [], {}, [[]], [None], {"id": None}, {"": {"": ""}},
    float("nan"), float("inf"), -float("inf"),
]  # fmt: skip


@cache
def followed() -> tuple[tuple[str, dict[str, Any]], ...]:
    """An example of each event and action that is read, and our own of labels and comments."""
    found: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {}
    for one in examples():
        if (action := one.payload.get("action")) in READERS.get(one.event, {}):
            found.setdefault((one.event, action), (one.event, one.payload | {"installation": {"id": 901}}))
    ours = (
        ("issues", labeled()),
        ("issue_comment", commented("/approve 0badc0de")),
        ("issue_comment", commented("/why")),
    )
    return (*ours, *found.values())


def places(value: Any, deep: int = 3) -> list[tuple[Any, ...]]:
    """Where something stands in a payload, not too deep: what is read stands near the top."""
    if deep == 0 or not isinstance(value, dict | list):
        return []
    inside = value.items() if isinstance(value, dict) else enumerate(value[:3])
    return [place for key, one in inside for place in ((key,), *((key, *more) for more in places(one, deep - 1)))]


@st.composite
def spoilt(draw: st.DrawFn) -> tuple[str, bytes]:
    """An event's name, and a payload of which something was left out, put in the place of another, or said twice."""
    event, payload = draw(st.sampled_from(followed()))
    payload = copy.deepcopy(payload)
    for _ in range(draw(st.integers(0, 3))):
        *way, last = draw(st.sampled_from(places(payload) or [("action",)]))
        there = payload
        for key in way:
            there = there[key]
        if draw(st.booleans()):
            there[last] = copy.deepcopy(draw(st.sampled_from(STRANGE)))
        elif isinstance(there, dict):
            del there[last]
    body = json.dumps(payload, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    how = draw(st.sampled_from(["", "", "", "twice", "deep", "cut", "bytes", "large"]))
    if how == "twice":
        key = draw(st.sampled_from(["action", "issue", "repository", "sender", "label"]))
        body = body[:-1] + f', "{key}": {json.dumps(draw(st.sampled_from(STRANGE)))}}}'.encode()
    elif how == "deep":
        deep = draw(st.sampled_from([500, 20_000]))
        body = body[:-1] + b', "more": ' + b'{"a":[' * deep + b"]}" * deep + b"}"
    elif how == "cut":
        body = body[: draw(st.integers(0, len(body)))]
    elif how == "bytes":
        at = draw(st.integers(0, len(body) - 1))
        body = body[:at] + draw(st.binary(min_size=1, max_size=4)) + body[at + 1 :]
    elif how == "large":
        body = body[:-1] + b', "more": "' + b"y" * 900_000 + b'"}'
    return draw(st.sampled_from([event] * 6 + ["issues", "label", "ping", "push", "installation"])), body


HEADS = st.sampled_from(
    ["as usual"] * 8 + ["gzip", "form", "chunked", "no type", "two guids", "long guid", "two lengths"]
)


def request(event: str, body: bytes, how: str) -> bytes:
    """The request as bytes, its signature right whatever else is odd about it."""
    body = gzip.compress(body, mtime=0) if how == "gzip" else body
    heads = [
        "POST /webhooks/github HTTP/1.1", "host: here", "connection: close", f"x-github-event: {event}",
        f"x-github-delivery: {'g' * 129 if how == 'long guid' else uuid4()}", f"x-hub-signature-256: {sign(body)}",
    ]  # fmt: skip
    heads += ["content-type: application/x-www-form-urlencoded" if how == "form" else "content-type: application/json"]
    heads += {"gzip": ["content-encoding: gzip"], "two guids": ["x-github-delivery: another"]}.get(how, [])
    if how == "no type":
        heads.remove("content-type: application/json")
    if how == "chunked":
        heads.append("transfer-encoding: chunked")
        half = len(body) // 2
        parts = [part for part in (body[:half], body[half:]) if part]
        body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    else:
        heads += [f"content-length: {len(body)}"] * (2 if how == "two lengths" else 1)
    return "\r\n".join([*heads, "", ""]).encode() + body


def answer_to(door: Door, content: bytes) -> tuple[int, str]:
    """Status and body; 0 where the connection was cut while this was sent. It does not stay open, or this fails."""
    answer = b""
    with socket.create_connection(door.address, timeout=20) as connection, suppress(ConnectionError):
        connection.sendall(content)
        while more := connection.recv(65536):
            answer += more
    start, _, said = answer.partition(b"\r\n\r\n")
    return (int(start.split()[1]), said.decode()) if start else (0, "")


def test_a_spoilt_delivery_is_recorded_or_refused_with_a_reason_and_a_good_one_is_taken_after_it(
    door_on_both: Door, tries: Tries
) -> None:
    door = door_on_both

    def holds(delivery: tuple[str, bytes], how: str) -> None:
        before = door.recorded()
        status, said = answer_to(door, request(*delivery, how))
        assert status in {200, 202, 400, 413, 415} or (status == 0 and how == "two lengths"), said
        if status and said != NO_HTTP:
            [(what, why)] = [one for one in json.loads(said).items() if one[0] != "duplicate"]
            assert what in {"pong", "ignored", "recorded", "refused"} and why
            assert (what in {"pong", "ignored", "recorded"}) == (status < 300)
        assert door.recorded() - before == int("recorded" in said)

    tries(lambda given: holds(*given), st.tuples(spoilt(), HEADS))
    number = 10**6
    assert door.post("issues", labeled(issue=labeled()["issue"] | {"number": number})).status_code == 202
    assert number in {one.issue_number for one in door.ledger.runs(1)}
    for one in door.ledger.runs(300):
        view = door.ledger.run(one.id)
        assert view is not None and replay([told.fact for told in view.facts]) == view.state
        assert door.client.get(f"{door.url}/runs/{one.id}").status_code == 200


def test_what_is_not_signed_leaves_nothing(door: Door, tries: Tries) -> None:
    signature = st.one_of(
        st.just(""), st.text(max_size=80), st.binary(min_size=32, max_size=32).map(lambda b: f"sha256={b.hex()}")
    )

    def holds(delivery: tuple[str, bytes], how: str, signed: str) -> None:
        event, body = delivery
        forged = signed.encode("utf-8", "surrogatepass").replace(b"\r", b"").replace(b"\n", b"").replace(b"\0", b"")
        right = sign(gzip.compress(body, mtime=0) if how == "gzip" else body).encode()
        sent = request(event, body, how).replace(b"x-hub-signature-256: " + right, b"x-hub-signature-256: " + forged)
        if right not in sent:
            status, _ = answer_to(door, sent)
            assert status in {400, 401, 415} or (status == 0 and how == "two lengths")

    tries(lambda given: holds(*given), st.tuples(spoilt(), HEADS, signature))
    counts = door.ledger.counts()
    assert {
        name: count for name, count in counts.items() if count and name in {"deliveries", "runs", "facts", "effects"}
    } == {}


# -- everything else ----------------------------------------------------------------------------------------------


def described() -> list[str]:
    """The paths that the pages say they have, but for those whose answers do not end; and the receiver's."""
    told = Told(None, Viewers(seal_of(b"a secret", "http")), Watchers(None), None, str, Path(), tuple)  # type: ignore[arg-type]
    ending = [path for path in make_pages(told).openapi()["paths"] if not path.endswith("/live")]
    return [*ending, "/style.css", "/webhooks/github", "/nowhere"]


ODD = st.sampled_from(
    [
        "%00",
        "%",
        "%ff",
        "%ed%a0%80",
        "..",
        "%2e%2e%2f",
        "r-aaaaaaaaaaaa",
        "x" * 5000,
        "é",
        "\ud83d",
        "'",
        "{{7*7}}",
        "\\",
        "",
    ]
)
HEADERS = st.sampled_from(
    ["", "host: [::1", "host: 127.0.0.1:99999999", "host:", "authorization: basic \xff", "authorization: Basic AA==",
     "x-forwarded-for: 1", "range: bytes=0-0", "expect: 100-continue", "upgrade: websocket\r\nconnection: upgrade",
     "content-length: 2", "content-length: -1", "transfer-encoding: gzip", "cookie: " + "c" * 9000, "accept: \0"]
)  # fmt: skip


@st.composite
def question(draw: st.DrawFn, paths: list[str]) -> bytes:
    """A request for one of the paths, its parameters filled in somehow."""
    path = re.sub(r"\{\w+\}", lambda _: draw(ODD), draw(st.sampled_from(paths)))
    query = "?" + draw(st.sampled_from(["before", "x", "%00", ""])) + "=" + draw(ODD) if draw(st.booleans()) else ""
    method = draw(
        st.sampled_from(["GET"] * 6 + ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"])
    )
    header = draw(HEADERS)
    heads = [f"{method} {path}{query} HTTP/1.1", "" if header.startswith("host") else "host: 127.0.0.1", header]
    kept = "\r\n".join([one for one in heads if one] + ["connection: close", "", ""])
    return kept.encode("utf-8", "surrogatepass") + draw(st.sampled_from([b"", b"{}", b"GET / HTTP/1.1\r\n\r\n"]))


def test_every_path_answers_whatever_is_asked_and_shows_no_trace(door_on_both: Door, tries: Tries) -> None:
    door = door_on_both
    door.post("issues", labeled())

    def holds(asked: bytes) -> None:
        status, said = answer_to(door, asked)
        assert status < 500, said
        assert "Traceback" not in said and "sqlalchemy" not in said

    for path in described():
        for odd in ("%00", "%ff"):
            asked = re.sub(r"{.*?}", odd, path) + f"?before={odd}"
            holds(f"GET {asked} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
    tries(holds, question(described()))
    assert door.recorded() == 1
