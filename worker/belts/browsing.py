"""Browsing: the planner opens a page of the repository's own site in the box, and is told what happened there."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from app.core.paths import shown
from app.core.span import SpanKind
from app.core.verdict import Refused
from worker.box.command import BoxUnavailable, Runs
from worker.box.page import Fetched, Message, NotVisited, Visit, visit_of, visiting
from worker.evidence.outline import outline
from worker.evidence.trace import Trace
from worker.model.conversation import Answer, Failed, Handler
from worker.model.words import Tool
from worker.repo.snapshot import Snapshot

MOST_VISITS = 4
OUTLINE_CHARACTERS = 3_000
MOST_MESSAGES = 30
MESSAGE_CHARACTERS = 400
_PAGE = re.compile(r"\.x?html?$", re.IGNORECASE)
_HERE = frozenset({"", "localhost", "127.0.0.1", "[::1]", "::1"})

OPEN_PAGE = Tool(
    "open_page",
    "Opens an HTML file of the repository as a page of its own site, in headless Chromium, without any network beside "
    "the site's own files: console messages, failed requests, the page's outline. `root` is the folder of the site; "
    f"without it, the topmost one on the way that has an index.html. At most {MOST_VISITS} visits.",
    {
        "type": "object",
        "properties": {
            "page": {"type": "string", "minLength": 1, "maxLength": 1000},
            "root": {"type": "string", "maxLength": 500},
        },
        "required": ["page"],
        "additionalProperties": False,
    },
)


def has_pages(snapshot: Snapshot) -> bool:
    """Whether there is anything to open."""
    return any(_PAGE.search(entry.path) for entry in snapshot.list())


def lacking(snapshot: Snapshot, chromium: str | None) -> tuple[str, ...]:
    """What the card says where there are pages and nothing to open them with."""
    if chromium is not None or not has_pages(snapshot):
        return ()
    return ("There is no Chromium on this machine, so that no page of the repository can be opened.",)


@dataclass
class Browsing:
    """The tool, and how often it was used. `keep` keeps a picture and answers with its reference."""

    tree: Path
    snapshot: Snapshot
    chromium: str
    open_box: Callable[[], Runs | BoxUnavailable]
    keep: Callable[[bytes, str], str]
    trace: Trace
    visits: int = 0

    def every(self) -> dict[str, tuple[Tool, Handler[Any]]]:
        """The one tool of this group."""
        return {OPEN_PAGE.name: (OPEN_PAGE, self._open)}

    def _open(self, asked: Mapping[str, Any]) -> Answer | Failed:
        place = _place(self.snapshot, str(asked["page"]), str(asked.get("root", "")))
        if isinstance(place, Refused):
            return Failed(str(place))
        if self.visits >= MOST_VISITS:
            return Failed(f"All {MOST_VISITS} visits of this investigation were made.")
        box = self.open_box()
        if isinstance(box, BoxUnavailable):
            return Failed(f"No page can be opened here: {box} Plan from what the files say.")
        self.visits += 1
        root, target = place
        with self.trace.noting(SpanKind.CHECK, f"visit {root}/{target}".replace("visit /", "visit ")) as noted:
            ran = box.run(self.tree, visiting(self.chromium, root, target))
            visit = NotVisited(str(ran)) if isinstance(ran, BoxUnavailable) else visit_of(ran)
            noted.outcome = "not visited" if isinstance(visit, NotVisited) else "ok"
        if isinstance(visit, NotVisited):
            return Failed(visit.reason)
        picture = self.keep(visit.screenshot, "image/png") if visit.screenshot else ""
        return Answer(_told(visit, root, target, picture), _whole(visit))


def _place(snapshot: Snapshot, page: str, root: str) -> tuple[str, str] | Refused:
    """The site's root in the tree, and the page's path below it with its query and fragment."""
    try:
        parts = urlsplit(page)
        host = parts.hostname or ""
    except ValueError:
        return Refused(f"{page!r} is no address.")
    if host not in _HERE or parts.scheme not in ("", "http", "https", "file"):
        return Refused(f"{shown(page)} is elsewhere; only pages of the repository's own site are opened.")
    above, wanted = root.strip("/"), parts.path.strip("/")
    if above and not snapshot.is_folder(above):
        return Refused(f"There is no folder {shown(above)} at the base commit.")
    for base in dict.fromkeys((above, "")):
        for name in (wanted, f"{wanted}/index.html".lstrip("/")):
            path = f"{base}/{name}".strip("/")
            entry = snapshot.entry(path)
            if entry is not None and entry.kind == "file" and _PAGE.search(path):
                site = above if above and path.startswith(f"{above}/") else _site_of(snapshot, path)
                rest = "".join((f"?{parts.query}" * bool(parts.query), f"#{parts.fragment}" * bool(parts.fragment)))
                return site, path[len(site) :].lstrip("/") + rest
    return Refused(f"There is no HTML file {shown(wanted)} at the base commit; pages that a build makes are not here.")


def _site_of(snapshot: Snapshot, path: str) -> str:
    folders = path.split("/")[:-1]
    ways = ["/".join(folders[:depth]) for depth in range(len(folders) + 1)]
    return next((way for way in ways if snapshot.entry(f"{way}/index.html".lstrip("/")) is not None), ways[-1])


def _told(visit: Visit, root: str, target: str, picture: str) -> str:
    parts = [f"Opened {shown(target)} of the site in {shown(root) if root else 'the top folder'}."]
    if not visit.finished:
        parts.append("It did not come to rest: Chromium had to be ended, and this is how far it came.")
    uncaught = [one for one in visit.messages if one.is_uncaught]
    others = [one for one in visit.messages if not one.is_uncaught]
    parts.append(_listed("Uncaught errors", uncaught, 0))
    parts.append(_listed("Console", others, visit.left_out[0]))
    parts.append(_requests(visit))
    parts.append(f"Outline of the page at the end:\n{outline(visit.html, OUTLINE_CHARACTERS) or '(nothing to read)'}")
    parts.append(f"A picture of it is kept as {picture[:12]}." if picture else "There is no picture of it.")
    return "\n\n".join(parts)


def _listed(title: str, messages: list[Message], left_out: int) -> str:
    if not messages:
        return f"{title}: none."
    lines = [f"- {' '.join(one.text.split())[:MESSAGE_CHARACTERS]} ({one.source}:{one.line})" for one in messages]
    more = len(lines) - MOST_MESSAGES + left_out
    return "\n".join([f"{title}:", *lines[:MOST_MESSAGES], *([f"- and {more:,} more"] if more > 0 else [])])


def _requests(visit: Visit) -> str:
    """The site's own requests that failed, and those that lead elsewhere, where nothing can answer here."""
    own = [one for one in visit.requests if one.url.startswith("/")]
    elsewhere = [one for one in visit.requests if not one.url.startswith("/")]
    failed = [one for one in own if one.failed or one.status >= 400]
    lines = [f"- {_request(one)}" for one in failed[:MOST_MESSAGES]]
    more = len(failed) - len(lines) + visit.left_out[1]
    lines += [f"- and {more:,} more"] if more > 0 else []
    head = f"Requests to the site: {len(own) - len(failed)} went well, {len(failed)} failed" + (":" if failed else ".")
    out = [head, *lines]
    if elsewhere:
        named = ", ".join(dict.fromkeys(one.url[:120] for one in elsewhere[:MOST_MESSAGES]))
        out.append(f"Elsewhere, where there is no network from here: {named}")
    return "\n".join(out)


def _request(one: Fetched) -> str:
    return f"{one.method} {one.url[:300]} → {one.failed or one.status}"


def _har(requests: tuple[Fetched, ...]) -> str:
    """As browsers export it, for the shelf: whoever reopens it reads it by the same rules as any other."""
    entries = [
        {
            "request": {"method": one.method, "url": one.url},
            "response": {"status": one.status, "statusText": "", "_error": one.failed},
        }
        for one in requests
    ]
    return json.dumps({"log": {"entries": entries}}, indent=1)


def _whole(visit: Visit) -> str:
    """Everything but the picture."""
    lines = [f"{one.source}:{one.line}: {one.text}" for one in visit.messages]
    return "\n".join(["Console:", *lines, "", "Requests:", _har(visit.requests), "", "Page:", visit.html])
