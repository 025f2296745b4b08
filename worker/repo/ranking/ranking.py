"""The list: all signals of an issue added up by their weights, each place with its reason and its definitions."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from worker.repo.ranking.gather import Gathered, gather
from worker.repo.ranking.issue import IssueText, read_issue
from worker.repo.ranking.links import best, definers
from worker.repo.ranking.scan import Hits, Scores, Signal
from worker.repo.ranking.store import IndexCache
from worker.repo.snapshot import Snapshot

WEIGHTS = Path(__file__).with_name("weights.json")
"""What each signal counts; the file says how it was fitted."""

EXECUTED = "executed"
_SYMBOLS = 5
_PLAIN = frozenset({"words", "title", "chunks", "title_chunks", "names"})
"""Signals of words only: as a reason they come last, whatever they weigh."""

_VAGUE = frozenset({"alike", "alike_title", "tested", "reached_words", "folder_words", "folder_title"})
"""Signals that are a reason only where they weigh four times as much as what is plainer."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One place of the list. `reason` is one short phrase; `symbols` are the definitions to look at first."""

    path: str
    score: float
    reason: str
    symbols: tuple[str, ...]


def rank(
    issue: IssueText,
    snapshot: Snapshot,
    cache: IndexCache,
    top: int = 10,
    executed: Mapping[str, int] | None = None,
) -> tuple[Ranked, ...]:
    """The files that a fix of the issue may touch, the likeliest first, at most `top`. Tests are not among them.

    `executed` are files that a reproduction went through, with how often. The same input gives the same list.
    """
    gathered = gather(read_issue(issue), snapshot, cache)
    if executed:
        gathered.signals[EXECUTED] = went_through(executed)
    candidates = {hits.path: hits for hits in gathered.scene.candidates}
    weights = weights_by_signal()
    scores = weighed(gathered, weights)
    return tuple(
        Ranked(
            path,
            round(scores[path], 4),
            _reason(path, weights, gathered),
            _symbols(candidates[path], gathered),
        )
        for path in best(scores, top)
    )


def weighed(gathered: Gathered, weights: Mapping[str, float]) -> Scores:
    """Every candidate with the sum of its signals, each by its weight."""
    scores = {hits.path: 0.0 for hits in gathered.scene.candidates}
    for name, signal in gathered.signals.items():
        for path, score in signal.scores.items():
            if path in scores:
                scores[path] += weights.get(name, 0.0) * score
    return scores


@cache
def weights_by_signal() -> dict[str, float]:
    """The fitted weights."""
    found: dict[str, float] = json.loads(WEIGHTS.read_text("utf-8"))["weights"]
    return found


def went_through(executed: Mapping[str, int]) -> Signal:
    """What a reproduction went through, with how often or how much of it."""
    most = max(executed.values(), default=1)
    scores = {path: 0.7 + 0.3 * math.log1p(count) / math.log1p(max(1, most)) for path, count in executed.items()}
    return Signal(scores, dict.fromkeys(scores, "the reproduction went through it"))


def _reason(path: str, weights: Mapping[str, float], gathered: Gathered) -> str:
    signals = gathered.signals
    told = {
        name: weights.get(name, 0.0) * signal.scores.get(path, 0.0) / (4 if name in _VAGUE else 1)
        for name, signal in signals.items()
        if path in signal.why and name not in _PLAIN
    }
    name = max(told, key=lambda each: told[each], default="")
    if name and told[name] >= _TELLING:
        return signals[name].why[path]
    asked = gathered.scene.asked
    hits = next(one for one in gathered.scene.candidates if one.path == path)
    common = sorted(hits.words, key=lambda word: (-gathered.scene.value(word), word))[:3]
    if not common:
        return "nothing in it speaks for it but its place"
    return "speaks of " + ", ".join(f"“{asked.spelled.get(word, word)}”" for word in common)


_TELLING = 0.35
"""What a signal must add to a score before it is given as the reason."""


def _symbols(hits: Hits, gathered: Gathered) -> tuple[str, ...]:
    """Functions of the traceback, definitions that are named, and the chunks whose words fit best."""
    asked = gathered.scene.asked
    there = {symbol.name for symbol in hits.symbols}
    framed = [frame.function for frame in sorted(asked.frames, key=lambda frame: frame.depth)]
    called = {function.rpartition(".")[2] for function in framed if function}
    found = list(definers(hits, dict.fromkeys(called, 1.0)))
    named = definers(hits, asked.names)
    found += sorted(named, key=lambda name: -asked.names[name.rpartition(".")[2].rpartition(":")[2]])[:_SYMBOLS]
    mine = gathered.chunks.get(hits.path, {})
    for chunk in sorted(mine, key=lambda chunk: (-mine[chunk], chunk))[:_SYMBOLS]:
        if chunk:
            found.append(hits.symbols[chunk - 1].name)
    return tuple(dict.fromkeys(name for name in found if name in there))[:_SYMBOLS]
