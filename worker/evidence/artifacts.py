"""Full outputs, kept by content hash and read again by line range."""

from typing import Protocol

from app.core.verdict import Refused

REOPENED_LINES = 400
REOPENED_CHARACTERS = 24_000
LINE_CHARACTERS = 1_000


class ArtifactShelf(Protocol):
    """Keeps bytes for ever; the ledger is one."""

    def put_artifact(self, content: bytes, media: str) -> str:
        """Keeps the bytes and answers with their SHA-256, 64 lower-case hex digits."""
        ...

    def artifact(self, sha: str) -> bytes | None:
        """The bytes, or None where none are kept under this hash."""
        ...


def keep_text(shelf: ArtifactShelf, text: str) -> str:
    """Keeps a text and answers with its reference."""
    return shelf.put_artifact(text.encode("utf-8", "surrogateescape"), "text/plain; charset=utf-8")


def reopen(shelf: ArtifactShelf, reference: str, start: int | None = None, end: int | None = None) -> str | Refused:
    """Lines `start` to `end` of a kept output, from 1 and both included, with their numbers.

    At most 400 lines; the first line of the answer says which lines these are and where to read on. The caller
    hands in only references that its own case file knows: a hash alone is no right to read.
    """
    content = shelf.artifact(reference)
    if content is None:
        return Refused(f"No output is kept under {reference[:12]}.")
    if b"\0" in content[:8_000]:
        return Refused(f"The output {reference[:12]} is binary, {len(content):,} bytes.")
    text = content.decode("utf-8", "replace")
    lines = text.removesuffix("\n").split("\n") if text else []
    if not lines:
        return f"output {reference[:12]} is empty"
    first = 1 if start is None else start
    last = len(lines) if end is None else min(end, len(lines))
    if not 1 <= first <= last:
        asked = f"{first}-{last if end is None else end}"
        return Refused(f"The output {reference[:12]} has {len(lines):,} lines; {asked} are not among them.")
    shown: list[str] = []
    room = REOPENED_CHARACTERS
    for number in range(first, min(last, first + REOPENED_LINES - 1) + 1):
        line = lines[number - 1]
        if len(line) > LINE_CHARACTERS:
            line = f"{line[:LINE_CHARACTERS]} … [{len(line) - LINE_CHARACTERS:,} more characters]"
        room -= len(line) + 8
        if room < 0 and shown:
            break
        shown.append(f"{number}| {line}")
    stop = first + len(shown) - 1
    cut = f"; cut at the limit, read on from line {stop + 1}" if stop < last else ""
    return "\n".join([f"output {reference[:12]}, lines {first}-{stop} of {len(lines):,}{cut}", *shown])
