"""Search texts as models pass them on: with a viewer's line numbers, HTML escapes or escapes written twice.

Each of these is undone in the search text and the new text alike, and is believed only where the text as it was given
is not in the file and the cleaned one is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NUMBERED = re.compile(r"^[ \t]*(\d{1,7})([|:\t→])(.*)$")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&#39;": "'", "&#x27;": "'", "&amp;": "&"}
_ENTITY = re.compile("|".join(_ENTITIES), re.IGNORECASE)
_ESCAPE = re.compile(r'\\([nt"\\])')
_ESCAPED = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Spelling:
    """A search text and a new text in one form; `undone` names what was taken out of them, or is empty."""

    old: str
    new: str
    undone: str = ""


def spellings(old: str, new: str) -> Iterator[Spelling]:
    """The texts as given, then each other form that they can be read as."""
    yield Spelling(old, new)
    for undone, form in (
        ("pasted line numbers", _without_numbers(old, new)),
        ("HTML escapes", _without_entities(old, new)),
        ("doubled escapes", _without_escapes(old, new)),
    ):
        if form is not None:
            yield Spelling(*form, undone)


def _without_numbers(old: str, new: str) -> tuple[str, str] | None:
    """Numbers must rise in the search text; where `:` ends them, each new line has one or none has."""
    found = [_NUMBERED.match(line) for line in old.split("\n") if line.strip()]
    numbers = [int(one[1]) for one in found if one is not None]
    if not found or len(numbers) < len(found) or numbers != sorted(set(numbers)):
        return None
    marks = {one[2] for one in found if one is not None}
    bodies = [one[3] for one in found if one is not None]
    if len(marks) > 1:
        return None
    mark = marks.pop()
    lead = 1 if mark != "\t" and all(not body or body.startswith(" ") for body in bodies) else 0
    ours = [match is not None and match[2] == mark for match in map(_NUMBERED.match, new.split("\n"))]
    real = [own for own, line in zip(ours, new.split("\n"), strict=True) if line.strip()]
    if mark == ":" and any(real) and not all(real):
        return None
    return _bodies(old, mark, lead), _bodies(new, mark, lead)


def _bodies(text: str, mark: str, lead: int) -> str:
    out = []
    for line in text.split("\n"):
        match = _NUMBERED.match(line)
        out.append(match[3][lead:] if match is not None and match[2] == mark else line)
    return "\n".join(out)


def _without_entities(old: str, new: str) -> tuple[str, str] | None:
    """Only for texts that are escaped throughout: a raw `<` beside `&lt;` says that both are meant."""
    if not _ENTITY.search(old) or any(sign in text for text in (old, new) for sign in "<>"):
        return None
    return _unescaped(old), _unescaped(new)


def _unescaped(text: str) -> str:
    return _ENTITY.sub(lambda found: _ENTITIES[found[0].lower()], text)


def _without_escapes(old: str, new: str) -> tuple[str, str] | None:
    r"""Only for texts on one line that hold `\n`. None where a line of the new one would end inside a string."""
    if "\\n" not in old or any("\n" in text.strip("\n") for text in (old, new)):
        return None
    plain_old, plain_new = (_ESCAPE.sub(lambda found: _ESCAPED[found[1]], text) for text in (old, new))
    known = set(plain_old.split("\n"))
    fresh = [line for line in plain_new.split("\n") if line not in known]
    if any(line.count(quote) % 2 for line in fresh for quote in "\"'`"):
        return None
    return plain_old, plain_new
