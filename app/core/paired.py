"""Paired comparison: whether two results on the same tasks differ by more than noise. Pure, exact, without chance.

Passed or failed: the exact sign test on the tasks in which the two differ (McNemar's test in its exact form). Scores:
the exact sign-flip test on the differences: of all ways to turn their signs, the share that gives a sum as far from 0.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from math import comb

from app.core.run import Part

ALPHA = 0.05
"""How often two results that do not differ may be called different, over all that is compared together."""

_GRAIN = 1000
"""Scores are compared in thousandths, so that their sums can be counted."""


Results = Mapping[str, Mapping[str, float | bool | None]]
"""By task, its figures; a bool is passed or failed, and None is not known."""


class Judged(StrEnum):
    """What a comparison shows."""

    BETTER = "better"
    WORSE = "worse"
    NOISE = "no more than noise"
    TOO_FEW = "too few tasks to tell"


class Compared(Part):
    """One figure of two results on the same tasks."""

    figure: str
    tasks: int
    before: float
    after: float
    """The means over those tasks."""
    differing: int
    p: float
    judged: Judged


def sign_test(up: int, down: int) -> float:
    """How probable so uneven a split is, to either side, where both sides are equally probable. 1 for none at all."""
    many = up + down
    tail = sum(comb(many, k) for k in range(min(up, down) + 1))
    return min(1.0, float(Fraction(2 * tail, 2**many)))


def sign_flip_test(differences: Sequence[float]) -> float:
    """How probable a sum so far from 0 is, to either side, where each difference may as well have the other sign."""
    steps = [abs(round(one * _GRAIN)) for one in differences]
    observed = abs(sum(round(one * _GRAIN) for one in differences))
    ways: dict[int, int] = {0: 1}
    for step in steps:
        then: dict[int, int] = {}
        for total, count in ways.items():
            for other in (total + step, total - step):
                then[other] = then.get(other, 0) + count
        ways = then
    far = sum(count for total, count in ways.items() if abs(total) >= observed)
    return float(Fraction(far, 2 ** len(steps)))


def compare(before: Results, after: Results) -> tuple[Compared, ...]:
    """Every figure that both results have, by name, over the tasks for which both know it.

    The p-values are held to `ALPHA` together
    (Holm's order), so that comparing more figures does not find more differences.
    """
    figures = sorted(set().union(*before.values()) & set().union(*after.values()))
    found = [pair for name in figures if (pair := _compared(name, before, after)) is not None]
    by_p = sorted(found, key=lambda pair: pair[0].p)
    told: dict[str, Compared] = {}
    standing = True
    for rank, (one, least) in enumerate(by_p):
        level = ALPHA / (len(by_p) - rank)
        standing = standing and one.p <= level
        told[one.figure] = one.model_copy(update={"judged": _judged(one, standing, least)})
    return tuple(told[one.figure] for one, _ in found)


def _judged(one: Compared, standing: bool, least: float) -> Judged:
    if standing and one.before != one.after:
        return Judged.BETTER if one.after > one.before else Judged.WORSE
    return Judged.TOO_FEW if least > ALPHA else Judged.NOISE


def _compared(name: str, before: Results, after: Results) -> tuple[Compared, float] | None:
    """The figure, and the smallest p-value that so many tasks could have given."""
    pairs = [
        (was, now)
        for task in sorted(before.keys() & after.keys())
        if (was := before[task].get(name)) is not None and (now := after[task].get(name)) is not None
    ]
    if not pairs:
        return None
    up, down = sum(now > was for was, now in pairs), sum(now < was for was, now in pairs)
    passing = all(isinstance(value, bool) for pair in pairs for value in pair)
    p = sign_test(up, down) if passing else sign_flip_test([now - was for was, now in pairs])
    shown = Compared(
        figure=name,
        tasks=len(pairs),
        before=sum(was for was, _ in pairs) / len(pairs),
        after=sum(now for _, now in pairs) / len(pairs),
        differing=up + down,
        p=p,
        judged=Judged.NOISE,
    )
    return shown, sign_test(len(pairs), 0)
