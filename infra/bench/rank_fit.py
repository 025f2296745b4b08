"""Fits the weights of the ranking: `python -m infra.bench.rank_fit REPOS ISSUES [--commits N]`.

Issues count in full and commits taken for issues a part: they keep few issues of few repositories from being learnt
by heart. The fit is a conditional logit (each gold file against the other candidates), held near weights set by
hand, and no signal may count against what it means. Written are the product's weights, and beside this file those
fitted without each repository, which `infra.bench.rank` measures that repository with.
"""

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.bench.rank_cases import Case, clone_of, commits_in, issues_in
from worker.repo.ranking.gather import gather
from worker.repo.ranking.issue import read_issue
from worker.repo.ranking.ranking import WEIGHTS
from worker.repo.ranking.store import IndexCache
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache

LEFT_OUT = Path(__file__).with_name("rank_left_out.json")

BY_HAND = {
    "words": 2.0, "title": 1.0, "chunks": 2.0, "names": 1.4, "defines": 2.0, "calls": 1.0, "methods": 1.0,
    "modules": 1.2, "paths": 1.2, "frames": 3.0, "file_words": 1.4, "file_title": 1.4, "folder_words": 0.4,
    "folder_title": 0.4, "options": 1.0, "messages": 0.8, "alike": 1.0, "alike_title": 0.6, "referred": 1.0,
    "reached": 0.6, "reached_words": 0.4, "tested": 1.0, "aside": -2.0, "package": -0.6,
}  # fmt: skip
EXECUTED = 1.5
"""Set by hand: there are no executed files in what is fitted on."""

HOLD = 1.0
COMMIT_COUNTS = 0.5
_RIVALS = 50
_ROUNDS = 250
_STEP = 0.05
_SEED = 5


@dataclass(frozen=True, slots=True)
class Example:
    """The signals of the gold files, and of the strongest other candidates."""

    repository: str
    counts: float
    gold: list[list[float]]
    rivals: list[list[float]]


def examples_of(cases: Sequence[Case], repos: Path, cache: IndexCache, counts: float) -> list[Example]:
    """One for each case whose gold files are candidates."""
    found = []
    names = list(BY_HAND)
    for case in cases:
        with Snapshot(clone_of(repos, case.repository), case.commit) as snapshot:
            gathered = gather(read_issue(case.issue), snapshot, cache)
        rows = {
            hits.path: [gathered.signals[name].scores.get(hits.path, 0.0) for name in names]
            for hits in gathered.scene.candidates
        }
        gold = [rows.pop(path) for path in case.gold if path in rows]
        rivals = sorted(rows.values(), key=lambda row: -_dot(row, list(BY_HAND.values())))[:_RIVALS]
        if gold and rivals:
            found.append(Example(case.repository, counts, gold, rivals))
    return found


def fitted(examples: Sequence[Example]) -> dict[str, float]:
    """The weights that make the gold files of all examples likeliest, by Adam with a fixed number of rounds."""
    start = list(BY_HAND.values())
    weights, mean, square = list(start), [0.0] * len(start), [0.0] * len(start)
    for turn in range(1, _ROUNDS + 1):
        slope = [2 * HOLD * (weight - first) for weight, first in zip(weights, start, strict=True)]
        for example in examples:
            _add_slope(example, weights, slope)
        for at, each in enumerate(slope):
            mean[at] = 0.9 * mean[at] + 0.1 * each
            square[at] = 0.99 * square[at] + 0.01 * each * each
            step = _STEP * (mean[at] / (1 - 0.9**turn)) / (math.sqrt(square[at] / (1 - 0.99**turn)) + 1e-8)
            moved = weights[at] - step
            weights[at] = min(0.0, moved) if start[at] < 0 else max(0.0, moved)
    return {name: round(weight, 3) for name, weight in zip(BY_HAND, weights, strict=True)}


def _add_slope(example: Example, weights: Sequence[float], slope: list[float]) -> None:
    rivals = [_dot(row, weights) for row in example.rivals]
    for row in example.gold:
        own = _dot(row, weights)
        most = max(own, *rivals)
        likely = [math.exp(score - most) for score in rivals]
        whole = sum(likely) + math.exp(own - most)
        share = example.counts / len(example.gold) / whole
        rest = share * sum(likely)
        for at, value in enumerate(row):
            if value:
                slope[at] -= rest * value
        for chance, other in zip(likely, example.rivals, strict=True):
            part = share * chance
            if part > 1e-6:
                for at, value in enumerate(other):
                    if value:
                        slope[at] += part * value


def _dot(row: Sequence[float], weights: Sequence[float]) -> float:
    return sum(map(float.__mul__, row, weights))


def main() -> int:
    """Writes both files anew."""
    parser = argparse.ArgumentParser()
    parser.add_argument("repos", type=Path)
    parser.add_argument("issues", type=Path)
    parser.add_argument("--commits", type=int, default=30, help="commits taken for issues, of every clone")
    asked = parser.parse_args()
    issues = issues_in(asked.issues)
    commits = commits_in(asked.repos, asked.commits, _SEED)
    with tempfile.TemporaryDirectory() as folder:
        cache = IndexCache(Path(folder) / "index.db", SymbolCache(Path(folder) / "symbols.db"))
        examples = examples_of(issues, asked.repos, cache, 1.0)
        examples += examples_of(commits, asked.repos, cache, COMMIT_COUNTS)
    print(f"{len(issues)} issues, {len(commits)} cases from commits, {len(examples)} examples", file=sys.stderr)
    note = (
        f"Fitted by infra/bench/rank_fit.py on {len(issues)} issues and, counting {COMMIT_COUNTS} each, on "
        f"{len(commits)} cases made from commits of {len({case.repository for case in commits})} repositories. "
        "`executed` is set by hand."
    )
    weights = fitted(examples) | {"executed": EXECUTED}
    WEIGHTS.write_text(json.dumps({"note": note, "weights": weights}, indent=2) + "\n", "utf-8")
    without = {
        repository: fitted([one for one in examples if one.repository != repository])
        for repository in sorted({case.repository for case in issues})
    }
    note = "For each repository the weights fitted without its issues and its commits, by infra/bench/rank_fit.py."
    LEFT_OUT.write_text(json.dumps({"note": note, "without": without}, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
