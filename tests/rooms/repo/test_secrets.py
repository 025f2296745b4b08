"""A change brings no credential into a file; what stood there before is nobody's new leak."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.verdict import Allowed, Refused
from worker.repo.secrets import no_secrets

# Joined here, so that this file holds none.
SECRETS = {
    "Private Key": "-----BEGIN RSA PRIVATE" + " KEY-----",
    "GitHub Token": "ghs_" + "a" * 40,
    "GitHub Token, stateless": "ghs_123_" + "ey.J-_" * 20,
    "GitHub Token, fine-grained": "github_pat_" + "A1" * 30,
    "Anthropic API Key": "sk-ant-" + "x" * 30,
    "Google API Key": "AIza" + "B" * 35,
    "AWS Access Key": "AKIA" + "ABCDEFGHIJKLMNOP",
    "Slack Token": "xoxb-" + "1234567890-1234567890-" + "a" * 24,
    "Stripe Access Key": "sk_live_" + "a1" * 12,
    "PyPI Token": "pypi-" + "AgEIcHlwaS5vcmc" + "a" * 80,
    "SendGrid API Key": "SG." + "a" * 22 + "." + "b" * 43,
    "npm Token": "npm_" + "a1B2c3" * 6,
    "Hugging Face Token": "hf_" + "aB" * 17,
    "Docker Hub Token": "dckr_pat_" + "a1B" * 9,
    "DigitalOcean Token": "dop_v1_" + "0f" * 32,
    "GitLab Token": "glpat-" + "a1" * 10,
}


@pytest.mark.parametrize("what", SECRETS)
def test_a_credential_that_is_new_in_a_file_is_refused_without_being_said(what: str) -> None:
    secret = SECRETS[what]
    refused = no_secrets("a.py", b"y = 1\n", f"y = 1\nx = '{secret}'\n".encode())
    assert isinstance(refused, Refused)
    assert what.partition(",")[0] in refused.reason and "a.py, line 2" in refused.reason
    assert secret not in str(refused)
    assert no_secrets("a.py", secret.encode(), f"x = '{secret}'".encode()) == Allowed()


@pytest.mark.parametrize(
    "line",
    [
        "password = 'hunter2'",
        "url = 'http://user:secret@localhost/'",
        "digest = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'",
        '"integrity": "sha512-' + "aB3" * 28 + 'ag=="',
        "address = '93.184.216.34'",
        "ghs_short",
        "the sk-ant- prefix",
    ],
)
def test_what_only_might_be_one_stops_nothing(line: str) -> None:
    assert no_secrets("a.py", b"", f"{line}\n".encode()) == Allowed()


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_whatever_the_bytes_are_there_is_a_verdict(before: bytes, after: bytes) -> None:
    assert isinstance(no_secrets("a", before, after), Allowed | Refused)
    assert no_secrets("a", after, after) == Allowed()


@pytest.mark.parametrize("between", ["\n", "\\n", "\\n' +\n    '"])
def test_another_private_key_is_new_although_its_first_line_is_not(between: str) -> None:
    first, one, other = SECRETS["Private Key"], "MIIE" + "a1B/" * 10, "MIIE" + "z9+Y" * 10
    before = f"{first}{between}{one}\n"
    refused = no_secrets("a.pem", before.encode(), f"{before}{first}{between}{other}\n".encode())
    assert isinstance(refused, Refused) and "Private Key" in refused.reason and other not in str(refused)
    assert no_secrets("a.pem", before.encode(), f"# kept\n{before}".encode()) == Allowed()
