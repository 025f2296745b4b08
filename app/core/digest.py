"""Canonical bytes and digests: what a maintainer approves is a SHA-256 over RFC 8785 canonical JSON."""

import hashlib
import re

import rfc8785
from pydantic import BaseModel

SHORT = 12
"""Hex digits shown to people. 48 bits: enough to tell the plans of one issue apart, short enough to type."""

MIN_PREFIX = 7
"""The fewest digits with which a person may name a digest."""


def canonical(value: BaseModel) -> bytes:
    """The RFC 8785 form of a model: the same value gives the same bytes on every machine.

    What is None is not written. So a field that comes later, optional and None by default, leaves the bytes and
    the digest of every value that was made before it as they were.
    Raises `rfc8785.CanonicalizationError` for what JSON cannot carry exactly (NaN, integers beyond 2^53).
    """
    return rfc8785.dumps(value.model_dump(mode="json", by_alias=True, exclude_none=True))


def digest(value: BaseModel) -> str:
    """SHA-256 of the canonical form, 64 lower-case hex digits."""
    return hashlib.sha256(canonical(value)).hexdigest()


def text_digest(text: str) -> str:
    """SHA-256 of a text in UTF-8. Line ends are folded to LF, since GitHub returns CRLF for what was sent as LF."""
    folded = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    return hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()


def blob_id(content: bytes) -> str:
    """The id that git gives to a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def short(full: str) -> str:
    """The digits shown to people."""
    return full[:SHORT]


def names(prefix: str, full: str) -> bool:
    """True when `prefix`, as a person typed it, names this digest."""
    wanted = prefix.strip().strip("`").lower()
    return len(wanted) >= MIN_PREFIX and re.fullmatch(r"[0-9a-f]+", wanted) is not None and full.startswith(wanted)
