"""A unified diff as models write them, read as search texts and new texts: its line numbers are never believed."""

import re
from dataclasses import dataclass

from app.core.paths import shown
from app.core.verdict import Refused

_HUNK = re.compile(r"^@@(?: .*)?$")
_HEADS = ("diff --git ", "index ", "new file mode ", "deleted file mode ", "old mode ", "new mode ", "similarity ")
_SIDE = re.compile(r"^(?:---|\+\+\+) (?P<quote>\"?)(?P<name>.*?)(?P=quote)(?:\t.*)?$")


@dataclass(frozen=True, slots=True)
class Hunks:
    """The changes for one file, each as the lines to find and the lines to put there; and what else was in the diff."""

    changes: tuple[tuple[str, str], ...]
    elsewhere: tuple[str, ...] = ()


def hunks_of(diff: str, path: str) -> Hunks | Refused:
    """The changes for `path`. Without file headers all of the diff is for it."""
    changes: list[tuple[str, str]] = []
    elsewhere: list[str] = []
    for name, body in _files(diff.replace("\r\n", "\n").removesuffix("\n").split("\n")):
        if name not in ("", path):
            elsewhere.append(name)
            continue
        for hunk in body:
            change = _change(hunk)
            if isinstance(change, Refused):
                return change
            if change is not None:
                changes.append(change)
    if not changes:
        others = f" It is for {', '.join(shown(name) for name in elsewhere)}." if elsewhere else ""
        return Refused(f"The diff holds no change of {shown(path)}.{others}", "Write hunks with `-` and `+` lines.")
    return Hunks(tuple(changes), tuple(elsewhere))


def _files(lines: list[str]) -> list[tuple[str, list[list[str]]]]:
    """By file name, or the empty one before any header: the lines of each hunk."""
    out: list[tuple[str, list[list[str]]]] = [("", [])]
    number = 0
    while number < len(lines):
        line = lines[number]
        pair = _header(lines, number)
        if pair is not None:
            out.append((pair, []))
            number += 2
            continue
        if _HUNK.match(line):
            out[-1][1].append([])
        elif line.startswith(_HEADS):
            out.append(("", []))
        elif out[-1][1]:
            out[-1][1][-1].append(line)
        elif line[:1] in ("+", "-", " "):
            out[-1][1].append([line])
        number += 1
    return [(name, hunks) for name, hunks in out if hunks]


def _header(lines: list[str], number: int) -> str | None:
    """The file's name where a pair of `---` and `+++` lines stands; a hunk's own lines can look like one of them."""
    if number + 1 >= len(lines) or not lines[number].startswith("--- ") or not lines[number + 1].startswith("+++ "):
        return None
    sides = [_SIDE.match(lines[number]), _SIDE.match(lines[number + 1])]
    names = [side["name"].strip() for side in sides if side is not None]
    name = names[-1] if names and names[-1] != "/dev/null" else (names or [""])[0]
    return name.removeprefix("b/").removeprefix("a/")


def _change(hunk: list[str]) -> tuple[str, str] | Refused | None:
    old: list[str] = []
    new: list[str] = []
    for line in hunk:
        sign, text = line[:1], line[1:]
        if sign == "\\":
            continue
        if sign not in ("", " ", "+", "-"):
            return Refused(f"This line of the diff begins with none of ` `, `+` and `-`: {line[:120]}")
        if sign != "+":
            old.append(text)
        if sign != "-":
            new.append(text)
    while old and new and not old[-1] and not new[-1]:
        old, new = old[:-1], new[:-1]
    if old == new:
        return None
    if not any(line.strip() for line in old):
        return Refused("A hunk of the diff has no line by which its place could be found.", "Give it lines of context.")
    return "\n".join(old) + "\n", "\n".join(new) + ("\n" if new else "")
