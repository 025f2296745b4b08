"""A log to which one can only add: each line holds the hash of the line before it, and its own.

A line is a JSON object in its RFC 8785 form. `hash` is the SHA-256 of that form of the object without `hash`; `before`
is the `hash` of the line before, 64 zeros in the first; `nr` counts from 1. What is changed, left out, moved or put in
between breaks the chain at that line. Lines cut off at the end leave a shorter chain that is whole: whoever wants to
know keeps the last hash elsewhere.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import rfc8785

FORMAT = "countersign.audit/1"

NOTHING = "0" * 64


@dataclass(frozen=True, slots=True)
class Whole:
    """A chain without a break: how many lines, the last one's hash, and the `id` of every record in it."""

    lines: int = 0
    last: str = NOTHING
    ids: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Broken:
    """The first line, from 1, that does not follow, and why."""

    line: int
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}"


def chained(records: Iterable[dict[str, Any]], behind: Whole) -> Iterator[bytes]:
    """A line for each record, without its line end, as they follow a chain that is there."""
    nr, before = behind.lines, behind.last
    for record in records:
        nr += 1
        given = _plain(record) | {"nr": nr, "before": before}
        before = hashlib.sha256(rfc8785.dumps(given)).hexdigest()
        yield rfc8785.dumps(given | {"hash": before})


def verified(lines: Iterable[bytes]) -> Whole | Broken:
    """Whether these lines are one chain from its beginning; each is given with its line end."""
    nr, before, ids = 0, NOTHING, set()
    for nr, line in enumerate(lines, 1):
        found = _read(line, nr, before)
        if isinstance(found, str):
            return Broken(nr, found)
        before = found["hash"]
        ids.add(str(found.get("id", "")))
    return Whole(nr, before, ids)


def _read(line: bytes, nr: int, before: str) -> dict[str, Any] | str:
    """The line's object; a sentence where it does not follow."""
    if not line.endswith(b"\n"):
        return "it has no end, as if its writing had been cut short."
    try:
        found = json.loads(line)
        rest = {key: value for key, value in found.items() if key != "hash"}
        form = rfc8785.dumps(rest)
        written = rfc8785.dumps(found)
    except (ValueError, AttributeError, rfc8785.CanonicalizationError):
        return "it is no object of a log."
    if line != written + b"\n" or hashlib.sha256(form).hexdigest() != found.get("hash"):
        return "it was changed: its hash is not that of what it holds."
    if rest.get("before") != before or rest.get("nr") != nr:
        return "it does not follow the line before it: something was left out, moved or put in."
    if nr == 1 and rest.get("format") != FORMAT:
        return f"it does not begin a log of the form {FORMAT}."
    return dict(found)


def _plain(value: Any) -> Any:
    """What JSON carries exactly: of a character only half of which is there, U+FFFD stays; large numbers are texts."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case dict():
            return {_plain(key): _plain(one) for key, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case bool():
            return value
        case int() if abs(value) >= 2**53:
            return str(value)
        case _:
            return value
