"""Reading documentation while planning: one page of a listed host, or the places on it where some words stand."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.verdict import Refused
from worker.docs.fetching import Documentation
from worker.docs.page import Page
from worker.model.conversation import Answer, Failed, Handler
from worker.model.words import Tool

MOST_PAGES = 20
"""Pages that are fetched in one planning."""

SEEN_CHARACTERS = 6_500
AROUND = 3
"""Lines before and after one that holds the words."""

MOST_PLACES = 30
LINE_CHARACTERS = 600
LINKS_SEEN = 12


@dataclass
class DocsTool:
    """The tool `read_docs` of one planning. It holds no token and sends none."""

    documentation: Documentation
    read: int = 0

    def every(self) -> Mapping[str, tuple[Tool, Handler[Any]]]:
        """The tool by name; none where no host is listed."""
        hosts = self.documentation.reach.hosts
        return {"read_docs": (_tool(hosts), self._read)} if hosts else {}

    def _read(self, asked: Mapping[str, object]) -> Answer | Failed:
        if self.read >= MOST_PAGES:
            return Failed(f"{self.read} pages were read, which is all; reopen those that were.")
        self.read += 1
        page = self.documentation.read(str(asked["url"]).strip())
        if isinstance(page, Refused):
            return Failed(str(page))
        return Answer(_told(page, str(asked.get("find") or "")), _whole(page))


def _tool(hosts: tuple[str, ...]) -> Tool:
    properties = {
        "url": {"type": "string", "minLength": 1, "maxLength": 2000},
        "find": {"type": "string", "minLength": 1, "maxLength": 200},
    }
    schema = {"type": "object", "properties": properties, "required": ["url"], "additionalProperties": False}
    words = (
        "A documentation page as text, from the part that #… in its address names, or (with find) the places where "
        f"these words stand. https only, and only these hosts: {', '.join(hosts)}."
    )
    return Tool("read_docs", words, schema)


def _told(page: Page, find: str) -> str:
    lines = page.text.split("\n")
    head = f"{page.address}" + (f", “{page.title}”" if page.title else "")
    if find:
        return "\n".join([head, *_places(lines, find), *page.hidden])
    shown: list[str] = []
    room = SEEN_CHARACTERS
    for number in range(page.start, len(lines) + 1):
        line = f"{number}| {lines[number - 1][:LINE_CHARACTERS]}"
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    last = page.start + len(shown) - 1
    rest = f"; reopen this observation from line {last + 1} for the rest" if last < len(lines) else ""
    links = [f"  {words}: {url}" for words, url in page.links[:LINKS_SEEN]]
    more = f"  … {len(page.links) - LINKS_SEEN} more, at the end of the whole" if len(page.links) > LINKS_SEEN else ""
    ways = ["Links to pages that can be read:", *links, *filter(None, [more])] if links else []
    return "\n".join([f"{head}, lines {page.start}-{last} of {len(lines):,}{rest}", *shown, *ways, *page.hidden])


def _places(lines: list[str], find: str) -> list[str]:
    wanted = find.casefold()
    hits = [number for number, line in enumerate(lines, 1) if wanted in line.casefold()]
    if not hits:
        return [f"None of its {len(lines):,} lines holds “{find}”; case was left aside."]
    rows, last, room = [], 0, SEEN_CHARACTERS
    for shown, hit in enumerate(hits):
        if shown >= MOST_PLACES or room < 0:
            rows.append(f"… {len(hits) - shown} more places")
            break
        for number in range(max(hit - AROUND, last + 1, 1), min(hit + AROUND, len(lines)) + 1):
            rows += ["…"] if last and number > last + 1 else []
            rows.append(f"{'>' if number in hits else ' '} {number}| {lines[number - 1][:LINE_CHARACTERS]}")
            last, room = number, room - len(rows[-1])
    return [f"{len(hits):,} of {len(lines):,} lines hold “{find}”:", *rows]


def _whole(page: Page) -> str:
    links = [f"{words}: {url}" for words, url in page.links]
    return "\n".join([page.text, *(["", "Links:", *links] if links else [])])
