"""Takes secrets out of text before a person, a log, a ledger or a model can read it.

Two kinds go: values that this process was given as secrets, in every spelling in which they travel, and whatever has
the form of a credential of GitHub's, of the model vendor's, a private key or a JSON web token. Text of a repository
that only looks like a secret stays where it must be byte for byte what the repository holds: see `hide`.
"""

import base64
import json
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

REMOVED = "[removed]"

SHORTEST = 8
"""Characters. A shorter value could be any word, and nothing would be left of a text without it."""

# Order matters: the widest forms first, so that no tail of a credential is left behind.
_CREDENTIALS = (
    # A private key, also one that was cut before its last line or flattened to one line.
    re.compile(
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?=[\s\\rn\"'+,]{0,16}(?:[A-Za-z0-9+/=]{12}|Proc-Type))"
        r".*?(?:-----END [A-Z0-9 ]{0,40}KEY-----|\Z)",
        re.DOTALL,
    ),
    # Installation tokens have no fixed length and may hold dots and dashes (fact 53, fact 55).
    re.compile(r"ghs_[A-Za-z0-9._-]{36,}"),
    re.compile(r"gh[oprsu]_[A-Za-z0-9]{20,}"),
    re.compile(r"github_pat_[A-Za-z0-9_]{20,}"),
    # Keys of the Anthropic API and its consoles.
    re.compile(r"sk-ant-[A-Za-z0-9_-]{16,}"),
    # A JSON web token: two base64url objects and a signature.
    re.compile(r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
    # base64("x-access-token:..."), the form that git's extra header carries (fact 106).
    re.compile(r"eC1hY2Nlc3MtdG9rZW46[A-Za-z0-9+/=_-]*"),
    # base64 of a text that starts with "ghs_" or "sk-ant-".
    re.compile(r"(?:Z2hzX|c2stYW50L)[A-Za-z0-9+/=_-]{40,}"),
)
# A value without a digit is a word: "basic internationalisation".
_HEADER = re.compile(r"\b(bearer|basic|token)(\s+)(?=\S*\d)[A-Za-z0-9+/=._~-]{16,}", re.IGNORECASE)
_ADDRESS = re.compile(r"(\bhttps?://)[^\s/@]{1,2000}@", re.IGNORECASE)

_ESCAPES = re.compile(r"\\+u00[0-9a-f]{2}|\\+x[0-9a-f]{2}|%[0-9a-f]{2}|&#\d|&#x|&[a-z]{2,4};", re.IGNORECASE)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}


class Secret:
    """One value that nobody may read, and how it may be spelled."""

    def __init__(self, value: str) -> None:
        self.value = value

    @cached_property
    def spellings(self) -> tuple[str, ...]:
        """The value as it is, as an URL, JSON (once and twice), hexadecimal and base64 hold it, the longest first.

        Of a base64 text that begins before it the outer characters depend on its neighbours and are left out."""
        raw = self.value.encode("utf-8", "surrogateescape")
        once = json.dumps(self.value)[1:-1]
        found = {self.value, repr(self.value)[1:-1], once, json.dumps(self.value, ensure_ascii=False)[1:-1]}
        found |= {json.dumps(once)[1:-1], once.replace("/", "\\/"), raw.hex(), raw.hex().upper()}
        found |= {_in_url(raw, b"-._~"), _in_url(raw, b"-._~/"), _in_url(raw, b"-._~ ").replace(" ", "+")}
        for shift in range(3):
            coded = base64.b64encode(b"\0" * shift + raw).decode()
            inner = coded[0 if shift == 0 else 4 : len(coded) - 4]
            if len(inner) >= SHORTEST:
                found |= {inner, inner.replace("+", "-").replace("/", "_")}
        return tuple(sorted(found, key=len, reverse=True))

    @cached_property
    def escaped(self) -> re.Pattern[str]:
        """The value with any of its characters written as an escape of JSON, Python, URLs or HTML."""
        return re.compile("".join(map(_any_way, self.value)))

    def hidden(self, text: str) -> str:
        """The text without the value."""
        for spelling in self.spellings:
            if spelling in text:
                text = text.replace(spelling, REMOVED)
        return self.escaped.sub(REMOVED, text) if _ESCAPES.search(text) else text


def _in_url(raw: bytes, plain: bytes) -> str:
    return "".join(
        chr(one) if chr(one).isascii() and (chr(one).isalnum() or one in plain) else f"%{one:02X}" for one in raw
    )


def _any_way(character: str) -> str:
    ways = [re.escape(character)]
    if (code := ord(character)) < 0x10000:
        ways.append(f"(?i:\\\\+u{code:04x}|&#0*{code};|&#x0*{code:x};)")
    if code < 0x80:
        ways.append(f"(?i:%{code:02x}|\\\\+x{code:02x})")
    if character in _ENTITIES:
        ways.append(_ENTITIES[character])
    if character in "\"'/\\":
        ways.append(f"\\\\+{re.escape(character)}")
    return f"(?:{'|'.join(ways)})"


class Secrets:
    """Values that nobody may read."""

    def __init__(self) -> None:
        self._known: dict[str, Secret] = {}

    def learn(self, values: Iterable[str]) -> None:
        """These are secrets from now on. Of a value of several lines, such as a private key, each line is one as well;
        what is shorter than `SHORTEST` is none."""
        for value in values:
            lines = re.split(r"\s*(?:\n|\\n)\s*", value)
            for each in (value, value.strip(), *(lines if len(lines) > 1 else ())):
                if len(each.strip()) >= SHORTEST and not each.startswith("-----"):
                    self._known.setdefault(each, Secret(each))

    def hide(self, text: str) -> str:
        """The text without them, however they are spelled."""
        for secret in tuple(self._known.values()):
            text = secret.hidden(text)
        return text


_OURS = Secrets()
"""Of this process: what it was given, which is never another process'."""


def learn(values: Iterable[str]) -> None:
    """This process takes these values out of everything that it tells, from now on."""
    _OURS.learn(values)


def hide(text: str) -> str:
    """`text` without the secrets of this process. What merely has the form of a secret stays: for what must be byte for
    byte what a repository or a person wrote, such as patches, outputs of checks and issues."""
    return _OURS.hide(text)


def hide_in(value: Any) -> Any:
    """A value of JSON with each of its texts as `hide` leaves it."""
    match value:
        case str():
            return hide(value)
        case dict():
            return {key: hide_in(one) for key, one in value.items()}
        case list():
            return [hide_in(one) for one in value]
        case _:
            return value


def hide_bytes(content: bytes) -> bytes:
    """As `hide`, for bytes that are text; other bytes stay as they are."""
    text = content.decode("utf-8", "surrogateescape")
    hidden = hide(text)
    return content if hidden == text else hidden.encode("utf-8", "surrogateescape")


def redact(text: str) -> str:
    """`text` without the secrets of this process, tokens, JSON web tokens, private keys, keys of the model's vendor,
    authorisation values and passwords in addresses.

    Each is replaced by `[removed]`; everything else is kept as it was. Redacting twice changes nothing more.
    """
    text = hide(text)
    for credential in _CREDENTIALS:
        text = credential.sub(REMOVED, text)
    text = _HEADER.sub(rf"\1\2{REMOVED}", text)
    return _ADDRESS.sub(rf"\1{REMOVED}@", text)


def redacted(text: str, *secrets: str) -> str:
    """`redact`, and without these secrets, which are of one call only and may be short."""
    for secret in secrets:
        if secret:
            text = Secret(secret).hidden(text)
    return redact(text)
