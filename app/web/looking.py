"""The pages that people look at: lists of runs, one run with all that is kept of it, and the numbers."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, Query, Response
from fastapi.responses import RedirectResponse

from app.ledger.outcomes import Part, RunSummary, RunView, Sought
from app.ledger.store import Ledger
from app.shown.glances import Glances
from app.shown.happenings import happening
from app.shown.numbers import numbers_of
from app.shown.outputs import output_page
from app.shown.patches import files_of
from app.shown.scores import Remembered
from app.shown.whole import kept, whole
from app.web.charts import columns_of
from app.web.live import EVERY_RUN, EventStream, Pulse
from app.web.sheets import HEADERS, Sheets, plain
from app.web.timeline import timeline
from app.web.viewers import Viewer, Viewers

PAGE_OF_RUNS = 50
FEW_RUNS = 10
"""Of each part on the page of all parts."""
PAGE_OF_SPANS = 200
STATES = ("wanted", "needs_input", "proposed", "approved", "built", "reporting", "published", "closed")

@dataclass(frozen=True, slots=True)
class Looking:
    """What these pages are told from."""

    ledger: Ledger
    viewers: Viewers
    sheets: Sheets
    glances: Glances
    scores: Remembered
    pulse: Pulse

    def visible(self, run: str, viewer: Viewer) -> RunView | None:
        """The run; None where there is none, or none that they may see."""
        view = self.ledger.run(run)
        return view if view is not None and viewer.sees(view.state.request.repository_id) else None

    def nothing(self, what: str) -> Response:
        """The answer where there is nothing to see, for whatever reason."""
        return self.sheets.note("Nothing here", what, 404)


def add_pages(pages: FastAPI, looking: Looking) -> None:
    """Adds every page for people."""
    _add_lists(pages, looking)
    _add_run(pages, looking)
    _add_outputs(pages, looking)
    _add_live(pages, looking)
    _add_numbers(pages, looking)


def _add_lists(pages: FastAPI, looking: Looking) -> None:
    admit = Depends(looking.viewers.admit)
    ledger = looking.ledger

    @pages.get("/", dependencies=[admit])
    async def start() -> Response:
        return RedirectResponse("/runs")

    @pages.get("/runs")
    def runs(
        part: Part | None = None,
        state: Annotated[str, Query(max_length=20)] = "",
        repository: Annotated[str, Query(max_length=140)] = "",
        before: Annotated[str | None, Query(max_length=40)] = None,
        viewer: Viewer = admit,
    ) -> Response:
        known = ledger.repository_named(repository) if repository else None
        # A repository that nobody knows has no runs; no id is 0.
        sought = Sought(part, state, (known or 0) if repository else None, viewer.repositories)
        mark = ledger.newest_change()
        asked = {"part": part.value if part else "", "state": state, "repository": repository}
        names = ledger.repository_names(viewer.repositories)
        shared: dict[str, Any] = {"asked": asked, "names": names, "states": STATES, "mark": mark}
        if not any(asked.values()) and before is None:
            parts = [(one, _few(looking, Sought(part=one, within=viewer.repositories))) for one in Part]
            return looking.sheets.page("overview.html", parts=parts, few=FEW_RUNS, **shared)
        found = ledger.runs(PAGE_OF_RUNS + 1, before, sought)
        older = found[PAGE_OF_RUNS - 1].id if len(found) > PAGE_OF_RUNS else None
        lines = looking.glances.beside(found[:PAGE_OF_RUNS])
        return looking.sheets.page("runs.html", runs=lines, older=older, before=before, part=part, **shared)


def _few(looking: Looking, sought: Sought) -> list[tuple[RunSummary, object]]:
    return list(looking.glances.beside(looking.ledger.runs(FEW_RUNS + 1, sought=sought)))


def _add_run(pages: FastAPI, looking: Looking) -> None:
    admit = Depends(looking.viewers.admit)

    @pages.get("/runs/{run}")
    def one_run(run: str, spans: Annotated[int, Query(ge=1)] = 1, viewer: Viewer = admit) -> Response:
        if looking.visible(run, viewer) is None:
            return looking.nothing("There is no such run, or none that you may see.")
        mark = looking.ledger.marks([run]).get(run, ("", False))[0]
        shown = whole(looking.ledger, run)
        if shown is None:
            return looking.nothing("There is no such run, or none that you may see.")
        happened = [happening(each) for each in shown.view.facts]
        return looking.sheets.page(
            "run.html",
            shown=shown,
            run=shown.view,
            state=shown.view.state,
            happened=happened,
            timeline=timeline(happened, shown.spans),
            patches=[files_of(work.patch) for work in shown.works],
            spans=shown.spans[(spans - 1) * PAGE_OF_SPANS : spans * PAGE_OF_SPANS],
            span_page=spans,
            span_pages=-(-len(shown.spans) // PAGE_OF_SPANS),
            mark=mark,
        )


def _add_outputs(pages: FastAPI, looking: Looking) -> None:
    admit = Depends(looking.viewers.admit)

    @pages.get("/runs/{run}/kept/{reference}")
    def one_output(run: str, reference: str, viewer: Viewer = admit) -> Response:
        view = looking.visible(run, viewer)
        content = None if view is None else kept(looking.ledger, view, reference)
        if content is None:
            return plain("Nothing is kept here now.", 404)
        # As text, whatever it holds: a browser must not take output for a page.
        return Response(content, media_type="text/plain; charset=utf-8", headers=HEADERS)

    @pages.get("/runs/{run}/outputs/{reference}")
    def output_in_pages(
        run: str, reference: str, page: Annotated[int, Query(ge=1)] = 1, viewer: Viewer = admit
    ) -> Response:
        view = looking.visible(run, viewer)
        content = None if view is None else kept(looking.ledger, view, reference)
        if view is None or content is None:
            return looking.nothing("Nothing is kept here now.")
        output = output_page(content, page)
        return looking.sheets.page("output.html", run=view, reference=reference, output=output)


def _add_live(pages: FastAPI, looking: Looking) -> None:
    admit = Depends(looking.viewers.admit)

    def stream(run: str, since: str, last: str | None) -> Response:
        if looking.pulse.is_full():
            return Response("Too many look on already.\n", 503, {"retry-after": "60"}, "text/plain")
        return EventStream(looking.pulse, run, last or since)

    @pages.get("/live", dependencies=[admit])
    async def every_run(since: str = "", last_event_id: Annotated[str | None, Header()] = None) -> Response:
        return stream(EVERY_RUN, since, last_event_id)

    @pages.get("/runs/{run}/live")
    def one_run(
        run: str, since: str = "", last_event_id: Annotated[str | None, Header()] = None, viewer: Viewer = admit
    ) -> Response:
        if looking.visible(run, viewer) is None:
            return plain("There is no such run.", 404)
        return stream(run, since, last_event_id)


def _add_numbers(pages: FastAPI, looking: Looking) -> None:
    admit = Depends(looking.viewers.admit)

    @pages.get("/numbers")
    def numbers(viewer: Viewer = admit) -> Response:
        found = numbers_of(looking.ledger, looking.glances, looking.scores, Sought(within=viewer.repositories))
        cost = [(f"{one.begins:%d %b}", _float(one.usd_each), f"${one.usd_each or 0:.2f}") for one in found.weeks]
        hours = [(f"{one.begins:%d %b}", one.hours_to_approval) for one in found.weeks]
        waits = [(begins, waited, f"{waited or 0:.1f} h") for begins, waited in hours]
        scores = {
            who: columns_of([(one.template, getattr(one, who), "") for one in found.versions], 1.0)
            for who in ("planner", "executor")
        }
        return looking.sheets.page(
            "numbers.html", numbers=found, cost=columns_of(cost), waits=columns_of(waits), scores=scores
        )


def _float(value: object) -> float | None:
    return None if value is None else float(str(value))
