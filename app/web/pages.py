"""The pages, for people and for machines that watch: read-only, told from the ledger alone."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import PlainTextResponse

from app.core.redact import redact
from app.doctor import finding as doctor
from app.ledger.errors import LedgerError, LedgerNewer
from app.ledger.store import Ledger
from app.shown.glances import Glances
from app.shown.scores import Remembered
from app.web.entering import add_entering
from app.web.examining import Examinations, add_doctor
from app.web.live import PACE, Pace, Pulse
from app.web.looking import Looking, add_pages
from app.web.sheets import Sheets, plain
from app.web.statics import Statics
from app.web.viewers import Viewers, Watchers
from app.web.watching import Readiness


@dataclass(frozen=True, slots=True)
class Told:
    """What the pages are told from."""

    ledger: Ledger
    viewers: Viewers
    watchers: Watchers
    readiness: Readiness
    counted: Callable[[], str]
    """The numbers, in Prometheus' text format."""
    data: Path
    """The data folder, where one-time links are."""
    examine: Callable[[], Iterable[doctor.Told]]
    """The doctor's findings, as this process can make them."""
    github: str = "https://github.com"
    """Where repositories are read by people."""
    pace: Pace = PACE


def make_pages(told: Told) -> FastAPI:
    """Every route but the receiver's."""
    pages = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    statics = Statics()
    sheets = Sheets(statics, told.github, _more(told.viewers))
    _add_for_machines(pages, told)
    statics.add_to(pages)
    add_entering(pages, told.viewers, told.data, sheets)
    add_doctor(pages, told.viewers, sheets, Examinations(told.examine))
    add_pages(
        pages,
        Looking(
            ledger=told.ledger,
            viewers=told.viewers,
            sheets=sheets,
            glances=Glances(told.ledger),
            scores=Remembered(told.ledger),
            pulse=Pulse(told.ledger, told.pace),
        ),
    )

    @pages.exception_handler(LedgerError)
    async def no_ledger(_request: Request, trouble: Exception) -> Response:
        return plain(redact(str(trouble)), 503)

    @pages.exception_handler(LedgerNewer)
    async def left_to_newer(_request: Request, _trouble: Exception) -> Response:
        words = "A newer version went on with this run: it is not shown here, but by a process of that version."
        return plain(words, 503)

    @pages.exception_handler(404)
    async def nowhere(_request: Request, _trouble: Exception) -> Response:
        return sheets.note("Nothing here", "There is no page at this address.", 404)

    return pages


def _more(viewers: Viewers) -> Iterator[tuple[str, str]]:
    if viewers.all_see_all:
        yield "/doctor", "Doctor"
    if viewers.begin_sessions:
        yield "/you", "You"


def _add_for_machines(pages: FastAPI, told: Told) -> None:
    @pages.get("/healthz")
    async def health() -> PlainTextResponse:
        return PlainTextResponse("ok\n")

    @pages.get("/readyz")
    async def ready() -> PlainTextResponse:
        # Not in the threads of the pages: those may all be waiting for the ledger.
        standing = await asyncio.to_thread(told.readiness.now)
        return PlainTextResponse(standing.words, status_code=standing.status)

    @pages.get("/metrics", dependencies=[Depends(told.watchers.admit)])
    def metrics() -> PlainTextResponse:
        return PlainTextResponse(told.counted(), media_type="text/plain; version=0.0.4; charset=utf-8")
