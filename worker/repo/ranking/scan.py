"""One walk over all records that keeps only what the issue asks for: memory follows the issue, not the tree."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from worker.repo.ranking.issue import Asked
from worker.repo.ranking.places import PathFinder, Place, place_of
from worker.repo.ranking.record import FileRecord
from worker.repo.ranking.words import parts
from worker.repo.symbols import Symbol
from worker.repo.tree import Entry


@dataclass(frozen=True, slots=True)
class Hits:
    """What one file holds of what was asked. `words` and `names`: chunk → count, by word or name."""

    path: str
    place: Place
    blob: str
    symbols: tuple[Symbol, ...]
    lengths: tuple[int, ...]
    imports: tuple[str, ...]
    words: dict[str, dict[int, int]]
    names: dict[str, dict[int, int]]
    options: frozenset[str]
    phrases: frozenset[int]

    @property
    def length(self) -> int:
        return sum(self.lengths)


@dataclass(frozen=True, slots=True)
class Scene:
    """The issue before the tree: candidates are the files that a fix may touch, tests only point at them."""

    asked: Asked
    entries: dict[str, Entry]
    candidates: tuple[Hits, ...]
    tests: tuple[Hits, ...]
    finder: PathFinder
    defined: dict[str, dict[str, None]] = field(repr=False)
    """Last part of a definition's name → the candidates that define it."""

    def value(self, word: str) -> float:
        """How much a word of the issue tells files apart: its weight by how few of the files hold it."""
        found = sum(word in hits.words for hits in self.candidates)
        return self.asked.words.get(word, 0.0) * rarity(found, len(self.candidates))


def rarity(found_in: int, of: int) -> float:
    """Inverse document frequency, never negative."""
    return math.log(1 + (of - found_in + 0.5) / (found_in + 0.5))


Scores = dict[str, float]


@dataclass(frozen=True, slots=True)
class Signal:
    """One kind of evidence: a score for each path it says something of, and in a few words what it saw there."""

    scores: Scores
    why: dict[str, str] = field(default_factory=dict)


def scan(asked: Asked, records: Iterable[tuple[Entry, FileRecord]]) -> Scene:
    """Reads every record once."""
    reader = _Reader(asked)
    entries: dict[str, Entry] = {}
    candidates: list[Hits] = []
    tests: list[Hits] = []
    defined: dict[str, dict[str, None]] = defaultdict(dict)
    for entry, record in records:
        hits = reader.read(entry, record)
        entries[entry.path] = entry
        if hits.place == "test":
            tests.append(hits)
            continue
        candidates.append(hits)
        for symbol in record.symbols:
            defined[last_name(symbol.name)][entry.path] = None
    candidates.sort(key=lambda hits: hits.path)
    tests.sort(key=lambda hits: hits.path)
    finder = PathFinder(hits.path for hits in candidates)
    return Scene(asked, entries, tuple(candidates), tuple(tests), finder, dict(defined))


def last_name(symbol: str) -> str:
    """`add` of `Cart.add`, `Cart::add` and `add`."""
    return symbol.rpartition(".")[2].rpartition(":")[2]


class _Reader:
    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._known: dict[str, tuple[str, ...]] = {}
        self._options = frozenset(asked.options)

    def read(self, entry: Entry, record: FileRecord) -> Hits:
        words: dict[str, dict[int, int]] = {}
        names: dict[str, dict[int, int]] = {}
        known, wanted = self._known, self._asked.words
        for name, postings in record.names.items():
            asked = known.get(name)
            if asked is None:
                asked = known[name] = tuple({part for part in parts(name) if part in wanted})
            for word in asked:
                _count(words.setdefault(word, {}), postings)
            if name in self._asked.names:
                _count(names.setdefault(name, {}), postings)
        return Hits(
            path=entry.path,
            place=place_of(entry.path),
            blob=entry.blob,
            symbols=record.symbols,
            lengths=record.lengths,
            imports=record.imports,
            words=words,
            names=names,
            options=self._options.intersection(record.literals),
            phrases=self._asked.phrases.intersection(record.phrases),
        )


def _count(counts: dict[int, int], postings: tuple[int, ...]) -> None:
    for at in range(0, len(postings), 2):
        counts[postings[at]] = counts.get(postings[at], 0) + postings[at + 1]
