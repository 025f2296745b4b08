"""Takes a known credential, however it is spelled, and everything that looks like one out of a text."""

import base64

from worker.github.redact import REMOVED, redact


def redacted(text: str, *secrets: str) -> str:
    """`text` without the given secrets, raw, URL-escaped or in any base64 form, and without what looks like one."""
    for secret in secrets:
        for form in _forms(secret):
            text = text.replace(form, REMOVED)
    return redact(text)


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
