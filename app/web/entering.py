"""Coming in and going out: one-time links, signing in with GitHub, signing out; and the page for who is refused."""

import asyncio
import hmac
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from app.web.links import take_link
from app.web.pace import Pace
from app.web.sheets import Sheets
from app.web.signing_in import NotAsked, new_secret
from app.web.viewers import NotAdmitted, Viewers, require_here

if TYPE_CHECKING:
    from app.web.github_sign_in import GitHubSignIn

MINUTES = 600
"""Seconds that signing in at GitHub may take."""
LONGEST_FORM = 10_000


def add_entering(pages: FastAPI, viewers: Viewers, data: Path, sheets: Sheets) -> None:
    """The routes of whichever way in there is; who is refused anywhere gets a page that says why."""

    @pages.exception_handler(NotAdmitted)
    async def refused(_request: Request, refusal: Exception) -> Response:
        assert isinstance(refusal, NotAdmitted)
        answer = sheets.page("refused.html", refusal.status, sentence=str(refusal), way_in=refusal.way_in)
        answer.headers.update(refusal.headers)
        return answer

    @pages.get("/setup")
    @pages.get("/setup/back")
    def closed() -> Response:
        raise NotAdmitted(410, "An App is set up here, and set-up is closed for good.")

    pace = Pace()
    if viewers.github is not None:
        _add_github(pages, viewers, viewers.github, pace)
    elif viewers.password is None:
        _add_link(pages, viewers, data, pace)
    if viewers.begin_sessions:
        _add_leaving(pages, viewers, sheets)


def _add_link(pages: FastAPI, viewers: Viewers, data: Path, pace: Pace) -> None:
    @pages.get("/enter", dependencies=[Depends(pace.count)])
    def enter(request: Request, key: str = "") -> Response:
        require_here(request)
        if not take_link(data, key):
            sentence = "This link was used already, is older than ten minutes, or was never printed here."
            raise NotAdmitted(403, f"{sentence} Type `countersign link` for a new one.")
        answer = RedirectResponse("/runs", 303)
        viewers.seal.begin(answer, "who sits at this machine")
        return answer


def _add_github(pages: FastAPI, viewers: Viewers, github: "GitHubSignIn", pace: Pace) -> None:
    seal = viewers.seal
    under_way = f"{seal.cookie}-sign-in"

    @pages.get("/sign-in", dependencies=[Depends(pace.count)])
    def begin() -> Response:
        state, verifier = new_secret(), new_secret()
        answer = RedirectResponse(github.address(state, verifier), 303)
        seal.put(answer, under_way, {"state": state, "verifier": verifier}, MINUTES)
        return answer

    @pages.get("/sign-in/back", dependencies=[Depends(pace.count)])
    def back(request: Request, code: str = "", state: str = "", error: str = "") -> Response:
        begun = seal.opened(request, under_way, MINUTES) or {}
        if not state or not hmac.compare_digest(str(begun.get("state", "")).encode(), state.encode()):
            sentence = "This sign-in was not begun in this browser, or more than ten minutes ago."
            raise NotAdmitted(403, sentence, "/sign-in")
        if error or not code:
            raise NotAdmitted(403, "You did not let the App know who you are, so nothing is shown.", "/sign-in")
        try:
            person = github.redeem(code, str(begun["verifier"]))
        except NotAsked as problem:
            raise NotAdmitted(403, str(problem), "/sign-in") from None
        answer = RedirectResponse("/runs", 303)
        seal.end(answer, under_way)
        seal.begin(answer, person.login, person.token, person.seconds)
        return answer


def _add_leaving(pages: FastAPI, viewers: Viewers, sheets: Sheets) -> None:
    @pages.get("/you")
    def you(request: Request) -> Response:
        session = viewers.seal.session(request)
        if session is None:
            raise NotAdmitted(401, "Nobody is signed in here.", "/sign-in" if viewers.github else "")
        return sheets.page("you.html", 200, session=session)

    @pages.post("/sign-out")
    async def leave(request: Request) -> Response:
        session = viewers.check_form(request, (await form_of(request)).get("form", ""))
        if viewers.github is not None and session.token:
            await asyncio.to_thread(viewers.github.forget, session.token)
        way_in = "/sign-in" if viewers.github else ""
        answer = sheets.page("refused.html", 200, sentence="You are signed out.", way_in=way_in)
        viewers.seal.end(answer)
        return answer


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, each once; nothing of one that is too long or no form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    length = request.headers.get("content-length", "")
    if kind != "application/x-www-form-urlencoded" or not length.isdigit() or int(length) > LONGEST_FORM:
        return {}
    told: dict[str, Any] = parse_qs((await request.body()).decode("utf-8", "replace"))
    return {name: values[0] for name, values in told.items() if len(values) == 1}
