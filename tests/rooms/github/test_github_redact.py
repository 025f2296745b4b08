"""Credentials go, everything else stays."""

import base64
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rooms.github.conftest import CANARY
from worker.github.redact import REMOVED, redact

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nabc\n-----END RSA PRIVATE KEY-----"
SECRETS = [
    CANARY,
    "ghs_" + "a" * 36,
    "ghp_" + "b" * 36,
    "github_pat_" + "c" * 40,
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxMjM0NSJ9.c2lnbmF0dXJl-_x",
    PEM,
    PEM.replace("\n", "\\n"),
    "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA",
    base64.b64encode(f"x-access-token:{CANARY}".encode()).decode(),
    base64.b64encode(CANARY.encode()).decode(),
]


@pytest.mark.parametrize("secret", SECRETS)
def test_every_form_of_a_credential_is_removed(secret: str) -> None:
    assert redact(f"git said: {secret}") == f"git said: {REMOVED}"


@pytest.mark.parametrize(
    "text",
    [
        f"AUTHORIZATION: basic {base64.b64encode(b'someone:secret-password').decode()}",
        "Authorization: Bearer 0123456789abcdef0123",
        "Authorization: token v1.0123456789abcdef0123",
        "https://x-access-token:0123456789abcdef0123@github.com/mira/humanize.git",
    ],
)
def test_headers_and_addresses_lose_their_passwords_and_keep_their_shape(text: str) -> None:
    cleaned = redact(text)
    assert REMOVED in cleaned
    assert "0123456789" not in cleaned and "c29tZW9uZT" not in cleaned
    assert cleaned.startswith(text[:6])


@pytest.mark.parametrize(
    "text",
    [
        "the basic idea of a bearer token is simple",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b on main, see https://github.com/mira/humanize/pull/12",
        "mail mira@example.org about ghs_short",
        "a public key: -----BEGIN PUBLIC KEY----- stays",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


@settings(max_examples=60, deadline=None)
@given(
    before=st.text(alphabet=string.printable, max_size=80),
    after=st.text(alphabet=string.printable, max_size=80),
    secret=st.sampled_from([CANARY, "ghp_" + "Zy9" * 12]),
)
def test_no_token_survives_wherever_it_stands(before: str, after: str, secret: str) -> None:
    cleaned = redact(before + secret + after)
    assert secret not in cleaned and secret[4:] not in cleaned
    assert redact(cleaned) == cleaned


def test_long_text_without_credentials_takes_no_time() -> None:
    text = ("-----BEGIN " + "eyJ" + "a" * 50 + " ghs_ ") * 4000
    assert redact(text)
