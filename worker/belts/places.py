"""The places to look at first: a ranking that no model made, as a hint on the planner's page."""

from app.core.paths import shown
from app.core.span import SpanKind
from worker.belts.reading_up import ReadUp
from worker.evidence.trace import Trace
from worker.evidence.untrusted import fence
from worker.repo.ranking.gather import code_files
from worker.repo.ranking.issue import IssueText
from worker.repo.ranking.narrowing import USUAL
from worker.repo.ranking.ranking import Ranked, rank
from worker.repo.ranking.store import IndexCache
from worker.repo.snapshot import Snapshot

SHOWN = 10
HEAD = "# Places to look first"


def places(read: ReadUp, snapshot: Snapshot, index: IndexCache, trace: Trace) -> str:
    """Ten paths with a reason each, or why there are none. Nothing that goes wrong here ends a planning."""
    try:
        with trace.noting(SpanKind.TOOL, "rank") as noted:
            ranked = rank(IssueText(read.title, read.body), snapshot, index, SHOWN)
            files = len(code_files(snapshot))
            noted.detail = f"{len(ranked)} of {files:,} source files"
    # A hint is no reason to plan nothing, whatever went wrong with it; its span names the error.
    except Exception as error:
        return f"{HEAD}\n\nNone: the ranking ended with {type(error).__name__}. Search for yourself."
    if not ranked:
        return f"{HEAD}\n\nNone: there is no source file that a ranking knows. Search for yourself."
    few = f" Of {files:,} source files only the likeliest {USUAL.files:,} were compared." * (files > USUAL.files)
    lead = f"Found without a model, by comparing the issue with the source files and their history: a hint.{few}"
    return f"{HEAD}\n\n{lead}\n{fence('ranking', chr(10).join(map(_line, ranked)))}"


def _line(place: Ranked) -> str:
    symbols = f" [{', '.join(place.symbols)}]" if place.symbols else ""
    return f"- {shown(place.path)}: {place.reason}{symbols}"
