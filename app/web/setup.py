"""`/setup`: the App manifest flow, for the one who holds the printed one-time secret, until an App is registered.

Guarded four times: the secret lets one browser in and is then used up; that browser is known by a cookie; forms carry
a word of its own; and what GitHub sends back must carry the state that was sent there, within its hour. All of it is on
disk, so that a set-up that broke off goes on: an address that GitHub led to can be opened again.
"""

import hashlib
import hmac
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import BackgroundTasks, Depends, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse

from app.core.asked import NAME, WHY_EVENT, WHY_PERMISSION, Addresses, api_of, form_address, manifest
from app.core.belts import app_permissions
from app.registration import HOUR, expected, is_registered, note, pending
from app.settings import web_address
from app.web.entering import form_of
from app.web.handing import AppMade, NotMade
from app.web.pace import Pace
from app.web.sheets import Sheets
from app.web.signing_in import new_secret
from app.web.statics import Statics
from app.web.viewers import NotAdmitted

COOKIE = "countersign-setup"
NOWHERE = "https://countersign.invalid"
"""Where deliveries are sent that nobody can receive: a name that never exists (RFC 6761), so that no stranger gets
them. GitHub keeps them in the App's delivery log, from which the mint fetches them."""


@dataclass(frozen=True, slots=True)
class SettingUp:
    """One set-up. `address` is where the browser finds us; `public` where GitHub does, empty where it cannot."""

    data: Path
    address: str
    public: str
    fixed_api: str
    hand_over: Callable[[str, str, str], AppMade | NotMade]
    over: Callable[[], None]
    clock: Callable[[], float] = time.time

    @property
    def addresses(self) -> Addresses:
        """What the App is told of us."""
        return Addresses(
            self.public or "https://example.com/countersign",
            f"{self.public or NOWHERE}/webhooks/github",
            f"{self.address}/setup/back",
            f"{self.address}/sign-in/back",
        )


def make_setup(told: SettingUp) -> FastAPI:
    """The only pages that are served while nothing is set up."""
    pages = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    statics = Statics()
    sheets = Sheets(statics, "")
    statics.add_to(pages)

    def page(template: str, status: int = 200, goes_to: str = "", **values: object) -> HTMLResponse:
        answer = sheets.page(template, status, **values)
        # Browsers hold a form to this also where it is led on to: the manifest goes to GitHub.
        policy = answer.headers["content-security-policy"]
        answer.headers["content-security-policy"] = policy.replace("form-action 'self'", f"form-action 'self'{goes_to}")
        return answer

    @pages.exception_handler(NotAdmitted)
    async def refused(_request: Request, refusal: Exception) -> Response:
        assert isinstance(refusal, NotAdmitted)
        return page("refused.html", refusal.status, sentence=str(refusal), way_in="")

    @pages.get("/healthz")
    async def health() -> PlainTextResponse:
        return PlainTextResponse("ok\n")

    _add_beginning(pages, told, page)
    _add_back(pages, told, page)
    return pages


def _add_beginning(pages: FastAPI, told: SettingUp, page: Callable[..., Response]) -> None:
    pace = Pace()

    @pages.get("/setup", dependencies=[Depends(pace.count)])
    def begin(request: Request, key: str = "") -> Response:
        _still_open(told)
        if key:
            return _let_in(told, key)
        visitor = _visitor(told, request)
        return page(
            "setup.html", word=_word(visitor), name=NAME, hook=told.addresses.hook, pulled=not told.public,
            fixed=web_address(told.fixed_api) if told.fixed_api else "",
            permissions=[(name, level, WHY_PERMISSION[name]) for name, level in sorted(app_permissions().items())],
            events=list(WHY_EVENT.items()),
        )  # fmt: skip

    @pages.post("/setup")
    async def send(request: Request) -> Response:
        _still_open(told)
        visitor, form = _visitor(told, request), await form_of(request)
        if not hmac.compare_digest(_word(visitor).encode(), form.get("form", "").encode()):
            raise NotAdmitted(403, "This form was not sent from the set-up page. Open the page again.")
        api = told.fixed_api or api_of(form.get("host", "") or "github.com")
        state, web = new_secret(), web_address(api or "")
        try:
            asked = manifest(form.get("name", NAME).strip(), told.addresses)
            action = form_address(web, form.get("organisation", "").strip(), state)
        except ValueError as wrong:
            raise NotAdmitted(422, f"This cannot be sent: {wrong}. Go back and change it.") from None
        if api is None:
            raise NotAdmitted(422, "That is no host name of a GitHub. Go back and change it.")
        note(told.data, pending(told.data), state=state, began=told.clock(), api_url=api)
        return page("setup_send.html", goes_to=f" {web}", action=action, web=web, manifest=json.dumps(asked))


def _add_back(pages: FastAPI, told: SettingUp, page: Callable[..., Response]) -> None:
    @pages.get("/setup/back")
    def back(request: Request, after: BackgroundTasks, code: str = "", state: str = "") -> Response:
        _still_open(told)
        _visitor(told, request)
        now = expected(told.data, state, told.clock())
        if now is None or not code:
            sentence = "This is not the answer to what was sent from here within the last hour. Begin again."
            raise NotAdmitted(403, sentence)
        made = told.hand_over(code, now.api_url, "public" if told.public else "pulled")
        if isinstance(made, NotMade):
            if not made.again:
                note(told.data, pending(told.data), state="")
            raise NotAdmitted(502, made.sentence)
        after.add_task(told.over)
        answer = page("setup_done.html", made=made, pulled=not told.public, install=f"{made.page}/installations/new")
        answer.background = after
        answer.delete_cookie(COOKIE, path="/setup")
        return answer


def _still_open(told: SettingUp) -> None:
    if is_registered(told.data):
        raise NotAdmitted(410, "An App is set up here, and set-up is closed for good.")


def _let_in(told: SettingUp, key: str) -> Response:
    now = pending(told.data)
    if not now.key_sha256 or not hmac.compare_digest(now.key_sha256, _sha(key)):
        raise NotAdmitted(403, "This is not the secret that was printed last, or it was used already.")
    visitor = new_secret()
    note(told.data, now, key_sha256="", visitor_sha256=_sha(visitor))
    answer = RedirectResponse("/setup", 303)
    secure = urlsplit(told.address).scheme == "https"
    answer.set_cookie(COOKIE, visitor, int(2 * HOUR), path="/setup", secure=secure, httponly=True, samesite="lax")
    return answer


def _visitor(told: SettingUp, request: Request) -> str:
    """The browser that used the printed secret."""
    given, known = request.cookies.get(COOKIE, ""), pending(told.data).visitor_sha256
    if not known or not hmac.compare_digest(known, _sha(given)):
        raise NotAdmitted(403, "Set-up is for who has the secret that was printed. Open the whole printed link.")
    return given


def _word(visitor: str) -> str:
    """What a form of this browser's carries."""
    return _sha(f"form {visitor}")


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
