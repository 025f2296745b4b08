"""The pages, for people and for machines that watch: read-only, no scripts, told from the ledger alone."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import jinja2
from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from pydantic import BaseModel

from app.core.facts import AmendmentProposed, PlanDrafted
from app.core.issue import GHOST, Person
from app.core.plan import Plan
from app.ledger.errors import LedgerCorrupt, LedgerError
from app.ledger.outcomes import RunView
from app.ledger.store import Ledger
from app.web.viewers import Viewer, Viewers
from app.web.works import kept, works

PAGE_OF_RUNS = 50

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Told:
    """What the pages are told from."""

    ledger: Ledger
    viewers: Viewers
    troubles: Callable[[], list[str]]
    """Why the process could not do its work now, a sentence each; empty when it could."""
    counted: Callable[[], str]
    """The numbers, in Prometheus' text format."""


def make_pages(told: Told) -> FastAPI:
    """Every route but the receiver's."""
    pages = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("app.web"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    templates.filters.update(FILTERS)
    style = templates.get_template("style.css").render()
    _add_for_machines(pages, told)
    _add_for_people(pages, told, templates)

    @pages.get("/style.css")
    async def styled() -> Response:
        return Response(style, media_type="text/css", headers={"x-content-type-options": "nosniff"})

    return pages


def _add_for_machines(pages: FastAPI, told: Told) -> None:
    @pages.get("/healthz")
    async def health() -> PlainTextResponse:
        return PlainTextResponse("ok\n")

    @pages.get("/readyz")
    def ready() -> PlainTextResponse:
        troubles = told.troubles()
        if troubles:
            return PlainTextResponse("".join(f"{trouble}\n" for trouble in troubles), status_code=503)
        return PlainTextResponse("ready\n")

    @pages.get("/metrics")
    def metrics() -> PlainTextResponse:
        return PlainTextResponse(told.counted(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_for_people(pages: FastAPI, told: Told, templates: jinja2.Environment) -> None:
    def page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
        return HTMLResponse(templates.get_template(name).render(values), status_code=status, headers=HEADERS)

    @pages.exception_handler(LedgerError)
    async def no_ledger(_request: Request, trouble: Exception) -> Response:
        return PlainTextResponse(f"{trouble}\n", status_code=503, headers=HEADERS)

    @pages.get("/", dependencies=[Depends(told.viewers.admit)])
    async def start() -> Response:
        return RedirectResponse("/runs")

    admitted = Depends(told.viewers.admit)

    def seen(run: str, viewer: Viewer) -> RunView | None:
        view = told.ledger.run(run)
        return view if view is not None and viewer.sees(view.state.request.repository_id) else None

    @pages.get("/runs")
    def runs(before: str | None = None, viewer: Viewer = admitted) -> Response:
        found = told.ledger.runs(PAGE_OF_RUNS + 1, before, viewer.repositories)
        older = found[PAGE_OF_RUNS - 1].id if len(found) > PAGE_OF_RUNS else None
        return page("runs.html", runs=found[:PAGE_OF_RUNS], older=older, before=before)

    @pages.get("/runs/{run}")
    def one_run(run: str, viewer: Viewer = admitted) -> Response:
        view = seen(run, viewer)
        if view is None:
            return PlainTextResponse("There is no such run.\n", status_code=404, headers=HEADERS)
        return page(
            "run.html",
            run=view,
            plans=_plans(told.ledger, view),
            spans=told.ledger.spans(run),
            mints=told.ledger.mints(run),
            works=works(told.ledger, view),
        )

    @pages.get("/runs/{run}/kept/{reference}")
    def one_output(run: str, reference: str, viewer: Viewer = admitted) -> Response:
        view = seen(run, viewer)
        content = None if view is None else kept(told.ledger, view, reference)
        if content is None:
            return PlainTextResponse("Nothing is kept here now.\n", status_code=404, headers=HEADERS)
        # As text, whatever it holds: a browser must not take output for a page.
        return Response(content, media_type="text/plain; charset=utf-8", headers=HEADERS)


@dataclass(frozen=True, slots=True)
class _Drafted:
    """A plan as it was drafted. Without `plan` there is only `trouble`, a sentence."""

    fact: PlanDrafted | AmendmentProposed
    plan: Plan | None
    trouble: str = ""


def _plans(ledger: Ledger, view: RunView) -> list[_Drafted]:
    """The drafted plans, newest first. What was tampered with is not shown as a plan."""
    facts = [each.fact for each in reversed(view.facts) if isinstance(each.fact, PlanDrafted | AmendmentProposed)]
    return [_plan(ledger, fact) for fact in facts]


def _plan(ledger: Ledger, fact: PlanDrafted | AmendmentProposed) -> _Drafted:
    try:
        plan = ledger.plan_by_digest(fact.digest)
    except LedgerCorrupt as trouble:
        return _Drafted(fact, None, str(trouble))
    return _Drafted(fact, plan, "" if plan else "The ledger holds no plan with this digest.")


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _words(name: str) -> str:
    return str(name).replace("_", " ")


def _meaning(fact: BaseModel) -> str:
    """What a fact of this kind means: the first line that its class says of itself."""
    return (type(fact).__doc__ or "").partition("\n")[0]


def _whole(value: BaseModel) -> str:
    return json.dumps(value.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False)


def _person(person: Person | None) -> str:
    return person.login if person else GHOST


def _dollars(usd: Decimal) -> str:
    return f"${usd.quantize(Decimal('0.0001'))}"


def _link(url: str) -> str:
    """Only web addresses become links."""
    return url if url.startswith(("https://", "http://")) else ""


FILTERS: dict[str, Callable[..., str]] = {
    "moment": _moment,
    "words": _words,
    "meaning": _meaning,
    "whole": _whole,
    "person": _person,
    "dollars": _dollars,
    "link": _link,
}
