"""A page as plain text, as a reader would see it: headings and code marked as in Markdown, the rest as it reads."""

import codecs
import re
from collections.abc import Iterator

from justhtml import JustHTML

from app.core.documentation import DocsReach
from app.core.verdict import Refused
from worker.docs.page import Address, Page
from worker.docs.rendering import render
from worker.evidence.untrusted import Cleaned, clean, visible

MOST_CHARACTERS = 600_000
MOST_TAGS = 150_000
"""A page of a megabyte has some 40,000; reading one with more than this could take a minute."""

_SLICE = 60_000
"""Characters that are cleaned at a time; what cleans takes 80,000."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def page_of_html(address: Address, reach: DocsReach, body: bytes, charset: str | None) -> Page | Refused:
    """The page's main part without what is hidden, its navigation and its scripts."""
    if body.count(b"<") > MOST_TAGS:
        return Refused(f"{address} has more than {MOST_TAGS:,} tags.")
    document = JustHTML(body, encoding=_known(charset), sanitize=False)
    rendered = render(document.root, address, reach)
    if not rendered.blocks:
        return Refused(f"{address} shows no text without its scripts.")
    before = "\n\n".join(rendered.blocks[: rendered.anchor])
    shown = visible("\n\n".join(rendered.blocks)[:MOST_CHARACTERS])
    start = before.count("\n") + 3 if rendered.anchor and len(before) < MOST_CHARACTERS else 1
    hidden = (*rendered.hidden, *shown.hidden)
    return Page(address, visible(rendered.title).text, shown.text, start, rendered.links, hidden)


def page_of_text(address: Address, body: bytes, charset: str | None, kind: str) -> Page | Refused:
    """A plain text as it stands, or Markdown without what its reader would not see."""
    text = body.decode(_known(charset) or "utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    if "\0" in text:
        return Refused(f"{address} is no text.")
    text = text[:MOST_CHARACTERS]
    shown = _cleaned(text) if "markdown" in kind else visible(text)
    return Page(address, "", shown.text, hidden=shown.hidden)


def _cleaned(text: str) -> Cleaned:
    pieces = [clean(piece) for piece in _slices(text)]
    return Cleaned("\n".join(one.text for one in pieces), tuple(said for one in pieces for said in one.hidden))


def _slices(text: str) -> Iterator[str]:
    """The text in pieces that end at a line outside of code, as far as there is one."""
    piece: list[str] = []
    size, fence = 0, ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence):
            fence = ""
        if size > _SLICE and not fence and not line.strip():
            yield "\n".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line) + 1
    yield "\n".join(piece)


def _known(charset: str | None) -> str | None:
    try:
        return codecs.lookup(charset).name if charset else None
    except LookupError:
        return None
