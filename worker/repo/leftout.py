"""Lines that stand for others which a model did not write out: `...`, `# rest unchanged` and their kin."""

import re
from collections.abc import Sequence

from worker.repo.indents import indent_of

_LEADER = r"(?:#|//|/\*+|--|<!--|;+|%+|\*|\{/\*|\"\"\"|''')"
_DOTS = r"(?:\.\.\.|…)"
_WORDS = r"\b(?:existing|rest|unchanged|remaining|same|previous|omitted|other|as before|keep|remains?)\b"
_STAYS = r"\b(?:unchanged|as (?:before|is)|(?:stays|remains) the same)\b"

_BARE = re.compile(rf"^\s*{_DOTS}\s*$")
_COMMENT = re.compile(rf"^\s*{_LEADER}\s*{_DOTS}\s*(?:\*/\}}?|-->)?\s*$")
_SAID = re.compile(
    rf"^\s*{_LEADER}?\s*[\[(<]?\s*{_DOTS}.*{_WORDS}"
    rf"|^\s*{_LEADER}\s*[\[(<]?\s*{_WORDS}.*{_DOTS}"
    rf"|^\s*{_LEADER}\s*[\[(<]?\s*(?:the\s+)?(?:rest|remainder)\b.{{0,60}}{_STAYS}",
    re.IGNORECASE,
)

_PROSE = ("md", "markdown", "rst", "txt", "adoc", "asciidoc", "org")


def stands_for_others(line: str) -> bool:
    """True for a line that in a search text can mean any lines between. In Python a bare `...` is code as well."""
    return any(form.match(line) for form in (_BARE, _COMMENT, _SAID))


def placeholder_in(path: str, new: str, known: frozenset[str]) -> str | None:
    """The first line of `new` that says that code was left out, without blanks around it; None where there is none.

    `known` holds lines, without blanks around them, that are meant as they stand, such as those of the file.
    """
    lines = [line for line in new.split("\n") if line.strip()]
    for number, line in enumerate(lines):
        lazy = _COMMENT.match(line) or _SAID.match(line) or (not _is_prose(path) and _stops_short(lines, number))
        if lazy and line.strip() not in known:
            return line.strip()
    return None


def _stops_short(lines: Sequence[str], number: int) -> bool:
    """A bare `...` beside other statements; one that is a body of its own is code that does nothing yet."""
    if not _BARE.match(lines[number]):
        return False
    own = len(indent_of(lines[number]))
    above = lines[number - 1] if number else ""
    below = lines[number + 1] if number + 1 < len(lines) else ""
    after_another = bool(above) and len(indent_of(above)) == own and not above.rstrip().endswith(('"', "'"))
    return after_another or (bool(below) and len(indent_of(below)) >= own)


def _is_prose(path: str) -> bool:
    return path.rpartition(".")[2].lower() in _PROSE
