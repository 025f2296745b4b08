"""BM25 over whole files and over chunks (a function, a class body, what lies between), and over exact names."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from worker.repo.ranking.scan import Hits, Scores, rarity
from worker.repo.ranking.words import parts

_K1 = 1.5
_FILE_B = 0.7
_CHUNK_B = 0.7
_SMALL = 12
"""Names that every chunk is taken to hold besides its own, so that one-liners do not win by being short."""

NAME_BOOST = 3
"""A word in the chunk's own name counts as so many more."""


def files_by_words(files: Sequence[Hits], weights: Mapping[str, float]) -> Scores:
    """BM25 of whole files by stems."""
    return _files(files, weights, lambda hits: hits.words)


def files_by_names(files: Sequence[Hits], weights: Mapping[str, float]) -> Scores:
    """BM25 of whole files by exact names."""
    return _files(files, weights, lambda hits: hits.names)


def _files(
    files: Sequence[Hits], weights: Mapping[str, float], of: Callable[[Hits], dict[str, dict[int, int]]]
) -> Scores:
    found: dict[str, int] = defaultdict(int)
    for hits in files:
        for word in of(hits):
            found[word] += 1
    mean = sum(hits.length for hits in files) / max(1, len(files)) or 1.0
    value = {word: weights[word] * rarity(found[word], len(files)) for word in found if word in weights}
    scores = {}
    for hits in files:
        scale = _K1 * (1 - _FILE_B + _FILE_B * hits.length / mean)
        score = 0.0
        for word, chunks in of(hits).items():
            if word in value:
                count = sum(chunks.values())
                score += value[word] * count * (_K1 + 1) / (count + scale)
        if score:
            scores[hits.path] = score
    return scores


def chunks(files: Sequence[Hits], weights: Mapping[str, float]) -> dict[str, dict[int, float]]:
    """BM25 of every chunk that holds a word, by path and chunk."""
    total = sum(len(hits.lengths) for hits in files)
    found: dict[str, int] = defaultdict(int)
    for hits in files:
        for word, counts in hits.words.items():
            found[word] += len(counts)
    mean = sum(hits.length for hits in files) / max(1, total) + _SMALL
    value = {word: weights[word] * rarity(found[word], total) for word in found if word in weights}
    scores: dict[str, dict[int, float]] = {}
    for hits in files:
        mine: dict[int, float] = defaultdict(float)
        for word, counts in hits.words.items():
            if word not in value:
                continue
            for chunk, count in counts.items():
                boosted = chunk > 0 and word in parts(hits.symbols[chunk - 1].name)
                said = count + (NAME_BOOST if boosted else 0)
                scale = _K1 * (1 - _CHUNK_B + _CHUNK_B * (hits.lengths[chunk] + _SMALL) / mean)
                mine[chunk] += value[word] * said * (_K1 + 1) / (said + scale)
        if mine:
            scores[hits.path] = dict(mine)
    return scores


def best_chunks(by_chunk: Mapping[str, Mapping[int, float]], many: int = 5) -> Scores:
    """A file's score from its best chunks, each further one counting half as much."""
    return {
        path: sum(score * 0.5**place for place, score in enumerate(sorted(mine.values(), reverse=True)[:many]))
        for path, mine in by_chunk.items()
    }
