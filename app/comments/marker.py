"""The hidden marker by which our own comments are found again: an aid for looking, never authority."""

import hashlib
import hmac
import re

_MARKER = re.compile(r"<!-- countersign ([a-z0-9-]{1,64}) ([A-Za-z0-9:_.#-]{1,220}) ([0-9a-f]{32}) -->")


def mark(key: bytes, run: str, slot: str) -> str:
    """An HTML comment that names a run and a slot, authenticated, since anybody can write one (github-facts 151)."""
    return f"<!-- countersign {run} {slot} {_mac(key, run, slot)} -->"


def marked(key: bytes, body: str) -> tuple[str, str] | None:
    """The run and slot of the first marker in `body` that is really ours."""
    for match in _MARKER.finditer(body):
        if hmac.compare_digest(match[3], _mac(key, match[1], match[2])):
            return match[1], match[2]
    return None


def _mac(key: bytes, run: str, slot: str) -> str:
    return hmac.new(key, f"countersign:{run}:{slot}".encode(), hashlib.sha256).hexdigest()[:32]
