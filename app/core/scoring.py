"""Scoring: what became of the runs of each template version, counted from their facts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from app.core.facts import DraftOpened, Fact, InputNeeded, PlanDrafted, PlanNotPossible, SplitProposed
from app.core.run import Closed, State

_ENDS_OF_PLANNING = PlanDrafted | PlanNotPossible | SplitProposed | InputNeeded


@dataclass(slots=True)
class Score:
    """One template version. A run counts for the version by which it was planned last."""

    name: str
    version: str
    runs: int = 0
    planned: int = 0
    """Runs that had a plan."""
    revised: int = 0
    """Runs that had more than one."""
    drafts: int = 0
    """Runs that led to a draft pull request."""
    ends: Counter[str] = field(default_factory=Counter)
    """Where the runs stand: how they ended, or the state of those that have not."""
    usd: Decimal = Decimal(0)

    @property
    def usd_each(self) -> Decimal:
        """What a run cost on average."""
        return self.usd / self.runs if self.runs else Decimal(0)


def score(histories: Iterable[tuple[Sequence[Fact], State]]) -> tuple[Score, ...]:
    """Scores by name and version. Runs that were never planned by a known version are left out."""
    scores: dict[tuple[str, str], Score] = {}
    for facts, state in histories:
        planned = [fact for fact in facts if isinstance(fact, _ENDS_OF_PLANNING)]
        pins = [fact.template for fact in planned if fact.template is not None]
        if not pins:
            continue
        key = (pins[-1].name, pins[-1].version)
        one = scores.setdefault(key, Score(*key))
        plans = sum(isinstance(fact, PlanDrafted) for fact in planned)
        one.runs += 1
        one.planned += plans > 0
        one.revised += plans > 1
        one.drafts += any(isinstance(fact, DraftOpened) for fact in facts)
        one.ends[state.reason.value if isinstance(state, Closed) else state.name] += 1
        one.usd += state.spent.usd
    return tuple(sorted(scores.values(), key=lambda one: (one.name, tuple(map(int, one.version.split("."))))))
