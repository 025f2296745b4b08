"""Credentials go, everything else stays."""

import base64
import html
import json
import string
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.redact import REMOVED, Secrets, hide, hide_bytes, redact
from app.secret_settings import secrets_of

CANARY = "ghs_12345_" + "eyJhbGciOiJSUzI1NiJ9." + "A-b_c9" * 60 + ".sig-nature_0"

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nabc\n-----END RSA PRIVATE KEY-----"
SECRETS = [
    CANARY,
    "ghs_" + "a" * 36,
    "ghp_" + "b" * 36,
    "gho_" + "b" * 36,
    "ghu_" + "b" * 36,
    "ghr_" + "b" * 70,
    "sk-ant-api03-" + "d-_9" * 20,
    base64.b64encode(("sk-ant-api03-" + "d-_9" * 20).encode()).decode(),
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
        "basic internationalisation-support, token authentication/authorisation",
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


OWN = {
    "a webhook secret": 'Pa"ss w/rd+42\\äß',
    "a model's key": "sk-ant-api03-" + "kK9_" * 20,
    "a classic token": "ghp_" + "Q7w" * 12,
    "a password": "correct-horse-battery",
}
WAYS = {
    "as it is": lambda secret: secret,
    "in an URL": lambda secret: quote(secret, safe=""),
    "in a form": quote_plus,
    "in JSON": lambda secret: json.dumps({"a": secret}),
    "in JSON within JSON": lambda secret: json.dumps(json.dumps({"a": secret})),
    "in JSON as it is": lambda secret: json.dumps([secret], ensure_ascii=False),
    "with every letter escaped": lambda secret: "".join(f"\\u{ord(one):04x}" for one in secret),
    "with one letter escaped": lambda secret: f"{secret[:3]}\\u{ord(secret[3]):04X}{secret[4:]}",
    "on a page": html.escape,
    "as Python shows it": repr,
    "in base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "in base64 behind a name": lambda secret: base64.b64encode(b"someone:" + secret.encode()).decode(),
    "in base64 for URLs": lambda secret: base64.urlsafe_b64encode(b"x" + secret.encode()).decode(),
    "in hexadecimal": lambda secret: secret.encode().hex(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", OWN)
def test_what_a_process_was_given_as_a_secret_goes_however_it_is_spelled(what: str, way: str) -> None:
    ours = Secrets()
    ours.learn([OWN[what]])
    spelled = WAYS[way](OWN[what])
    hidden = ours.hide(f"before {spelled} after")
    assert REMOVED in hidden and hidden.startswith("before ") and hidden.endswith(" after")
    # Of base64 the outer characters depend on what stands beside them.
    left = hidden.replace(REMOVED, "")
    assert not any(spelled[at : at + 12] in left for at in range(6, len(spelled) - 18))


def test_of_a_key_each_line_is_a_secret_and_its_first_and_last_line_are_everybody_s() -> None:
    ours = Secrets()
    ours.learn([PEM.replace("MIIEowIBAAKCAQEA", "MIIEowIBAAKCAQEA" * 4)])
    assert ours.hide("line 2: " + "MIIEowIBAAKCAQEA" * 4) == f"line 2: {REMOVED}"
    assert ours.hide("-----BEGIN RSA PRIVATE KEY-----") == "-----BEGIN RSA PRIVATE KEY-----"


def test_a_value_that_could_be_any_word_is_no_secret() -> None:
    ours = Secrets()
    ours.learn(["secret", " ", ""])
    assert ours.hide("a secret word") == "a secret word"


def test_only_what_was_given_is_hidden_from_what_must_stay_byte_for_byte() -> None:
    text = f"the repository's own test has {CANARY}"
    assert hide(text) == text and redact(text) != text
    assert hide_bytes(b"\xff\x00" + text.encode()) == b"\xff\x00" + text.encode()


def test_secrets_are_told_by_their_variables_names_and_by_their_place_in_addresses() -> None:
    env = {
        "GITHUB_WEBHOOK_SECRET": "one", "ANTHROPIC_API_KEY": "two", "COUNTERSIGN_MINT_CREDENTIAL_PLANNER": "three",
        "DATABASE_URL": "postgresql://us:fo%2Fur@db/x", "PIP_INDEX_URL": "https://me:five@index.test/simple",
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20six,x=seven", "GITHUB_PRIVATE_KEY_PATH": "/etc/key.pem",
        "COUNTERSIGN_METRICS_TOKEN": "eight", "PATH": "/bin", "COUNTERSIGN_LABEL": "countersign", "HOST": "0.0.0.0",
    }  # fmt: skip
    found = set(secrets_of(env))
    assert {"one", "two", "three", "fo%2Fur", "fo/ur", "five", "six", "seven", "eight"} <= found
    assert not {"/etc/key.pem", "/bin", "countersign", "0.0.0.0"} & found
