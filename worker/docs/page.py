"""What a page's address is, and a page that was read."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote, urljoin, urlsplit

from app.core.documentation import HTTPS_PORT, DocsReach
from app.core.verdict import Refused

MOST_CHARACTERS = 2_000
_KEPT: Final = "/%:@!$&'()*+,;=~-._?"


@dataclass(frozen=True, slots=True)
class Address:
    """An https address of a listed host: `target` is path and query as they are sent, `part` what the `#` names."""

    host: str
    port: int
    target: str
    part: str = ""

    def __str__(self) -> str:
        port = "" if self.port == HTTPS_PORT else f":{self.port}"
        return f"https://{self.host}{port}{self.target}"


@dataclass(frozen=True, slots=True)
class Page:
    """A page as plain text. `start` is the line, from 1, at which the part that was asked for begins; `links` are those
    to pages that can be read as well; `hidden` tells what a reader of the page would not have seen."""

    address: Address
    title: str
    text: str
    start: int = 1
    links: tuple[tuple[str, str], ...] = ()
    hidden: tuple[str, ...] = ()


def address_of(url: str, reach: DocsReach, base: Address | None = None) -> Address | Refused:
    """The address in `url` (relative ones against `base`), when its host is listed."""
    if len(url) > MOST_CHARACTERS or not url.isprintable() or any(sign in url for sign in " \\"):
        return Refused("This is no address of a page.")
    try:
        parts = urlsplit(urljoin(str(base), url) if base is not None else url)
        port = parts.port or HTTPS_PORT
    except ValueError:
        return Refused("This is no address of a page.")
    if parts.scheme != "https":
        return Refused("Pages are read over https only.")
    if parts.username is not None or parts.password is not None:
        return Refused("An address with a user name in it is not read.")
    host = (parts.hostname or "").lower()
    if not reach.covers(host, port):
        return Refused(f"The host {(parts.netloc or 'in it')[:120]} is not on the list.", _listed(reach))
    target = quote(parts.path or "/", safe=_KEPT) + (f"?{quote(parts.query, safe=_KEPT)}" if parts.query else "")
    return Address(host, port, target, unquote(parts.fragment))


def _listed(reach: DocsReach) -> str:
    return f"The hosts are: {', '.join(reach.hosts)}."
