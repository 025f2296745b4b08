"""What the doctor found, as lines for a terminal and as JSON for programs."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from app.core.plan import made_visible
from app.doctor.finding import Standing, Told, exit_code

FORM = "countersign.doctor/1"
WIDTH = 100
_MARKS = {
    Standing.WELL: "well",
    Standing.WORTH_KNOWING: "note",
    Standing.FAULT: "FAULT",
    Standing.NOT_LOOKED_AT: "?",
    Standing.ELSEWHERE: "-",
}
_COLUMN = 6
_NAMES = 24


def lines_of(told: Told) -> Iterator[str]:
    """A finding: one line, and below it why it matters and what to type."""
    found = told.found
    head = f"{_MARKS[found.standing]:<{_COLUMN}}{told.check:<{_NAMES}} "
    yield from _wrapped(head, found.what, len(head))
    for word, text in (("Why: ", found.why), ("Type:", found.do)):
        if text:
            yield from _wrapped(f"{'':{_COLUMN}}{word} ", text, _COLUMN + 6)


def _wrapped(head: str, text: str, indent: int) -> list[str]:
    # What is to be typed is not broken within a word, or it could not be copied.
    shown = made_visible(" ".join(text.split()))
    return textwrap.wrap(
        shown,
        WIDTH,
        initial_indent=head,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def summary(told: Iterable[Told]) -> str:
    """The last line."""
    counts = Counter(one.found.standing for one in told)
    faults, unseen = counts[Standing.FAULT], counts[Standing.NOT_LOOKED_AT]
    if not faults and not unseen:
        return f"All is well: {counts[Standing.WELL]} things were looked at."
    parts = [f"{faults} {'fault' if faults == 1 else 'faults'}"] if faults else []
    parts += [f"{unseen} not looked at"] if unseen else []
    return f"{', '.join(parts)}, {counts[Standing.WELL]} well. Mend the first fault first, then look again."


def as_json(told: list[Told]) -> dict[str, Any]:
    """All of it, for programs."""
    findings = [
        {
            "check": one.check,
            "standing": one.found.standing.value,
            "what": one.found.what,
            "why": one.found.why,
            "type": one.found.do,
        }
        for one in told
    ]
    return {"form": FORM, "exit": exit_code(told), "findings": findings}
