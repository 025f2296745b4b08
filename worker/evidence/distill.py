"""Shorter views of long outputs, the same every time. What is left out is counted and said where it was."""

from collections.abc import Iterable
from dataclasses import dataclass

from worker.evidence.distillers.choosing import choose, rendered
from worker.evidence.distillers.cleaning import plain_output
from worker.evidence.distillers.reading import Reading, read_output

__all__ = ["SMALLEST_LIMIT", "Distilled", "distill", "distill_stream", "plain_output"]

SMALLEST_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Distilled:
    """The view, how many lines of the cleaned output it leaves out, and the kinds of output that were met."""

    text: str
    dropped_lines: int
    kinds: tuple[str, ...] = ()


def distill(kind: str, text: str, limit: int, reference: str = "") -> Distilled:
    """The part of `text` that decides, in at most `limit` characters; `kind` is a hint.

    The kinds are found from the text itself, and there may be several.

    `[… 12–40 …]` in the view stands for lines 12 to 40 of the output, which is reopened by `reference`.
    Raises ValueError for a limit under 200.
    """
    return distill_stream((text,), limit, kind, reference)


def distill_stream(chunks: Iterable[str | bytes], limit: int, hint: str = "", reference: str = "") -> Distilled:
    """As `distill`, of an output that comes in pieces; memory is bounded by the limit and the largest piece."""
    if limit < SMALLEST_LIMIT:
        raise ValueError(f"a view has at least {SMALLEST_LIMIT} characters")
    return _view(read_output(chunks, limit, hint), limit, reference)


def _view(reading: Reading, limit: int, reference: str) -> Distilled:
    if reading.whole is not None:
        text = "\n".join(reading.whole).rstrip("\n")
        if len(text) <= limit:
            return Distilled(text, 0, reading.kinds)
    last = f"whole output: {reference}" if reference else ""
    lines = reading.length
    room = limit - len(last) - 1 if last else limit
    chosen = choose(reading.marks(), lines, room)
    text = rendered(chosen, lines, room)
    return Distilled(f"{text}\n{last}" if last else text, lines - len(chosen), reading.kinds)
