"""Scores: what became of the runs of each template version."""

from decimal import Decimal
from typing import Any

from app.core import facts as f
from app.core.advance import replay
from app.core.budget import Spent
from app.core.effects import LookUpAuthority, Purpose, SourceKind
from app.core.plan import TemplatePin
from app.core.scoring import score
from app.core.verdict import Refused
from tests.fakes.facts import MIRA, START, drafted, found, labelled

OLD, NEW = TemplatePin(name="bugfix", version="1.9.0"), TemplatePin(name="bugfix", version="1.10.0")
LOOK = LookUpAuthority(key="k", purpose=Purpose.LABEL, person=MIRA, source=SourceKind.LABEL, source_id=1)
BEGUN = [labelled(), found(LOOK, START)]


def run(*facts: f.Fact) -> Any:
    told = [*BEGUN, *facts]
    state = replay(told)
    assert not isinstance(state, Refused)
    return told, state


def impossible(pin: TemplatePin | None) -> f.PlanNotPossible:
    return f.PlanNotPossible(at=START, version=1, reason="no", spent=Spent(usd=Decimal("0.75")), template=pin)


def test_runs_count_for_the_version_that_planned_them_and_versions_stand_in_order() -> None:
    older, newer = score([
        run(drafted(1, START, template=NEW)), run(impossible(NEW)), run(drafted(1, START, template=OLD)),
        run(impossible(None)), run(),
    ])  # fmt: skip
    assert (older.version, older.runs, older.planned, older.usd) == ("1.9.0", 1, 1, Decimal("0.25"))
    assert (newer.version, newer.runs, newer.planned) == ("1.10.0", 2, 1)
    assert newer.ends == {"proposed": 1, "failed": 1}
    assert newer.usd_each == Decimal("0.50")


def test_a_revision_counts_once_for_the_version_that_made_it() -> None:
    wish = LOOK.model_copy(update={"purpose": Purpose.REVISE, "source": SourceKind.COMMENT})
    revised = run(
        drafted(1, START, template=OLD), found(wish, START, plan_version=1), drafted(2, START, template=NEW)
    )
    (one,) = score([revised])
    assert (one.version, one.runs, one.revised, one.drafts) == ("1.10.0", 1, 1, 0)


def test_what_was_recorded_before_versions_were_has_no_score() -> None:
    assert score([run(drafted(1, START))]) == ()
