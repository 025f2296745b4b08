"""Credentials that a change would bring into a file.

detect-secrets knows the tokens of many vendors; the forms that it does not know are told here. Its guesses from
entropy, words and addresses are left out: they are wrong too often to stop a run.
"""

import functools
import re
from collections.abc import Iterator

from detect_secrets.plugins.artifactory import ArtifactoryDetector
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.ibm_cloud_iam import IbmCloudIamDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

from app.core.paths import shown
from app.core.redact import hide
from app.core.verdict import Allowed, Refused, Verdict

_UNKNOWN_TO_IT = {
    "Private Key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "GitHub Token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9._-]{36,}|github_pat_[A-Za-z0-9_]{40,})"),
    "Anthropic API Key": re.compile(r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    "npm Token": re.compile(r"\bnpm_[A-Za-z0-9]{36}\b"),
    "Hugging Face Token": re.compile(r"\bhf_[A-Za-z]{34}\b"),
    "Docker Hub Token": re.compile(r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}"),
    "DigitalOcean Token": re.compile(r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    "Google API Key": re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b"),
}


_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:\\[rn]|[\s\"'+,])*([A-Za-z0-9+/]{40})")
"""A key with its beginning, which is told apart from another one by that alone: all have the same first line."""


@functools.cache
def _detectors() -> tuple[RegexBasedDetector, ...]:
    return (
        ArtifactoryDetector(), AWSKeyDetector(), AzureStorageKeyDetector(), DiscordBotTokenDetector(),
        GitHubTokenDetector(), GitLabTokenDetector(), IbmCloudIamDetector(), MailchimpDetector(), NpmDetector(),
        OpenAIDetector(), PrivateKeyDetector(), PypiTokenDetector(), SendGridDetector(), SlackDetector(),
        SquareOAuthDetector(), StripeDetector(), TelegramBotTokenDetector(), TwilioKeyDetector(),
    )  # fmt: skip


def no_secrets(path: str, before: bytes, after: bytes) -> Verdict:
    """Refused when a line of the change brings in what looks like a credential that did not stand in the file."""
    old, new = before.decode("utf-8", "replace"), after.decode("utf-8", "replace")
    known = set(old.splitlines())
    for number, line in enumerate(new.splitlines(), 1):
        if line not in known:
            for what, value in _found(line):
                if value not in old:
                    # The value itself is not said: words go to GitHub.
                    return _refused(what, path, number)
    for match in _KEY.finditer(new):
        if match[1] not in old:
            return _refused("Private Key", path, new.count("\n", 0, match.start()) + 1)
    return Allowed()


def _refused(what: str, path: str, line: int) -> Refused:
    return Refused(f"The change would put a credential ({what}) into {shown(path)}, line {line}.")


def _found(line: str) -> Iterator[tuple[str, str]]:
    if hide(line) != line:
        yield "one of this process' own", line
    for what, form in _UNKNOWN_TO_IT.items():
        for match in form.finditer(line):
            yield what, match.group()
    for detector in _detectors():
        for value in detector.analyze_string(line):
            yield detector.secret_type, value
