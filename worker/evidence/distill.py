"""Shorter views of long outputs, the same every time. What is left out is counted and said where it was."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

LINE_CHARACTERS = 400
SMALLEST_LIMIT = 200

# Terminal sequences: OSC (a title or a link) up to its end, CSI (colours, cursor), other two-character escapes.
_TERMINAL = re.compile(
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BACKSPACED = re.compile(r"[^\x08\n]\x08")


@dataclass(frozen=True, slots=True)
class Distilled:
    """The view, and how many lines of the cleaned output it leaves out."""

    text: str
    dropped_lines: int


def plain_output(text: str) -> str:
    """The output as a terminal would leave it standing: no colours, links or control characters (case SE-02).

    Of a line that was written over with carriage returns the last state stays.
    """
    text = _TERMINAL.sub("", text.replace("\r\n", "\n"))
    while (once := _BACKSPACED.sub("", text)) != text:
        text = once
    lines = (_last_state(line) if "\r" in line else line for line in text.split("\n"))
    return _CONTROL.sub("", "\n".join(lines))


def _last_state(line: str) -> str:
    return next((part for part in reversed(line.split("\r")) if part.strip()), "")


def distill(kind: str, text: str, limit: int) -> Distilled:
    """The part of `text` that decides, in at most `limit` characters. An unknown kind is treated as any output.

    Raises ValueError for a limit under 200.
    """
    if limit < SMALLEST_LIMIT:
        raise ValueError(f"a view has at least {SMALLEST_LIMIT} characters")
    lines = plain_output(text).rstrip("\n").split("\n")
    if sum(len(line) + 1 for line in lines) - 1 <= limit and kind != "pytest":
        return Distilled("\n".join(lines), 0)
    ranks = _RANKS.get(kind, _any_output)(lines)
    return _chosen(lines, ranks, limit)


_NEVER = 9
_Ranks = Callable[[Sequence[str]], list[int]]


def _any_output(lines: Sequence[str]) -> list[int]:
    """Lines nearest to either end come first, the end before the beginning."""
    count = len(lines)
    return [min(2 * (count - 1 - number), 2 * number + 1) + 10 for number in range(count)]


_DECISIVE = re.compile(r"(?:FAILED|ERROR) |INTERNALERROR>|ERROR:|E  +\S*(?:Error|Exception)")
_CLOSING = re.compile(r"=+ short test summary info =+$")
_PRINTED = re.compile(r"-{3,} Captured .+ -{3,}$")
_TITLE = re.compile(r"_{3,} .+ _{3,}$")
_SECTION = re.compile(r"=+ .+ =+$")
_COUNTS = re.compile(r"(?:=+ )?(?:\d+ (?:passed|failed|error|skipped|warning|deselected|xfailed|xpassed)|no tests ran)")
_PLACE = re.compile(r"\S+?:\d+: (?:\S|$)")
_PROGRESS = re.compile(r"\S+\.py [.FEsxXp]+\s*(?:\[ *\d+%\])?$|[.FEsxXp]+\s*(?:\[ *\d+%\])?$")
_PASSED = re.compile(r"PASSED |.* PASSED(?: +\[ *\d+%\])?$")


_PRINTED_PART = "printed by a test"


def _pytest(lines: Sequence[str]) -> list[int]:
    """The closing summary, then assertion lines and places, then the code around them; passing tests never.

    What a test printed comes last, since it may look like a summary itself (the tests of test runners do).
    """
    closing = max((number for number, line in enumerate(lines) if _CLOSING.match(line)), default=len(lines))
    last = max((number for number, line in enumerate(lines) if _COUNTS.match(line)), default=-1)
    ranks = []
    part, printed = "", False
    for number, line in enumerate(lines):
        if _SECTION.match(line) and not printed:
            part = line.strip("= ").lower()
        printed = number < closing and (bool(_PRINTED.match(line)) or (printed and not _TITLE.match(line)))
        ranks.append(-1 if number == last else _pytest_rank(line, _PRINTED_PART if printed else part))
    return ranks


def _pytest_rank(line: str, part: str) -> int:
    if _PASSED.match(line) or _PROGRESS.match(line) or part.startswith(("warnings summary", "passes")):
        return _NEVER
    if part == _PRINTED_PART:
        return 5
    if _COUNTS.match(line) or _DECISIVE.match(line):
        return 0
    if line.startswith(("E ", "> ")) or _PLACE.match(line):
        return 1
    if _SECTION.match(line) or _TITLE.match(line):
        return 2
    return 3 if part in ("failures", "errors") else 4


_RANKS: dict[str, _Ranks] = {"pytest": _pytest}

_GAP = 40
"""Room for `[… 1,234,567 lines left out …]` and its line end."""


def _chosen(lines: Sequence[str], ranks: Sequence[int], limit: int) -> Distilled:
    """Lines by rank, as they fit, in the order they stood; each gap says how many lines it holds."""
    room = limit - _GAP
    taken: set[int] = set()
    for number in sorted((number for number, rank in enumerate(ranks) if rank != _NEVER), key=lambda each: ranks[each]):
        if room <= 0:
            break
        neighbours = (number - 1 in taken) + (number + 1 in taken)
        cost = min(len(lines[number]), LINE_CHARACTERS + 30) + 1 + (_GAP if neighbours == 0 else 0)
        if cost <= room:
            taken.add(number)
            room -= cost
    out: list[str] = []
    last = -1
    for number in [*sorted(taken), len(lines)]:
        missing = number - last - 1
        if missing:
            out.append(f"[… {missing:,} line{'s' if missing > 1 else ''} left out …]")
        if number < len(lines):
            out.append(_cut(lines[number]))
        last = number
    return Distilled("\n".join(out), len(lines) - len(taken))


def _cut(line: str) -> str:
    over = len(line) - LINE_CHARACTERS
    if over <= 0:
        return line
    half = LINE_CHARACTERS // 2
    return f"{line[:half]}[… {over:,} …]{line[-half:]}"
