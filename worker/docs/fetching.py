"""One page over https: every address checked, redirects too; bounded in bytes, seconds and redirects."""

import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import httpcore
import httpx

from app.core.documentation import DocsReach
from app.core.verdict import Refused
from worker.docs.network import AddressRefused, CheckedNetwork, LookUp, Through, addresses_of
from worker.docs.page import Address, Page, address_of
from worker.docs.text import page_of_html, page_of_text

MOST_BYTES = 3_000_000
MOST_SECONDS = 20.0
MOST_REDIRECTS = 4
_ASKED: Mapping[bytes | str, bytes | str] = {
    "User-Agent": "countersign",
    "Accept": "text/html, text/markdown, text/plain;q=0.9",
    "Accept-Encoding": "identity",
}
_PAGES = ("text/html", "application/xhtml+xml")
_TEXTS = ("text/plain", "text/markdown", "text/x-markdown", "text/x-rst")


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a host answered: the headers by lower-case name, and the body, which is empty unless it was asked for."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Documentation:
    """The pages within the reach. `authorities` is a PEM file of certificate authorities to trust beside the usual."""

    reach: DocsReach
    authorities: Path | None = None
    look_up: LookUp = field(default=addresses_of)
    seconds: float = MOST_SECONDS
    through: tuple[str, int] | None = None
    """The installation's own way out, which looks up names and checks addresses in place of this process."""

    def read(self, url: str) -> Page | Refused:
        """The page at an address, or why it is not read."""
        address = address_of(url, self.reach)
        deadline = time.monotonic() + self.seconds
        for _ in range(MOST_REDIRECTS + 1):
            if isinstance(address, Refused):
                return address
            answer = self._answer(address, deadline)
            if isinstance(answer, Refused):
                return answer
            if answer.status not in (301, 302, 303, 307, 308):
                return self._page(address, answer)
            part = address.part
            address = _followed(answer.headers.get("location", ""), self.reach, address)
            if isinstance(address, Address) and not address.part:
                address = Address(address.host, address.port, address.target, part)
        return Refused(f"The page redirects more than {MOST_REDIRECTS} times.")

    def _answer(self, address: Address, deadline: float) -> _Answer | Refused:
        url = httpcore.URL(
            scheme=b"https", host=address.host.encode(), port=address.port, target=address.target.encode()
        )
        try:
            with (
                self._connections(deadline) as pool,
                pool.stream("GET", url, headers=_ASKED) as response,
            ):
                headers = {name.decode().lower(): value.decode("latin-1") for name, value in response.headers}
                if response.status != 200:
                    return _Answer(response.status, headers)
                return _Answer(200, headers, _bounded(response))
        except httpcore.ProxyError:
            return Refused(f"{address.host} is not connected to: the way out does not lead there.")
        except AddressRefused as refused:
            return Refused(f"{address.host} is not connected to: {refused}")
        except httpcore.TimeoutException:
            return Refused(f"{address.host} did not answer within {self.seconds:g} seconds.")
        except (httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError) as error:
            return Refused(f"{address.host} could not be read: {_reason(error)}.")

    def _connections(self, deadline: float) -> httpcore.ConnectionPool:
        if self.through is None:
            network = CheckedNetwork(self.reach, self.look_up, deadline)
            return httpcore.ConnectionPool(ssl_context=self._certificates, network_backend=network)
        proxy = httpcore.URL(scheme=b"http", host=self.through[0].encode(), port=self.through[1], target=b"/")
        return httpcore.HTTPProxy(
            proxy, ssl_context=self._certificates, network_backend=Through(self.through, deadline)
        )

    def _page(self, address: Address, answer: _Answer) -> Page | Refused:
        if answer.status != 200:
            return Refused(f"{address} was answered with status {answer.status}.")
        kind, _, more = answer.headers.get("content-type", "").partition(";")
        kind = kind.strip().lower()
        if kind not in (*_PAGES, *_TEXTS):
            kind = kind[:80] or "of an unknown kind"
            return Refused(f"{address} is {kind}, and only pages and plain texts are read.")
        if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
            return Refused(f"{address} came compressed although that was not asked for.")
        if len(answer.body) > MOST_BYTES:
            return Refused(f"{address} has more than {MOST_BYTES:,} bytes.")
        charset = _charset(more)
        if kind in _PAGES:
            return page_of_html(address, self.reach, answer.body, charset)
        return page_of_text(address, answer.body, charset, kind)

    @cached_property
    def _certificates(self) -> ssl.SSLContext:
        context = httpx.create_ssl_context()
        if self.authorities is not None:
            context.load_verify_locations(self.authorities)
        return context


def _followed(location: str, reach: DocsReach, base: Address) -> Address | Refused:
    followed = address_of(location, reach, base)
    if isinstance(followed, Refused):
        return Refused(f"{base} redirects to where nothing is read: {followed.reason}", followed.remedy)
    return followed


def _bounded(response: httpcore.Response) -> bytes:
    """The body, or a little more of it than is allowed."""
    body = bytearray()
    for chunk in response.iter_stream():
        body += chunk
        if len(body) > MOST_BYTES:
            break
    return bytes(body)


def _charset(parameters: str) -> str | None:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip(" \"'") or None
    return None


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
