"""What carrying a plan out will probably cost, from what past runs of its template did. Pure arithmetic on history."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from app.core.plan import Basis, Estimate

ENOUGH = 5
"""Fewer runs than these give no range."""

SIMILAR = 4
"""Repositories are of a similar size where neither has more than so many times the other's files."""

_CENT = Decimal("0.01")
_MOST = Decimal(999_999)


@dataclass(frozen=True, slots=True)
class PastRun:
    """One execution of a plan of the template, ended well or badly; its whole cost is known."""

    repository_id: int
    usd: Decimal
    files: int | None = None
    """How many files the repository had then, where the plan said so."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the plan is to be carried out: the repository, and how many files it has at the base commit."""

    repository_id: int
    files: int


def estimate(history: Sequence[PastRun], here: Place, usual: Decimal) -> Estimate:
    """The middle half of the nearest past runs of which there are enough, in whole cents, rounded outwards.

    Nearest are those in this repository, then those in repositories of a similar size, then all. Where nothing is
    known the range ends at `usual`, what the template's plans get when they ask for nothing.
    """
    near: tuple[tuple[Basis, Callable[[PastRun], bool]], ...] = (
        (Basis.REPOSITORY, lambda run: run.repository_id == here.repository_id),
        (Basis.SIMILAR, lambda run: run.files is not None and _similar(run.files, here.files)),
        (Basis.TEMPLATE, lambda run: True),
    )
    for basis, is_near in near:
        costs = [run.usd for run in history if is_near(run)]
        if len(costs) >= ENOUGH:
            low, _, high = statistics.quantiles(costs, n=4, method="inclusive")
            return _range(low, high, basis, len(costs), here.files)
    return _range(Decimal(0), usual, Basis.BUDGET, 0, here.files)


def _range(low: Decimal, high: Decimal, basis: Basis, runs: int, files: int) -> Estimate:
    return Estimate(
        low=str(min(low, _MOST).quantize(_CENT, ROUND_FLOOR)),
        high=str(min(high, _MOST).quantize(_CENT, ROUND_CEILING)),
        basis=basis,
        runs=runs,
        files=files,
    )


def _similar(one: int, other: int) -> bool:
    return one <= SIMILAR * other and other <= SIMILAR * one
