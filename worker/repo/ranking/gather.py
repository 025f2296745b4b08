"""All signals for one issue, each between 0 and 1 over the candidates."""

from collections.abc import Sequence
from dataclasses import dataclass

from worker.repo.ranking import lexical, links, named, past
from worker.repo.ranking.issue import Asked
from worker.repo.ranking.narrowing import narrowed
from worker.repo.ranking.places import is_code
from worker.repo.ranking.record import FileRecord
from worker.repo.ranking.scan import Scene, Signal, scan
from worker.repo.ranking.store import IndexCache
from worker.repo.snapshot import Snapshot
from worker.repo.tree import Entry

_FOLLOWED = 8
_MOST_READ_AGAIN = 40

_LEVELLED = frozenset(
    {"words", "title", "chunks", "names", "alike", "alike_title", "reached", "reached_words", "tested"}
)
"""Signals that compare files: their greatest score is made 1. The others say by themselves how sure they are."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The scene, the signals by name, and the scores of chunks by path."""

    scene: Scene
    signals: dict[str, Signal]
    chunks: dict[str, dict[int, float]]


def code_files(snapshot: Snapshot) -> list[Entry]:
    """The files that a ranking is about."""
    return [entry for entry in snapshot.list() if is_code(entry.path)]


def gather(asked: Asked, snapshot: Snapshot, cache: IndexCache) -> Gathered:
    """Every signal for every candidate; in a very large tree the candidates are narrowed first."""
    entries = narrowed(asked, snapshot, code_files(snapshot))
    scene = scan(asked, cache.records(snapshot, entries))
    chunks = lexical.chunks(scene.candidates, asked.words)
    signals = _by_words(scene, chunks) | _by_names(scene)
    commits = past.past_commits(snapshot.git, snapshot.commit, cache)
    signals["alike"] = past.alike(scene, commits, asked.words)
    signals["alike_title"] = past.alike(scene, commits, asked.title)
    signals["referred"] = past.referred(scene, commits)
    signals["aside"] = Signal({hits.path: 1.0 for hits in scene.candidates if hits.place == "aside"})
    signals["package"] = Signal({hits.path: 1.0 for hits in scene.candidates if hits.path.endswith("/__init__.py")})
    signals |= _by_links(_Followed(scene, snapshot, cache), signals, chunks)
    return Gathered(
        scene, {name: _levelled(one) if name in _LEVELLED else one for name, one in signals.items()}, chunks
    )


def _by_words(scene: Scene, chunks: dict[str, dict[int, float]]) -> dict[str, Signal]:
    files, asked = scene.candidates, scene.asked
    return {
        "words": Signal(lexical.files_by_words(files, asked.words)),
        "title": Signal(lexical.files_by_words(files, asked.title)),
        "chunks": Signal(lexical.best_chunks(chunks)),
        "names": Signal(lexical.files_by_names(files, asked.names)),
    }


def _by_names(scene: Scene) -> dict[str, Signal]:
    asked = scene.asked
    return {
        "defines": named.definitions(scene, asked.names),
        "calls": named.definitions(scene, asked.calls),
        "methods": named.methods(scene),
        "modules": named.modules(scene),
        "paths": named.paths(scene),
        "frames": named.frames(scene),
        "file_words": named.file_words(scene, asked.words),
        "file_title": named.file_words(scene, asked.title),
        "folder_words": named.folder_words(scene, asked.words),
        "folder_title": named.folder_words(scene, asked.title),
        "options": named.options(scene),
        "messages": named.messages(scene),
    }


@dataclass(frozen=True, slots=True)
class _Followed:
    """A scene whose files can be opened again for all that they hold."""

    scene: Scene
    snapshot: Snapshot
    cache: IndexCache

    def reached(self, chunks: dict[str, dict[int, float]]) -> Signal:
        entries = [self.scene.entries[path] for path in sorted(chunks)[:_MOST_READ_AGAIN]]
        records: dict[str, FileRecord] = {
            entry.path: record for entry, record in self.cache.records(self.snapshot, entries)
        }
        return links.reached(self.scene, chunks, records)


def _by_links(
    followed: _Followed, signals: dict[str, Signal], chunks: dict[str, dict[int, float]]
) -> dict[str, Signal]:
    scene = followed.scene
    tests = lexical.best_chunks(lexical.chunks(scene.tests, scene.asked.words))
    return {
        "reached": followed.reached(links.seeds(scene, scene.asked.calls)),
        "reached_words": followed.reached(_heads(chunks, links.best(signals["chunks"].scores, _FOLLOWED))),
        "tested": links.tested(scene, tests),
    }


def _heads(chunks: dict[str, dict[int, float]], paths: Sequence[str]) -> dict[str, dict[int, float]]:
    """Of these files the chunks that come near the file's best."""
    return {
        path: {chunk: score for chunk, score in chunks[path].items() if score > max(chunks[path].values()) / 2}
        for path in paths
    }


def _levelled(signal: Signal) -> Signal:
    most = max(signal.scores.values(), default=0.0)
    return Signal({path: score / most for path, score in signal.scores.items()}, signal.why) if most > 0 else signal
