"""From what was found to what it leads to: imports, definitions used elsewhere, tests that exercise a module."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from worker.repo.ranking.places import stripped
from worker.repo.ranking.record import FileRecord
from worker.repo.ranking.scan import Hits, Scene, Scores, Signal, last_name
from worker.repo.ranking.words import CODE_WORDS

_MOST_DEFINERS = 3
"""A name that more files define leads nowhere in particular."""


def imported_by(scene: Scene, hits: Hits) -> dict[str, float]:
    """The candidates that a file imports; an import that can mean several files counts for each a part."""
    found: dict[str, float] = {}
    for name in hits.imports:
        if name.startswith("."):
            files = scene.finder.beside(hits.path, name)
        else:
            files, _ = scene.finder.module(name)
        for path in files:
            if path != hits.path:
                found[path] = max(found.get(path, 0.0), 1.0 / len(files))
    return found


def seeds(scene: Scene, names: Mapping[str, float]) -> dict[str, dict[int, float]]:
    """The chunks of definitions that have one of these names, where few files define it: path → chunk → weight."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    known = {name: weight for name, weight in names.items() if 0 < len(scene.defined.get(name, ())) <= _MOST_DEFINERS}
    for hits in scene.candidates:
        for chunk, symbol in enumerate(hits.symbols, 1):
            weight = known.get(last_name(symbol.name), 0.0)
            if weight:
                found[hits.path][chunk] = weight / len(scene.defined[last_name(symbol.name)])
    return dict(found)


def reached(scene: Scene, chunks: Mapping[str, Mapping[int, float]], records: Mapping[str, FileRecord]) -> Signal:
    """Files that define what these chunks use: a call in the issue and a fault one step below it."""
    spread: dict[str, float] = defaultdict(float)
    why: dict[str, str] = {}
    for path, mine in chunks.items():
        if path not in records:
            continue
        for name, postings in records[path].names.items():
            files = scene.defined.get(name, ())
            if not 0 < len(files) <= _MOST_DEFINERS or name in CODE_WORDS or len(name) < 4 or path in files:
                continue
            score = max((mine[chunk] for chunk in postings[::2] if chunk in mine), default=0.0)
            for other in files if score else ():
                spread[other] += score / len(files)
                why.setdefault(other, f"defines `{name}`, used in `{path}`")
    return Signal({path: math.log1p(score) for path, score in spread.items()}, why)


def tested(scene: Scene, scores: Scores, many: int = 12) -> Signal:
    """Files that the tests most like the issue import, or are named after."""
    spread: dict[str, float] = defaultdict(float)
    why: dict[str, str] = {}
    by_path = {hits.path: hits for hits in scene.tests}
    by_name: dict[str, list[str]] = defaultdict(list)
    for hits in scene.candidates:
        by_name[stripped(hits.path).rpartition("/")[2].strip("_")].append(hits.path)
    for path in best(scores, many):
        hits = by_path[path]
        found = {other: share / 2 for other, share in imported_by(scene, hits).items()}
        name = _tested_name(path)
        for other in by_name.get(name, ())[:4]:
            found[other] = found.get(other, 0.0) + 1.5 / len(by_name[name])
        for other, share in found.items():
            spread[other] += scores[path] * share / math.sqrt(1 + len(found))
            why.setdefault(other, f"exercised by `{path}`")
    return Signal(dict(spread), why)


def _tested_name(path: str) -> str:
    name = path.rpartition("/")[2].partition(".")[0]
    for mark in ("test_", "Test", "unittest_", "tests_"):
        name = name.removeprefix(mark)
    for mark in ("_test", "_spec", "Test", "Tests", "_tests"):
        name = name.removesuffix(mark)
    return name.strip("_")


def best(scores: Scores, many: int) -> Sequence[str]:
    """The paths with the greatest scores, the greatest first."""
    return sorted(scores, key=lambda path: (-scores[path], path))[:many]


def definers(hits: Hits, names: Mapping[str, float]) -> tuple[str, ...]:
    """The definitions of a file that the issue names."""
    return tuple(symbol.name for symbol in hits.symbols if last_name(symbol.name) in names)
