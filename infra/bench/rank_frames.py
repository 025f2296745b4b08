"""The ranking after one reproduction: each issue's own snippet is run in the box, and its frames are added.

Counted are the issues that hold something to run. A reproduction is one pass over what the issue itself shows, by
the same code as the planner's tool; no model chooses or writes anything.
"""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.core.belts import Belt
from app.core.verdict import Refused
from infra.bench.grounds import Day, Grounds, said
from infra.bench.rank_cases import Case, clone_of
from worker.belts.proving import BoxLost, scratch
from worker.belts.reproduced import briefly
from worker.belts.trying import Trials, Tried
from worker.box.attempts import attempts
from worker.box.box import Box
from worker.box.trail import Passed, Trail
from worker.evidence.trace import Trace
from worker.repo.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Reproduced:
    """What came of one issue. The trail is empty where it went through nothing; `said` are its runs in a line each."""

    case: Case
    shows_something: bool
    trail: Trail
    seconds: float
    said: tuple[str, ...]

    @property
    def executed(self) -> Mapping[str, tuple[Passed, ...]]:
        """What it went through, by file."""
        return self.trail.executed()

    @property
    def went_through_all(self) -> bool:
        """Whether every file that the fix touched was gone through."""
        return bool(self.executed) and all(path in self.executed for path in self.case.gold)


def reproduce(case: Case, repos: Path, box: Box, grounds: Grounds, day: Day | None) -> Reproduced:
    """One issue's own snippet, run once."""
    with Snapshot(clone_of(repos, case.repository), case.commit) as snapshot, scratch() as folder:
        tree = folder / "tree"
        snapshot.export(tree)
        stood = grounds.stood(tree, case.name, case.repository.rpartition("/")[2], day)
        if not attempts(case.issue.body, stood.stand.project, lambda names: ()):
            return Reproduced(case, False, Trail(), 0.0, ("It shows nothing to run.",))
        paths = frozenset(entry.path for entry in snapshot.list())
        trials = Trials(box, snapshot, paths, lambda _: stood, Trace("bench", Belt.PLANNER))
        tried: list[Tried | Refused] = []
        try:
            tried += trials.of_issue(case.issue.body)
        except BoxLost as lost:
            return Reproduced(case, True, Trail(), trials.seconds, (f"Not run: {lost}",))
    last = tried[-1]
    trail = last.trail if isinstance(last, Tried) else Trail()
    return Reproduced(case, True, trail, trials.seconds, (stood.note, *map(briefly, tried)))


def reproduce_all(
    cases: Sequence[Case], repos: Path, box: Box, grounds: Grounds, days: Mapping[str, Day]
) -> list[Reproduced]:
    """Every issue, one after the other."""
    found = []
    for number, case in enumerate(cases, 1):
        one = reproduce(case, repos, box, grounds, days.get(case.name))
        said(f"{number}/{len(cases)} {case.name}: {' '.join(filter(None, one.said))}")
        found.append(one)
    return found


def summed(all_found: Sequence[Reproduced]) -> dict[str, Any]:
    """How many could be run, went through something, and through all that the fix touched, by repository."""
    groups: dict[str, list[Reproduced]] = defaultdict(list)
    for one in all_found:
        groups[one.case.repository].append(one)
    report: dict[str, Any] = {}
    for name, some in [*sorted(groups.items()), ("all", list(all_found))]:
        ran = [one for one in some if one.executed]
        report[name] = {
            "issues": len(some),
            "hold something to run": sum(one.shows_something for one in some),
            "went through something": len(ran),
            "through all files of the fix": sum(one.went_through_all for one in ran),
            "median_seconds": round(statistics.median(one.seconds for one in ran), 1) if ran else None,
        }
    return report
