"""Where a search text stands in a file: exactly once, or not at all.

First byte for byte, then by lines that mean the same, which must again fit in exactly one place. Only what the change
touches is written. Likeness places nothing: it only chooses which real lines a refusal shows, since by likeness an
edit lands in a wrong place or is made twice.
"""

from typing import Literal

from worker.repo.literal import Spot, exactly, indent_missing, line_at, occurrences
from worker.repo.meaning import Page, by_meaning
from worker.repo.placed import (
    AlreadyThere,
    NotPlaced,
    Placed,
    Placement,
    Why,
    perhaps_done,
    several,
    shows_the_change,
    telling,
)

Where = Literal["before", "after"]


def place(plain: str, old: str, new: str) -> Placed:
    """Where `old` stands in `plain` (all three with LF line ends), and what to put there."""
    if not old.strip("\n"):
        return NotPlaced("The search text is empty.", "Copy the lines to replace from the file.", Why.EMPTY)
    if old.endswith("\n") and not plain.endswith("\n") and old not in plain and plain.endswith(old[:-1]):
        old, new = old[:-1], new.removesuffix("\n")
    spots = list(occurrences(plain, old))
    if len(spots) > 1:
        return several([line_at(plain, at) for at in spots])
    if old == new and spots:
        return AlreadyThere(line_at(plain, spots[0]), same=True)
    placed = exactly(plain, spots[0], old, new) if spots else _by_meaning(plain, old, new)
    return (isinstance(placed, Placement) and _other_indents(plain, placed)) or placed


def _by_meaning(plain: str, old: str, new: str) -> Placed:
    page = Page(plain)
    placed = by_meaning(page, old, new)
    if placed is None or isinstance(placed, Placement):
        return _done(plain, old, new) or placed or page.not_found(old)
    return placed


def insertion(plain: str, anchor: str, text: str, where: Where) -> tuple[str, str] | NotPlaced:
    """The search text and new text that put the lines of `text` before or after the whole lines of the anchor."""
    spots = list(occurrences(plain, anchor)) if anchor.strip("\n") else []
    if len(spots) > 1:
        return several([line_at(plain, at) for at in spots])
    if spots:
        spot = Spot(plain, spots[0], anchor)
        if spot.before and not spot.before.strip():
            return indent_missing(spot)
        anchor = "\n".join(spot.lines)
    anchor, body = anchor.removesuffix("\n"), text.removesuffix("\n")
    joined = f"{anchor}\n{body}" if where == "after" else f"{body}\n{anchor}"
    return f"{anchor}\n", f"{joined}\n"


def _other_indents(plain: str, placed: Placement) -> NotPlaced | None:
    """New lines that go in by tabs in a file that goes in by blanks alone, or the other way round."""
    new = [line for splice in placed.splices for line in splice.new if line.strip()]
    if any(line.startswith("\t") for line in new) and "\n  " in plain and "\n\t" not in plain:
        ours, theirs = "tabs", "blanks"
    elif any(line.startswith("  ") for line in new) and "\n  " not in plain and "\n\t" in plain:
        ours, theirs = "blanks", "tabs"
    else:
        return None
    return NotPlaced(
        f"The new text is indented with {ours}, and the file with {theirs} alone.",
        f"Indent it with {theirs}, as the lines around it are.",
        Why.UNCLEAR,
    )


def _done(plain: str, old: str, new: str) -> NotPlaced | None:
    """The new text is there once, and is not only what the old one keeps. The search text may mean another place."""
    fresh = telling(new) and shows_the_change(old.split("\n"), new.split("\n"))
    spots = list(occurrences(plain, new)) if fresh else []
    return perhaps_done(line_at(plain, spots[0])) if len(spots) == 1 else None
