"""What the planner saw and held to be so: its case files, as they were kept at the ends of its investigations."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.core.facts import InputNeeded, PlanDrafted
from app.ledger.outcomes import RunView
from app.ledger.store import Ledger
from app.shown.works import read_kept


class _Kept(BaseModel):
    """Read for showing: what a newer planner adds is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class Observed(_Kept):
    """The distilled result of one tool call; `reference` leads to its full output."""

    number: int
    tool: str
    asked: str
    text: str
    reference: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    path: str = ""
    start: int = 0
    end: int = 0
    kept: bool = False


class Held(_Kept):
    """A hypothesis, with the numbers of the observations for and against it."""

    id: str
    says: str
    standing: str
    speaks_for: Annotated[tuple[int, ...], Field(alias="for")] = ()
    speaks_against: Annotated[tuple[int, ...], Field(alias="against")] = ()


class Asked(_Kept):
    """What was not known; settled once `settled` says how."""

    id: str
    asks: str
    settled: str = ""


class Decided(_Kept):
    """What was decided, and why."""

    id: str
    says: str
    because: str


class Notes(_Kept):
    """The planner's notes."""

    hypotheses: tuple[Held, ...] = ()
    questions: tuple[Asked, ...] = ()
    decisions: tuple[Decided, ...] = ()


class Case(_Kept):
    """A case file."""

    commit: str = ""
    notes: Notes = Notes()
    observations: tuple[Observed, ...] = ()


@dataclass(frozen=True, slots=True)
class Investigation:
    """One investigation, by the version of the plan to which it led. Without `case` there is only `trouble`."""

    version: int
    case: Case | None
    trouble: str = ""


def investigations(ledger: Ledger, view: RunView) -> list[Investigation]:
    """The investigations that left a case file, newest first; one that was taken over unchanged is told once."""
    found: list[Investigation] = []
    told: set[str] = set()
    for each in reversed(view.facts):
        fact = each.fact
        if isinstance(fact, PlanDrafted | InputNeeded) and fact.case_ref and fact.case_ref not in told:
            told.add(fact.case_ref)
            case, trouble = read_kept(ledger, fact.case_ref, Case)
            found.append(Investigation(fact.version, case, trouble))
    return found
