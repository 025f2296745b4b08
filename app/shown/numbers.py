"""What the newest runs come to: cost per draft and merge, time to approval, plans and executions by template."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from statistics import fmean, median

from app.core.outcome import Outcome
from app.ledger.outcomes import Sought
from app.ledger.store import Ledger
from app.shown.glances import Glance, Glances
from app.shown.scores import Remembered, RunScores

COUNTED = 400
"""The newest runs that the numbers are made of."""

WEEKS = 12
"""The newest weeks that are told apart."""


@dataclass(frozen=True, slots=True)
class Week:
    """What was published and approved in one week, by the Monday on which it began."""

    begins: date
    drafts: int
    merged: int
    usd: Decimal
    """What all runs that were opened in it cost."""
    hours_to_approval: float | None
    """The median; None where nothing was approved."""
    approved: int

    @property
    def usd_each(self) -> Decimal | None:
        """What one draft cost, with the runs that led to none; None in a week without a draft."""
        return self.usd / self.drafts if self.drafts else None

    @property
    def usd_per_merge(self) -> Decimal | None:
        """What one merged pull request cost; None in a week without one."""
        return self.usd / self.merged if self.merged else None


@dataclass(frozen=True, slots=True)
class VersionScore:
    """How runs fared that one template version planned, by the scores that an evaluation gives as well. From 0 to 1;
    None where nothing is known."""

    template: str
    runs: int
    planner: float | None
    """Of the plans that somebody decided about, the share that was approved as first made. Whether a plan is right
    is known of an evaluation's tasks alone."""
    executor: float | None
    """The mean of the executor's scores."""
    decided: int
    executions: int
    """Runs whose executor has a score."""
    merged: int
    by_hand: int
    """Of those that were merged, the ones that people had changed before."""
    usd_each: Decimal


@dataclass(frozen=True, slots=True)
class Numbers:
    """All of it, made of the newest runs that were looked at."""

    runs: int
    weeks: tuple[Week, ...]
    versions: tuple[VersionScore, ...]
    usd: Decimal
    drafts: int
    merged: int
    unpriced_calls: int
    hours_to_approval: float | None

    @property
    def usd_per_draft(self) -> Decimal | None:
        """What one draft cost, with the runs that led to none."""
        return self.usd / self.drafts if self.drafts else None

    @property
    def usd_per_merge(self) -> Decimal | None:
        """What one merged pull request cost, with the runs that led to none."""
        return self.usd / self.merged if self.merged else None


def numbers_of(ledger: Ledger, glances: Glances, remembered: Remembered, sought: Sought) -> Numbers:
    """The numbers of the newest of these runs."""
    summaries = ledger.runs(COUNTED, sought=sought)
    found = [glance for _, glance in glances.beside(summaries)]
    scores = remembered.of(one.run for one in found)
    return Numbers(
        runs=len(found),
        weeks=weeks_of(found),
        versions=versions_of((one, scores[one.run]) for one in found if one.run in scores),
        usd=_usd(found),
        drafts=sum(one.published_at is not None for one in found),
        merged=sum(one.merged for one in found),
        unpriced_calls=sum(one.unpriced_calls for one in found),
        hours_to_approval=_hours(found),
    )


def weeks_of(found: Sequence[Glance]) -> tuple[Week, ...]:
    """The newest weeks up to the last in which one of these runs was opened, the oldest first."""
    if not found:
        return ()
    by_week: dict[date, list[Glance]] = defaultdict(list)
    for one in found:
        by_week[_monday(one.opened_at)].append(one)
    last = max(by_week)
    mondays = [last - timedelta(weeks=ago) for ago in reversed(range(WEEKS))]
    return tuple(_week(monday, by_week.get(monday, [])) for monday in mondays if monday >= min(by_week))


def _week(monday: date, of: Sequence[Glance]) -> Week:
    return Week(
        begins=monday,
        drafts=sum(one.published_at is not None for one in of),
        merged=sum(one.merged for one in of),
        usd=_usd(of),
        hours_to_approval=_hours(of),
        approved=sum(one.approved for one in of),
    )


Scored = tuple[Glance, RunScores]


def versions_of(found: Iterable[Scored]) -> tuple[VersionScore, ...]:
    """The scores of the template versions by which these runs were planned, by name and version."""
    by_version: dict[str, list[Scored]] = defaultdict(list)
    for glance, scores in found:
        if scores.template:
            by_version[scores.template].append((glance, scores))
    return tuple(_score(template, by_version[template]) for template in sorted(by_version, key=_in_order))


def _score(template: str, of: Sequence[Scored]) -> VersionScore:
    scores = [scores for _, scores in of]
    decided = [one.as_made for one in scores if one.as_made is not None]
    worked = [value for one in scores if (value := one.figures()["executor score"]) is not None]
    merged = [one.pull for one in scores if one.pull in (Outcome.MERGED, Outcome.CHANGED)]
    return VersionScore(
        template=template,
        runs=len(of),
        planner=sum(decided) / len(decided) if decided else None,
        executor=fmean(worked) if worked else None,
        decided=len(decided),
        executions=len(worked),
        merged=len(merged),
        by_hand=sum(one is Outcome.CHANGED for one in merged),
        usd_each=_usd(glance for glance, _ in of) / len(of),
    )


def _in_order(template: str) -> tuple[str, tuple[int, ...]]:
    name, _, version = template.partition(" ")
    return name, tuple(int(part) for part in version.split(".") if part.isdigit())


def _usd(of: Iterable[Glance]) -> Decimal:
    return sum((one.usd for one in of), Decimal(0))


def _hours(of: Iterable[Glance]) -> float | None:
    waited = [time.total_seconds() / 3600 for one in of if (time := one.to_approval()) is not None]
    return median(waited) if waited else None


def _monday(at: datetime) -> date:
    day = at.astimezone(UTC).date()
    return day - timedelta(days=day.weekday())
