"""Where a search text stands in a file: exactly once, or not at all.

First byte for byte; then up a ladder of spellings that mean the same lines (blanks at line ends, a shifted
indent, pasted line numbers, escapes, quotes), each of which must again fit in exactly one place. Likeness places
nothing: it only chooses which real lines a refusal shows, since by likeness an edit lands in a wrong place or is
made twice.
"""

import difflib
import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.core.verdict import Refused

ENOUGH_TO_KNOW = 8
"""Characters other than blanks that a text needs before anything but an exact match is believed."""

SHOWN_PLACES = 20

CLOSELY_COMPARED = 30


@dataclass(frozen=True, slots=True)
class Placement:
    """Replace `plain[start:end]` by `new`. `how` is empty for an exact match, else names what was overlooked."""

    start: int
    end: int
    new: str
    how: str = ""


@dataclass(frozen=True, slots=True)
class AlreadyThere:
    """The new text stands at `line` already."""

    line: int


Placed = Placement | AlreadyThere | Refused


def place(plain: str, old: str, new: str) -> Placed:
    """Where `old` stands in `plain` (all three with LF line ends), and what to put there."""
    if not old:
        return Refused("The search text is empty.", "Copy the lines to replace from the file.")
    if old == new and old in plain:
        return AlreadyThere(_line(plain, plain.index(old)))
    if old.endswith("\n") and not plain.endswith("\n") and old not in plain and plain.endswith(old[:-1]):
        old, new = old[:-1], new.removesuffix("\n")
    spots = list(_occurrences(plain, old))
    if len(spots) > 1:
        return _ambiguous(plain, spots)
    if spots:
        return _exact(plain, spots[0], old, new)
    standing = _stands_already(plain, new)
    if standing is not None:
        return standing
    return _by_ladder(plain, old, new) or _not_found(plain, old)


def _occurrences(plain: str, old: str) -> Iterator[int]:
    at = plain.find(old)
    while at >= 0:
        yield at
        at = plain.find(old, at + 1)


def _line(plain: str, offset: int) -> int:
    return plain.count("\n", 0, offset) + 1


def _ambiguous(plain: str, spots: list[int]) -> Refused:
    numbers = [str(_line(plain, at)) for at in spots]
    named = ", ".join(numbers[:SHOWN_PLACES]) + (" …" if len(numbers) > SHOWN_PLACES else "")
    return Refused(
        f"The search text stands in {len(spots)} places, at lines {named}.",
        "Give more of the lines around the one that is meant.",
    )


def _exact(plain: str, at: int, old: str, new: str) -> Placed:
    for offset in _occurrences(new, old):
        if at >= offset and plain.startswith(new, at - offset):
            return AlreadyThere(_line(plain, at - offset))
    whole_lines = (at == 0 or plain[at - 1] == "\n") and old.endswith("\n")
    if whole_lines and new and not new.endswith("\n"):
        return Placement(at, at + len(old), new + "\n", "the newline after the new text, which was left out")
    return Placement(at, at + len(old), new)


def _stands_already(plain: str, new: str) -> AlreadyThere | None:
    if not _telling(new):
        return None
    spots = list(_occurrences(plain, new))
    return AlreadyThere(_line(plain, spots[0])) if len(spots) == 1 else None


def _telling(text: str) -> bool:
    return len("".join(text.split())) >= ENOUGH_TO_KNOW


# --- the ladder -------------------------------------------------------------------------------------------------

_Fit = Callable[[list[str], list[str], str], str | None]


def _by_ladder(plain: str, old: str, new: str) -> Placed | None:
    if not _telling(old):
        return None
    for overlooked, old_form, new_form in _spellings(old, new):
        for name, key, fit in _RUNGS:
            found = list(_fitting(plain, (old_form, new_form), key, fit))
            if len(found) > 1:
                return _ambiguous(plain, [one.start for one in found])
            if found:
                how = " and ".join(word for word in (overlooked, name) if word)
                if plain[found[0].start : found[0].end] == found[0].new:
                    return AlreadyThere(_line(plain, found[0].start))
                return Placement(found[0].start, found[0].end, found[0].new, how)
    return None


def _spellings(old: str, new: str) -> Iterator[tuple[str, str, str]]:
    yield "", old, new
    numbered = re.compile(r"^[ \t]*\d+[|:\t] ?", re.MULTILINE)
    lines = [line for line in old.split("\n") if line.strip()]
    if all(numbered.match(line) for line in lines):
        yield "pasted line numbers", numbered.sub("", old), numbered.sub("", new)
    if html.unescape(old) != old:
        yield "HTML escapes", html.unescape(old), html.unescape(new)
    if "\\n" in old and "\n" not in old.strip():
        yield "doubled escapes", _unescaped(old), _unescaped(new)


def _unescaped(text: str) -> str:
    return re.sub(r'\\([nt"])', lambda found: {"n": "\n", "t": "\t", '"': '"'}[found[1]], text)


def _fitting(plain: str, texts: tuple[str, str], key: Callable[[str], str], fit: _Fit) -> Iterator[Placement]:
    """Every run of whole lines that equals the search text under `key` and that `fit` can write in its own form."""
    old, new = texts
    wanted = old.removesuffix("\n").split("\n")
    lines = plain.removesuffix("\n").split("\n")
    keys = [key(line) for line in lines]
    goal = [key(line) for line in wanted]
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line) + 1)
    for at in range(len(lines) - len(wanted) + 1):
        if keys[at : at + len(goal)] != goal:
            continue
        written = fit(wanted, lines[at : at + len(goal)], new)
        if written is not None:
            ended = old.endswith("\n") and written.endswith("\n")
            end = begins[at + len(goal)] - (0 if ended or not written else 1)
            yield Placement(begins[at], min(end, len(plain)), written if ended else written.removesuffix("\n"))


def _as_written(_wanted: list[str], _standing: list[str], new: str) -> str | None:
    return new


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _reindented(wanted: list[str], standing: list[str], new: str) -> str | None:
    """`new` with the indents of the file, or None where the shift is not the same for equal indents."""
    pairs = [(_indent(a), _indent(b)) for a, b in zip(wanted, standing, strict=True) if a.strip()]
    if all(a == b for a, b in pairs[1:]):
        first, newline, rest = new.partition("\n")
        return pairs[0][1] + first.lstrip(" \t") + newline + rest
    shift: dict[str, str] = {}
    for ours, theirs in pairs:
        if shift.setdefault(ours, theirs) != theirs:
            return None
    return "\n".join(_shifted(line, shift) for line in new.split("\n"))


def _shifted(line: str, shift: dict[str, str]) -> str:
    indent = _indent(line)
    if not line.strip():
        return line
    known = [ours for ours in shift if indent.startswith(ours)]
    if known:
        nearest = max(known, key=len)
        unit = "\t" if "\t" in shift[nearest] else "    "
        return shift[nearest] + indent[len(nearest) :].replace("\t", unit) + line[len(indent) :]
    least = min(shift, key=len)
    excess = len(least) - len(shift[least])
    return (indent[excess:] if excess > 0 else indent) + line[len(indent) :]


def _same_quotes(line: str) -> str:
    return re.sub("[\"'`‘’“”]", "'", line.rstrip())


_RUNGS: tuple[tuple[str, Callable[[str], str], _Fit], ...] = (
    ("", lambda line: line, _as_written),
    ("blanks at line ends", lambda line: line.rstrip(" \t"), _as_written),
    ("the indent", lambda line: line.strip(" \t"), _reindented),
    ("the kind of quotes", _same_quotes, _as_written),
)


# --- what a refusal shows ---------------------------------------------------------------------------------------


def _not_found(plain: str, old: str) -> Refused:
    lines = plain.removesuffix("\n").split("\n")
    start, count = _closest(lines, old.strip("\n").split("\n"))
    if count == 0:
        return Refused("The search text is not in the file.", "Read the file again.")
    numbered = "\n".join(f"{n}| {lines[n - 1][:300]}" for n in range(start, min(start + count, len(lines) + 1)))
    return Refused("The search text is not in the file.", f"The closest lines that are:\n{numbered}")


def _closest(lines: list[str], wanted: list[str]) -> tuple[int, int]:
    """First line number and count of the run of lines that shares most words with the wanted ones; count 0 if none.

    The run is two lines longer than what was asked for, since what is missed is often a comment between.
    """
    words = [set(re.findall(r"\w+", line)) for line in lines]
    goals = [goal for goal in (set(re.findall(r"\w+", line)) for line in wanted[:12]) if goal]
    likeness = [[len(goal & have) / len(goal | have) if have else 0.0 for have in words] for goal in goals]
    size = min(len(wanted[:12]) + 2, len(lines))
    scores = [
        (sum(max(row[start : start + size]) for row in likeness), start) for start in range(len(lines) - size + 1)
    ]
    best = max(scores, default=(0.0, 0))[0]
    if best <= 0:
        return 0, 0
    near = [start for score, start in scores if score >= best * 0.8][:CLOSELY_COMPARED]
    text = "\n".join(wanted[:12])[:2_000]

    def alike(start: int) -> float:
        return difflib.SequenceMatcher(None, text, "\n".join(lines[start : start + size])[:2_000]).ratio()

    return max(near, key=alike) + 1, size
