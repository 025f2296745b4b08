"""`python -m infra.bench.rank_frames REPOS ISSUES`: the ranking after one reproduction, as JSON.

Each issue's own snippet is run in the box, and the files that it went through are added.

Counted are the issues that hold something to run. A reproduction is one pass over what the issue itself shows, by
the same code as the planner's tool; no model chooses or writes anything.
"""

import argparse
import json
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.core.belts import Belt
from app.core.verdict import Refused
from infra.bench.grounds import Day, Grounds, days_in, default_folder, said
from infra.bench.rank import FIRST, shares, worst_place
from infra.bench.rank_cases import Case, clone_of, issues_in
from infra.bench.rank_fit import LEFT_OUT
from worker.belts.proving import BoxLost
from worker.belts.reproduced import briefly
from worker.belts.scratch import scratch
from worker.belts.trying import Trials, Tried
from worker.box.attempts import attempts
from worker.box.box import Box, BoxUnavailable, open_box
from worker.box.trail import Passed, Trail
from worker.evidence.trace import Trace
from worker.repo.ranking.gather import gather
from worker.repo.ranking.issue import read_issue
from worker.repo.ranking.ranking import EXECUTED, weighed, weights_by_signal, went_through
from worker.repo.ranking.store import IndexCache
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache


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


@dataclass(frozen=True, slots=True)
class Compared:
    """The worst place of a gold file without and with the frames, by the product's weights and by those left out."""

    found: Reproduced
    before: int
    after: int
    before_left_out: int
    after_left_out: int


def compare(found: Reproduced, repos: Path, cache: IndexCache, without: Mapping[str, float]) -> Compared:
    """One issue that went through something, ranked four times."""
    case = found.case
    with Snapshot(clone_of(repos, case.repository), case.commit) as snapshot:
        gathered = gather(read_issue(case.issue), snapshot, cache)
    shipped = weights_by_signal()
    others = {**without, EXECUTED: shipped[EXECUTED]}
    before = [worst_place(case, weighed(gathered, weights)) for weights in (shipped, others)]
    gathered.signals[EXECUTED] = went_through({path: len(some) for path, some in found.executed.items()})
    after = [worst_place(case, weighed(gathered, weights)) for weights in (shipped, others)]
    return Compared(found, before[0], after[0], before[1], after[1])


def summed(all_found: Sequence[Reproduced], compared: Sequence[Compared]) -> dict[str, Any]:
    """How many could be run and went through all that the fix touched; on those that ran, the places, by repository."""
    groups: dict[str, list[Reproduced]] = defaultdict(list)
    for one in all_found:
        groups[one.case.repository].append(one)
    report: dict[str, Any] = {"at": " / ".join(map(str, FIRST))}
    for name, some in [*sorted(groups.items()), ("all", list(all_found))]:
        ran = [one for one in compared if one.found in some]
        report[name] = {
            "issues": len(some),
            "hold something to run": sum(one.shows_something for one in some),
            "went through something": len(ran),
            "through all files of the fix": sum(one.found.went_through_all for one in ran),
        }
        if ran:
            report[name] |= {
                "before, shipped": shares([one.before for one in ran]),
                "after, shipped": shares([one.after for one in ran]),
                "before, left out": shares([one.before_left_out for one in ran]),
                "after, left out": shares([one.after_left_out for one in ran]),
                "median_seconds": round(statistics.median(one.found.seconds for one in ran), 1),
            }
    return report


def main() -> int:
    """Prints the figures; progress and reasons go to standard error."""
    parser = argparse.ArgumentParser()
    parser.add_argument("repos", type=Path, help="a folder of bare clones, owner+name.git")
    parser.add_argument("issues", type=Path)
    parser.add_argument("--grounds", type=Path, default=default_folder(), help="kept interpreters and packages")
    parser.add_argument("--uv", default="uv", help="the program that resolves packages as they were on a date")
    parser.add_argument("--only", default="", help="issues whose name holds this")
    asked = parser.parse_args()
    box = open_box()
    if isinstance(box, BoxUnavailable):
        print(json.dumps({"not measured": str(box)}))
        return 1
    cases = [case for case in issues_in(asked.issues) if asked.only in case.name]
    grounds = Grounds(asked.grounds, asked.uv)
    found = reproduce_all(cases, asked.repos, box, grounds, days_in(asked.issues))
    without: dict[str, dict[str, float]] = json.loads(LEFT_OUT.read_text("utf-8"))["without"]
    with tempfile.TemporaryDirectory() as folder:
        cache = IndexCache(Path(folder) / "index.db", SymbolCache(Path(folder) / "symbols.db"))
        compared = [
            compare(one, asked.repos, cache, without.get(one.case.repository, weights_by_signal()))
            for one in found
            if one.executed
        ]
    print(json.dumps(summed(found, compared), indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
