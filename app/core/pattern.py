"""Patterns for paths, as code owners files and policies have them: gitignore's, without `!` and `[ ]`.

Matching takes time in proportion to pattern times path, whatever both are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.verdict import Refused

ANY = "*"
"""A segment's token for any run of letters within one part of a path."""
ONE = "?"
DEEP = ("**",)
"""The segment that stands for any number of parts."""

Segment = tuple[str, ...]
"""Letters and wildcards, one by one; an escaped letter is two characters, so that `\\*` is no wildcard."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that can be held against paths. It matches a file, and a folder with all that is below it."""

    segments: tuple[Segment, ...]
    folder_only: bool
    """Written with a `/` at its end: it names folders."""
    ends_in_star: bool
    """Written with `/*` at its end: what lies directly in a folder."""
    needs: str
    """The longest run of plain letters in it: a path without them is told at once."""

    def matches(self, path: str) -> bool:
        """True for a path that the pattern names, and for every path below a folder that it names."""
        if self.needs not in path:
            return False
        parts = path.split("/")
        reached = self._reached(parts)
        return bool(reached - {len(parts)} if self.folder_only else reached)

    def owns(self, path: str) -> bool:
        """As GitHub reads a code owners file: `docs/*` is about the files in `docs`, not about those further down."""
        if not self.ends_in_star:
            return self.matches(path)
        parts = path.split("/")
        return self.needs in path and len(parts) in self._reached(parts)

    def _reached(self, parts: Sequence[str]) -> set[int]:
        """How many of the parts, from the first on, the whole pattern can take."""
        reached = {0}
        for segment in self.segments[:-1]:
            if segment == DEEP:
                reached = set(range(min(reached), len(parts) + 1))
            else:
                reached = _one_further(segment, parts, reached)
            if not reached:
                return reached
        last = self.segments[-1]
        # At the end, any number of parts is at least one.
        return set(range(min(reached) + 1, len(parts) + 1)) if last == DEEP else _one_further(last, parts, reached)


def read_pattern(text: str) -> Pattern | Refused:
    """The pattern, or the reason why it is none here."""
    if text.startswith("!"):
        return Refused("`!` does not take paths out again here.")
    if "[" in text or "]" in text:
        return Refused("`[` and `]` mean nothing here.")
    if text.startswith("\\#"):
        return Refused("a pattern cannot begin with an escaped `#`.")
    inner = text.strip("/")
    if not inner or "//" in text or any(part in (".", "..") for part in inner.split("/")):
        return Refused("it names nothing below the repository's root.")
    segments = [_segment(part) for part in inner.split("/")]
    if any(segment is None for segment in segments):
        return Refused("a backslash stands at its end.")
    known = [segment for segment in segments if segment is not None]
    anchored = "/" in text[:-1]
    return Pattern(
        segments=tuple(known if anchored else [DEEP, *known]),
        folder_only=text.endswith("/"),
        ends_in_star=text.endswith("/*"),
        needs=max((run for segment in known for run in _runs(segment)), key=len, default=""),
    )


def _segment(text: str) -> Segment | None:
    if text == "**":
        return DEEP
    tokens: list[str] = []
    letters = iter(text)
    for letter in letters:
        if letter != "\\":
            # Two stars beside other letters are as good as one.
            if letter != ANY or tokens[-1:] != [ANY]:
                tokens.append(letter)
            continue
        escaped = next(letters, None)
        if escaped is None:
            return None
        tokens.append(f"\\{escaped}")
    return tuple(tokens)


def _runs(segment: Segment) -> list[str]:
    """The runs of plain letters between the wildcards of a segment."""
    wild = (ANY, ONE, *DEEP)
    return "".join("\0" if token in wild else token[-1] for token in segment).split("\0")


def _one_further(segment: Segment, parts: Sequence[str], reached: set[int]) -> set[int]:
    return {at + 1 for at in reached if at < len(parts) and _one_fits(segment, parts[at])}


def _one_fits(segment: Segment, part: str) -> bool:
    """One part of a path against one segment: the last star takes a letter more where the rest does not fit."""
    token = letter = 0
    star, resume = -1, 0
    while letter < len(part):
        if token < len(segment) and segment[token] == ANY:
            star, resume = token, letter
            token += 1
        elif token < len(segment) and _takes(segment[token], part[letter]):
            token, letter = token + 1, letter + 1
        elif star >= 0:
            resume += 1
            token, letter = star + 1, resume
        else:
            return False
    return all(rest == ANY for rest in segment[token:])


def _takes(token: str, letter: str) -> bool:
    return token in (ONE, letter) or (len(token) == 2 and token[1] == letter)
