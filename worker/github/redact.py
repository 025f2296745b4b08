"""Takes GitHub credentials out of text before a person, a log or a model can read it."""

import re

REMOVED = "[removed]"

# Order matters: the widest forms first, so that no tail of a credential is left behind.
_CREDENTIALS = (
    # A private key, also one that was cut before its last line or flattened to one line.
    re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]{0,40}KEY-----|\Z)", re.DOTALL),
    # Installation tokens have no fixed length and may hold dots and dashes (github-facts 53, 55).
    re.compile(r"ghs_[A-Za-z0-9._-]{36,}"),
    re.compile(r"gh[oprsu]_[A-Za-z0-9]{20,}"),
    re.compile(r"github_pat_[A-Za-z0-9_]{20,}"),
    # A JSON web token: two base64url objects and a signature.
    re.compile(r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
    # base64("x-access-token:..."), the form that git's extra header carries (github-facts 106).
    re.compile(r"eC1hY2Nlc3MtdG9rZW46[A-Za-z0-9+/=_-]*"),
    # base64 of a text that starts with "ghs_".
    re.compile(r"Z2hzX[A-Za-z0-9+/=_-]{40,}"),
)
_HEADER = re.compile(r"\b(bearer|basic|token)(\s+)[A-Za-z0-9+/=._~-]{16,}", re.IGNORECASE)
_ADDRESS = re.compile(r"(\bhttps?://)[^\s/@]{1,2000}@", re.IGNORECASE)


def redact(text: str) -> str:
    """`text` without GitHub tokens, JSON web tokens, private keys, authorisation values and passwords in addresses.

    Each is replaced by `[removed]`; everything else is kept as it was. Redacting twice changes nothing more.
    """
    for credential in _CREDENTIALS:
        text = credential.sub(REMOVED, text)
    text = _HEADER.sub(rf"\1\2{REMOVED}", text)
    return _ADDRESS.sub(rf"\1{REMOVED}@", text)
