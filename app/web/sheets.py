"""How values become pages: the templates, what they may do with a value, and the headers of every page.

Whatever a template writes is escaped, and characters that nobody would see are written out by their number.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import jinja2
from fastapi.responses import HTMLResponse, PlainTextResponse
from pydantic import BaseModel

from app.core.issue import GHOST, Person
from app.core.plan import made_visible
from app.shown.happenings import meaning
from app.web.statics import Statics

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}

_SUSPECT = re.compile(r"[^\n\t\x20-\x7e]")


class Sheets:
    """The templates, ready to be filled in."""

    def __init__(self, statics: Statics, github: str, more: Iterable[tuple[str, str]] = ()) -> None:
        """`more`: paths and words of pages beside the lists, for the head of each page."""
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("app.web"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            finalize=_seen,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters.update(FILTERS)
        self._templates.globals.update(static=statics.address, github=github, more=tuple(more))

    def page(self, name: str, status: int = 200, /, **values: Any) -> HTMLResponse:
        """The template with these values, as of now."""
        content = self._templates.get_template(name).render(values, now=datetime.now(UTC))
        return HTMLResponse(content, status_code=status, headers=HEADERS)

    def note(self, title: str, words: str, status: int) -> HTMLResponse:
        """A page that says one thing, such as that there is nothing here."""
        return self.page("note.html", status, title=title, words=words)


def plain(words: str, status: int) -> PlainTextResponse:
    """One sentence as text, where no page can be made."""
    return PlainTextResponse(f"{words}\n", status_code=status, headers=HEADERS)


def _seen(value: Any) -> Any:
    """Of other people's text, everything is seen: what is invisible or turns the text around stands by its number."""
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return made_visible(value) if is_text and _SUSPECT.search(value) else value


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _ago(at: datetime, now: datetime) -> str:
    """How long ago, or until when, in the largest unit that fits."""
    seconds = (now - at).total_seconds()
    told = _lasting(timedelta(seconds=abs(seconds)))
    return f"{told} ago" if seconds >= 0 else f"in {told}"


def _lasting(time: timedelta | float) -> str:
    seconds = time.total_seconds() if isinstance(time, timedelta) else time
    for size, word in ((86_400 * 2, "d"), (3_600 * 2, "h"), (60 * 2, "min")):
        if seconds >= size:
            unit = {"d": 86_400, "h": 3_600, "min": 60}[word]
            return f"{seconds / unit:.0f} {word}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def _words(name: str) -> str:
    return str(name).replace("_", " ")


def _whole(value: BaseModel) -> str:
    return json.dumps(value.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False)


def _person(person: Person | None) -> str:
    return person.login if person else GHOST


def _dollars(usd: Decimal) -> str:
    return f"${usd.quantize(Decimal('0.01'))}" if usd >= 10 else f"${usd.quantize(Decimal('0.0001'))}"


def _link(url: str) -> str:
    """Only web addresses become links."""
    return url if url.startswith(("https://", "http://")) else ""


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.0f} %"


def _with(path: str, values: Mapping[str, Any]) -> str:
    """The address with those of the values that are set."""
    given = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in values.items() if value)
    return f"{path}?{given}" if given else path


FILTERS: dict[str, Callable[..., str]] = {
    "moment": _moment,
    "ago": _ago,
    "lasting": _lasting,
    "words": _words,
    "meaning": meaning,
    "whole": _whole,
    "person": _person,
    "dollars": _dollars,
    "link": _link,
    "percent": _percent,
    "given": _with,
    "address": lambda text: quote(text, safe="/"),
    "number": lambda number: f"{number:,}",
    "iso": lambda at: at.astimezone(UTC).isoformat(timespec="seconds"),
}
