"""The boxes of a plan comment: one for each step, ticked when it is posted. Who unticks one wants the step dropped."""

import re
from dataclasses import dataclass

_BOX = re.compile(r"^- \[([ xX])\] \*\*(\d{1,3})\.")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Boxes:
    """The comment's text with every box ticked, and the steps whose box is not."""

    whole: str
    unticked: tuple[int, ...]


def box(step: int) -> str:
    """How a step's line begins, within bold type that its caller closes."""
    return f"- [x] **{step}."


def read_boxes(text: str) -> Boxes:
    """The boxes in a comment's text; what only looks like one, within a fenced block, is none."""
    lines: list[str] = []
    unticked: list[int] = []
    fence = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        found = _BOX.match(line) if not fence else None
        if found is not None and found[1] == " ":
            unticked.append(int(found[2]))
        lines.append(f"- [x{line[4:]}" if found is not None else line)
        fence = _after(fence, line)
    return Boxes("\n".join(lines), tuple(sorted(set(unticked))))


def _after(fence: str, line: str) -> str:
    match = _FENCE.match(line)
    if match is None:
        return fence
    if not fence:
        return match[1]
    closes = match[1].startswith(fence) and not line.strip().strip(fence[0])
    return "" if closes else fence
