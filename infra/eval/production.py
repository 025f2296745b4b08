"""The same scores for the runs of production, from their ledger."""

import json

from app.core.outcome import Outcome
from app.ledger.store import Ledger
from app.shown.scores import RunScores, scores_of
from infra.eval.report import PLANNED, WORKED, cells, table

_HEADS = ("run", "issue", "outcome", "template")


def scores(ledger: Ledger, most: int) -> list[RunScores]:
    """Those of the newest runs."""
    views = (ledger.run(one.id) for one in ledger.runs(most))
    return [scores_of(ledger, view) for view in views if view is not None]


def as_text(found: list[RunScores]) -> str:
    """A line for each run. What a right answer would be needed for is not known of any."""
    rows = [
        (one.run, f"{one.repository}#{one.issue}", _outcome(one), one.template or "–", *cells(one)) for one in found
    ]
    return "\n".join(table((*_HEADS, *PLANNED, *WORKED), rows))


def _outcome(one: RunScores) -> str:
    return f"{one.outcome}, {Outcome.CHANGED}" if one.pull is Outcome.CHANGED else one.outcome


def as_json(found: list[RunScores]) -> str:
    """All of it."""
    return json.dumps([one.model_dump(mode="json") for one in found], indent=1, ensure_ascii=False)
