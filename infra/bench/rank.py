"""`make bench-rank REPOS=dir`: how often all files of a fix are among the first 1, 5 and 10, and the seconds, as JSON.

Counted are the places among the `.py` files that are no tests. `shipped` is with the product's weights, which were
fitted on these issues among others; `left out` with weights fitted without the repository's issues and commits.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.bench.rank_cases import Case, clone_of, issues_in
from infra.bench.rank_fit import LEFT_OUT
from worker.repo.ranking.gather import gather
from worker.repo.ranking.issue import read_issue
from worker.repo.ranking.ranking import rank, weighed, weights_by_signal
from worker.repo.ranking.store import IndexCache
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache

FIRST = (1, 5, 10)
_LAST = 10_000


@dataclass(frozen=True, slots=True)
class Measured:
    """The worst place of a gold file with both weights (0 is the first), and what the ranking cost, warm."""

    case: Case
    shipped: int
    left_out: int
    seconds: float
    processor_seconds: float
    files: int


def measure(case: Case, repos: Path, cache: IndexCache, without: Mapping[str, float]) -> Measured:
    """One issue, the index being warm when the clock runs."""
    with Snapshot(clone_of(repos, case.repository), case.commit) as snapshot:
        gathered = gather(read_issue(case.issue), snapshot, cache)
    with Snapshot(clone_of(repos, case.repository), case.commit) as snapshot:
        began, spent = time.perf_counter(), time.process_time()
        rank(case.issue, snapshot, cache)
        seconds, processor = time.perf_counter() - began, time.process_time() - spent
        files = len(snapshot.list())
    shipped = worst_place(case, weighed(gathered, weights_by_signal()))
    return Measured(case, shipped, worst_place(case, weighed(gathered, without)), seconds, processor, files)


def worst_place(case: Case, scores: Mapping[str, float]) -> int:
    """Among the `.py` files by their scores, from 0, of the gold file that comes last."""
    order = sorted((path for path in scores if path.endswith(".py")), key=lambda path: (-scores[path], path))
    places = {path: place for place, path in enumerate(order)}
    return max(places.get(path, _LAST) for path in case.gold)


def shares(places: Sequence[int]) -> str:
    """In percent, at 1 / 5 / 10."""
    return " / ".join(f"{100 * sum(place < first for place in places) / len(places):.1f}" for first in FIRST)


def cold_index(case: Case, repos: Path) -> dict[str, Any]:
    """The first ranking of a repository, with nothing kept from before."""
    with tempfile.TemporaryDirectory() as folder, Snapshot(clone_of(repos, case.repository), case.commit) as snapshot:
        cache = IndexCache(Path(folder) / "index.db", SymbolCache(Path(folder) / "symbols.db"))
        began, spent = time.perf_counter(), time.process_time()
        rank(case.issue, snapshot, cache)
        return {
            "case": case.name,
            "files": len(snapshot.list()),
            "seconds": round(time.perf_counter() - began, 2),
            "processor_seconds": round(time.process_time() - spent, 2),
        }


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("repos", type=Path, help="a folder of bare clones, owner+name.git")
    parser.add_argument("issues", type=Path)
    parser.add_argument("--places", action="store_true", help="each issue's worst place, too")
    asked = parser.parse_args()
    without: dict[str, dict[str, float]] = json.loads(LEFT_OUT.read_text("utf-8"))["without"]
    cases = issues_in(asked.issues)
    with tempfile.TemporaryDirectory() as folder:
        cache = IndexCache(Path(folder) / "index.db", SymbolCache(Path(folder) / "symbols.db"))
        all_measured = [
            measure(case, asked.repos, cache, without.get(case.repository, weights_by_signal())) for case in cases
        ]
    groups: dict[str, list[Measured]] = defaultdict(list)
    for one in all_measured:
        groups[one.case.repository].append(one)
    report: dict[str, Any] = {"at": " / ".join(map(str, FIRST))}
    for name, some in [*sorted(groups.items()), ("all", all_measured)]:
        report[name] = {
            "issues": len(some),
            "shipped": shares([one.shipped for one in some]),
            "left out": shares([one.left_out for one in some]),
            "warm_seconds": round(statistics.median(one.seconds for one in some), 2),
            "warm_processor_seconds": round(statistics.median(one.processor_seconds for one in some), 2),
        }
    largest = max(all_measured, key=lambda one: one.files).case
    report["slowest_warm_seconds"] = round(max(one.seconds for one in all_measured), 2)
    report["cold"] = cold_index(largest, asked.repos)
    if asked.places:
        report["places"] = {one.case.name: [one.shipped + 1, one.left_out + 1] for one in all_measured}
    print(json.dumps(report, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
