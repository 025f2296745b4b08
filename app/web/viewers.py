"""Who may see the pages: they show issues and plans, which may be private, and the receiver is often public.

One of three ways, as the settings say. People **sign in** through the App's own GitHub OAuth, and see the runs of
repositories where GitHub, asked now, says they may. A **password** shows everything to who knows it. Otherwise the
pages are for **who sits at this machine**, who comes in by a one-time link.
"""

import base64
import binascii
import hmac
import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fastapi import Request

from app.web.sessions import Seal, Session
from app.web.signing_in import NotAsked, TokenOver

if TYPE_CHECKING:
    from app.web.github_sign_in import GitHubSignIn

FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
ASK_PASSWORD = {"www-authenticate": 'Basic realm="Countersign", charset="UTF-8"'}
COME_IN = "These pages are for who sits at this machine. Type `countersign link` there, and open what it prints."
ELSEWHERE = (
    "The pages are shown on this machine only. To open them to others, let people sign in with GitHub (set "
    "COUNTERSIGN_URL and the App's client id and secret) or set COUNTERSIGN_PAGES_PASSWORD."
)


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


class NotAdmitted(Exception):
    """Why somebody is not shown a page, in a sentence for them; `way_in` is a path that may help."""

    def __init__(self, status: int, sentence: str, way_in: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.way_in = way_in
        self.headers = headers or {}


@dataclass(frozen=True, slots=True)
class Viewers:
    """The way in that this process was set up with."""

    seal: Seal
    github: "GitHubSignIn | None" = None
    password: bytes | None = None

    @property
    def begin_sessions(self) -> bool:
        """Whether somebody who came in stays, and can leave; a password is sent with each request instead."""
        return self.github is not None or self.password is None

    @property
    def all_see_all(self) -> bool:
        """Whether whoever was let in sees everything of this installation."""
        return self.github is None

    def admit(self, request: Request) -> Viewer:
        """Who asks, as a route's dependency; which repositories they may see is at most a minute old. Raises
        `NotAdmitted` for who may not see the pages: nothing is shown where GitHub cannot be asked."""
        if self.github is not None:
            return self._asked(self.github, request)
        if self.password is not None:
            if not hmac.compare_digest(_given(request), self.password):
                raise NotAdmitted(401, "The pages ask for the password; any user name will do.", headers=ASK_PASSWORD)
            return EVERYTHING
        require_here(request)
        if self.seal.session(request) is None:
            raise NotAdmitted(401, COME_IN)
        return EVERYTHING

    def check_form(self, request: Request, form_word: str) -> Session:
        """The session of who sends a form that one of our own pages showed to them (no page of another site can send
        it: it lacks the word). Raises `NotAdmitted` otherwise."""
        session = self.seal.session(request)
        elsewhere = request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        if session is None or elsewhere or not hmac.compare_digest(session.form.encode(), form_word.encode()):
            raise NotAdmitted(403, "This form was not sent from a page of yours here. Open the page again.")
        return session

    def _asked(self, github: "GitHubSignIn", request: Request) -> Viewer:
        session = self.seal.session(request)
        if session is None or not session.token:
            raise NotAdmitted(401, "Sign in with GitHub to see the runs of your repositories.", "/sign-in")
        try:
            seen = github.repositories(session.token)
        except TokenOver:
            raise NotAdmitted(401, "GitHub has ended this sign-in. Sign in again.", "/sign-in") from None
        except NotAsked as problem:
            raise NotAdmitted(503, f"{problem} Nothing is shown that GitHub did not allow just now.") from None
        if not seen:
            sentence = f"{session.name} has no access to any repository where this App is installed."
            raise NotAdmitted(403, sentence, "/you")
        return Viewer(session.name, seen)


@dataclass(frozen=True, slots=True)
class Watchers:
    """Who may read the numbers: who sits at this machine, and with a token who knows it, from anywhere."""

    token: bytes | None

    def admit(self, request: Request) -> None:
        """Raises a 401 or 403 with a sentence for who may not."""
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        bearer = value.strip().encode() if scheme.lower() == "bearer" else b""
        if self.token is not None and bearer and hmac.compare_digest(bearer, self.token):
            return
        if self.token is not None and bearer:
            raise NotAdmitted(401, "This is not the token for the numbers.", headers={"www-authenticate": "Bearer"})
        require_here(request)


def _given(request: Request) -> bytes:
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return b""
    try:
        return base64.b64decode(value, validate=True).partition(b":")[2]
    except binascii.Error:
        return b""


def require_here(request: Request) -> None:
    """Returns for who asks by this machine's own name, from this machine, and not through a proxy that says so; raises
    `NotAdmitted` for others."""
    try:
        host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
        named_here = host == "localhost" or ipaddress.ip_address(host).is_loopback
        here = named_here and request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        here = False
    if not here or any(name in request.headers for name in FORWARDED):
        raise NotAdmitted(403, ELSEWHERE)
