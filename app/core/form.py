"""An issue written as a form: fields under `### Heading` lines, as GitHub's issue forms write them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from app.core.verdict import Refused

NO_RESPONSE = "_No response_"
"""What GitHub writes for a field that was left empty."""

_HEADING = re.compile(r" {0,3}###[ \t]+(.+?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)")
_CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1")


@dataclass(frozen=True, slots=True)
class Form:
    """The fields that were asked for, by heading; each as it was written, without blank lines around it."""

    fields: Mapping[str, str]

    def plain(self, heading: str) -> str:
        """What stands under the heading: the inside of its fenced block, or its lines; empty where it was left so."""
        written = self.fields[heading]
        block = _fenced(written)
        if isinstance(block, str):
            return block
        return "" if written == NO_RESPONSE else written

    def text(self, heading: str, empty: Literal["may be empty", "must be there"] = "must be there") -> str | Refused:
        """A text that counts letter by letter: a fenced block, or one line, bare or as a code span."""
        written = self.fields[heading]
        block = _fenced(written)
        if isinstance(block, Refused):
            return Refused(f"Under `### {heading}`, {block.reason}")
        if block is None:
            if "\n" in written:
                return Refused(f"What stands under `### {heading}` has several lines.", "Put it into a fenced block.")
            span = _CODE_SPAN.fullmatch(written)
            block = span[2] if span else ("" if written == NO_RESPONSE else written)
        if not block and empty == "must be there":
            return Refused(f"Nothing stands under `### {heading}`.")
        return block


def read_form(body: str, headings: Sequence[str]) -> Form | Refused:
    """The fields under these headings, each of which must be there once; other headings and prose mean nothing."""
    wanted = {heading.casefold(): heading for heading in headings}
    found: dict[str, str] = {}
    others: list[str] = []
    for title, text in _parts(body):
        name = wanted.get(title.casefold())
        if name is None:
            others.append(title)
        elif name in found:
            return Refused(f"The heading `### {name}` stands there twice.")
        else:
            found[name] = text
    missing = [heading for heading in headings if heading not in found]
    if missing:
        listed = ", ".join(f"`### {heading}`" for heading in missing)
        there = f" There are: {', '.join(f'`{title[:40]}`' for title in others[:8])}." if others else ""
        return Refused(f"The description has no heading {listed}.{there}")
    return Form(found)


def _parts(body: str) -> list[tuple[str, str]]:
    """Each heading with what stands below it. A heading within a fenced block is none."""
    parts: list[tuple[str, list[str]]] = []
    fence = ""
    for line in body.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        heading = None if fence else _HEADING.fullmatch(line)
        fence = _fence_after(fence, line)
        if heading:
            parts.append((heading[1].strip(), []))
        elif parts:
            parts[-1][1].append(line)
    return [(title, _without_blank_ends(lines)) for title, lines in parts]


def _without_blank_ends(lines: list[str]) -> str:
    kept = [number for number, line in enumerate(lines) if line.strip()]
    if not kept:
        return ""
    inner = lines[kept[0] : kept[-1] + 1]
    return inner[0].strip() if len(inner) == 1 else "\n".join(inner)


def _fence_after(fence: str, line: str) -> str:
    match = _FENCE.fullmatch(line)
    if not fence:
        return match[1] if match else ""
    closes = match is not None and match[1].startswith(fence) and not match[2].strip()
    return "" if closes else fence


def _fenced(written: str) -> str | Refused | None:
    """The inside of a field that is one fenced block; None for one that begins with none."""
    lines = written.split("\n")
    opening = _FENCE.fullmatch(lines[0])
    if opening is None:
        return None
    fence = opening[1]
    for number, line in enumerate(lines[1:], start=1):
        if not _fence_after(fence, line):
            if number != len(lines) - 1:
                return Refused("something stands after the fenced block.")
            return "\n".join(lines[1:number])
    return Refused("the fenced block has no end.")
