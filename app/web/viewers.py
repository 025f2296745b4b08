"""Who may see the pages: they show issues and plans, which may be private, and the receiver is often public."""

import base64
import binascii
import hmac
import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from fastapi import HTTPException, Request

FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody who was let in, and which repositories they may see now, by id: None is every one of this ledger.

    Whatever a page shows of a run is asked for here first; a run that may not be seen is answered as one that is not
    there.
    """

    name: str = ""
    repositories: frozenset[int] | None = None

    def sees(self, repository_id: int) -> bool:
        """Whether runs of this repository may be shown."""
        return self.repositories is None or repository_id in self.repositories


EVERYTHING = Viewer()


@dataclass(frozen=True, slots=True)
class Viewers:
    """With a password, who knows it, from anywhere; without one, who sits at this machine."""

    password: bytes | None

    def admit(self, request: Request) -> Viewer:
        """Who asks, as a route's dependency. Raises a 401 or 403 with a sentence for who may not see the pages."""
        if self.password is not None:
            if not hmac.compare_digest(_given(request), self.password):
                ask = {"www-authenticate": 'Basic realm="Countersign", charset="UTF-8"'}
                raise HTTPException(401, "The pages ask for the password; any user name will do.", ask)
        elif not _from_here(request):
            raise HTTPException(
                403, "The pages are shown on this machine only. Set COUNTERSIGN_PAGES_PASSWORD to open them."
            )
        return EVERYTHING


def _given(request: Request) -> bytes:
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return b""
    try:
        return base64.b64decode(value, validate=True).partition(b":")[2]
    except binascii.Error:
        return b""


def _from_here(request: Request) -> bool:
    """Asked for by this machine's own name, from this machine, and not handed on by a proxy that says so."""
    if request.client is None or any(name in request.headers for name in FORWARDED):
        return False
    try:
        host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
        named_here = host == "localhost" or ipaddress.ip_address(host).is_loopback
        return named_here and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
