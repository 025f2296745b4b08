"""The real lines that are most like a text which is not in the file. They are shown; nothing is placed by them."""

import difflib
import re
from collections.abc import Sequence

MOST_GOALS = 12
CLOSELY_COMPARED = 30
ALIKE = 0.4
"""Share of words, over all lines asked for, from which on lines are called close."""

SPARE = 2
"""Lines more than were asked for, since what is missed is often a comment between."""

_MOST_LINES = 60_000
_WORTH_COUNTING = 0.25
_WORD = re.compile(r"\w+")


def closest(lines: Sequence[str], wanted: Sequence[str]) -> tuple[int, tuple[str, ...]] | None:
    """The run of lines that shares most words with the wanted ones, and the first one's number; None without any."""
    goals = [_words(line) for line in wanted[:MOST_GOALS]]
    if not any(goals) or not lines or len(lines) > _MOST_LINES:
        return None
    size = min(len(goals) + SPARE, len(lines))
    scores = _scores([_words(line) for line in lines], goals, size)
    best = max(scores.values(), default=0.0)
    if best < ALIKE * sum(map(bool, goals)):
        return None
    near = sorted(start for start, score in scores.items() if score >= best * 0.8)[:CLOSELY_COMPARED]
    text = "\n".join(wanted[:MOST_GOALS])[:2_000]

    def alike(start: int) -> float:
        return difflib.SequenceMatcher(None, text, "\n".join(lines[start : start + size])[:2_000]).ratio()

    start = max(near, key=alike)
    return start + 1, tuple(lines[start : start + size])


def _words(line: str) -> frozenset[str]:
    return frozenset(_WORD.findall(line))


def _scores(words: Sequence[frozenset[str]], goals: Sequence[frozenset[str]], size: int) -> dict[int, float]:
    """By first line of a run: the sum, over the goals, of how like the line is that stands about where each belongs."""
    scores: dict[int, float] = {}
    last = len(words) - size
    for place, goal in enumerate(goals):
        best: dict[int, float] = {}
        for number, have in enumerate(words):
            if goal.isdisjoint(have):
                continue
            likeness = len(goal & have) / len(goal | have)
            if likeness < _WORTH_COUNTING:
                continue
            for start in range(number - place - SPARE, number - place + SPARE + 1):
                within = min(max(start, 0), last)
                if likeness > best.get(within, 0.0):
                    best[within] = likeness
        for start, likeness in best.items():
            scores[start] = scores.get(start, 0.0) + likeness
    return scores
