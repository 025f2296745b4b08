"""Takes credentials out of text before it is kept, logged or said."""

import base64
import re

_SHAPES = (
    re.compile(r"\b(?:gh[a-z]_[A-Za-z0-9._-]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    re.compile(r"(?i)\b(?:basic|bearer|token)\s+[A-Za-z0-9+/=._~-]{16,}"),
    re.compile(r"(?<=://)[^/\s@]+@"),
)
GONE = "[redacted]"


def redacted(text: str, *secrets: str) -> str:
    """`text` without the given secrets, raw, URL-escaped or in any base64 form, and without what looks like one."""
    for secret in secrets:
        for form in _forms(secret):
            text = text.replace(form, GONE)
    for shape in _SHAPES:
        text = shape.sub(GONE, text)
    return text


def _forms(secret: str) -> list[str]:
    """The secret itself and the base64 spellings that hold it, at each of the three alignments.

    The outer characters of an inner spelling depend on its neighbours and are left out of the search.
    """
    if not secret:
        return []
    raw = secret.encode("utf-8", "surrogateescape")
    forms = {secret}
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + raw).decode()
        first = 0 if shift == 0 else 4
        inner = coded[first : len(coded) - 4]
        if len(inner) >= 8:
            forms |= {inner, inner.replace("+", "-").replace("/", "_")}
    return sorted(forms, key=len, reverse=True)
