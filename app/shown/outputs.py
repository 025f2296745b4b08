"""A kept output in pages: numbered lines, long ones cut and gone on with, so that no page grows without bound."""

import re
from dataclasses import dataclass

LINES = 500
"""On one page."""

LINE_CHARACTERS = 2_000

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class OutputPage:
    """One page. `lines` come with their numbers; 0 goes on with the line before. Pages count from 1."""

    lines: tuple[tuple[int, str], ...]
    page: int
    pages: int
    bytes: int
    all_lines: int


def output_page(content: bytes, page: int) -> OutputPage:
    """This page of an output, or the nearest that there is. Colours are left out; bytes that are no text, replaced."""
    text = _COLOURS.sub("", content.decode("utf-8", "replace").replace("\r\n", "\n"))
    every = text.removesuffix("\n").split("\n")
    pieces = [piece for number, line in enumerate(every, 1) for piece in _pieces(number, line)]
    pages = max(1, -(-len(pieces) // LINES))
    page = min(max(page, 1), pages)
    return OutputPage(tuple(pieces[(page - 1) * LINES : page * LINES]), page, pages, len(content), len(every))


def _pieces(number: int, line: str) -> list[tuple[int, str]]:
    cut = [line[at : at + LINE_CHARACTERS] for at in range(0, max(len(line), 1), LINE_CHARACTERS)]
    return [(number if at == 0 else 0, piece) for at, piece in enumerate(cut)]
