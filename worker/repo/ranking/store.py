"""Records by blob id in one file, and the walk over a commit that reads only what was never read before."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Protocol

import msgspec
import zstandard

from worker.repo.ranking.record import FORM, MAX_BYTES, FileRecord, record_of
from worker.repo.symbols import Symbol, SymbolCache, extract, language_of
from worker.repo.tree import Entry

MAX_CACHE_BYTES = 512_000_000
_ASKED_AT_ONCE = 500


class Readable(Protocol):
    """A commit whose files can be read many at a time."""

    commit: str

    def list(self, prefix: str = "", glob: str = "") -> tuple[Entry, ...]: ...

    def read_many(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, bytes]]: ...


class IndexCache:
    """Records and other things that never change, by key. It can be thrown away at any time: it decides nothing."""

    def __init__(self, path: Path, symbols: SymbolCache) -> None:
        self._path = path
        self._symbols = symbols
        self._decode = msgspec.msgpack.Decoder(FileRecord).decode
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            if path.stat().st_size > MAX_CACHE_BYTES:
                path.unlink()

    def records(self, commit: Readable, entries: Sequence[Entry]) -> Iterator[tuple[Entry, FileRecord]]:
        """Each file with its record, in no particular order; files too large to have one are left out."""
        wanted: dict[str, list[Entry]] = {}
        for entry in entries:
            if entry.kind == "file" and 0 < entry.size <= MAX_BYTES:
                wanted.setdefault(_key(entry), []).append(entry)
        for key, value in self.kept(list(wanted)):
            with suppress(msgspec.DecodeError, zstandard.ZstdError):
                record = self._decode(zstandard.decompress(value))
                for entry in wanted.pop(key):
                    yield entry, record
        if wanted:
            yield from self._made(commit, wanted)

    def _made(self, commit: Readable, wanted: dict[str, list[Entry]]) -> Iterator[tuple[Entry, FileRecord]]:
        fresh: list[tuple[str, bytes]] = []
        parsed: list[tuple[Entry, tuple[Symbol, ...]]] = []
        missing = [entries[0] for entries in wanted.values()]
        known = self._symbols.known(missing)
        for entry, content in commit.read_many(missing):
            language = language_of(entry.path)
            text = b"" if b"\0" in content[:8000] else content
            symbols = known.get(entry.path)
            if symbols is None and language is not None:
                symbols = extract(language, text)
                parsed.append((entry, symbols))
            record = record_of(text, language, symbols or ())
            key = _key(entry)
            fresh.append((key, zstandard.compress(msgspec.msgpack.encode(record), 3)))
            for same in wanted[key]:
                yield same, record
        self._symbols.keep_all(parsed)
        self.keep(fresh)

    def kept(self, keys: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """What is kept under these keys; those that are not kept are left out."""
        with suppress(sqlite3.Error), closing(self._connect()) as connection:
            for at in range(0, len(keys), _ASKED_AT_ONCE):
                some = keys[at : at + _ASKED_AT_ONCE]
                marks = ",".join("?" * len(some))
                yield from connection.execute(f"select key, value from kept where key in ({marks})", some)  # noqa: S608

    def keep(self, values: Sequence[tuple[str, bytes]]) -> None:
        """Afterwards these are kept, unless the file cannot be written."""
        if values:
            with suppress(sqlite3.Error), closing(self._connect()) as connection, connection:
                connection.execute("begin")
                connection.executemany("insert or replace into kept values (?, ?)", values)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=5.0, isolation_level=None)
        connection.execute("pragma synchronous = off")
        connection.execute("create table if not exists kept (key text primary key, value blob) without rowid")
        return connection


def _key(entry: Entry) -> str:
    return f"{FORM}:{language_of(entry.path) or ''}:{entry.blob}"
