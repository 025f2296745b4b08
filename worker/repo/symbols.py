"""Definitions in source files, by tree-sitter. An unchanged file is parsed once: results are kept by blob id."""

import importlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from worker.repo.tree import Entry, Tree

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_PARSED_BYTES = 1_500_000
_CACHE_FORM = 1
"""Counted up when what is extracted changes, so that older results are not used."""

_MAX_CACHE_BYTES = 256_000_000
_LONGEST_NAME = 600
"""Characters of a name with the names around it: nesting must not make more text than the file has."""

_FUNCTIONS = {"function", "method", "constructor", "macro"}

_JAVASCRIPT = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "class_declaration": "class",
    "method_definition": "method",
    "variable_declarator": "function",
}
_TYPESCRIPT = _JAVASCRIPT | {
    "abstract_class_declaration": "class",
    "interface_declaration": "interface",
    "type_alias_declaration": "type",
    "enum_declaration": "enum",
    "internal_module": "namespace",
    "function_signature": "function",
}
_C = {
    "function_definition": "function",
    "struct_specifier": "struct",
    "union_specifier": "union",
    "enum_specifier": "enum",
    "type_definition": "type",
    "preproc_function_def": "macro",
}

_KINDS: dict[str, dict[str, str]] = {
    "python": {"function_definition": "function", "class_definition": "class", "assignment": "value"},
    "javascript": _JAVASCRIPT,
    "typescript": _TYPESCRIPT,
    "tsx": _TYPESCRIPT,
    "go": {"function_declaration": "function", "method_declaration": "method", "type_spec": "type"},
    "java": {
        "class_declaration": "class",
        "interface_declaration": "interface",
        "enum_declaration": "enum",
        "record_declaration": "record",
        "annotation_type_declaration": "annotation",
        "method_declaration": "method",
        "constructor_declaration": "constructor",
    },
    "rust": {
        "function_item": "function",
        "function_signature_item": "function",
        "struct_item": "struct",
        "enum_item": "enum",
        "trait_item": "trait",
        "impl_item": "impl",
        "mod_item": "module",
        "type_item": "type",
        "macro_definition": "macro",
    },
    "ruby": {"method": "method", "singleton_method": "method", "class": "class", "module": "module"},
    "c": _C,
    "cpp": _C | {"class_specifier": "class", "namespace_definition": "namespace"},
}

_GRAMMARS: dict[str, tuple[str, str]] = {
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
}

_ENDINGS = {
    "py": "python", "pyi": "python", "js": "javascript", "jsx": "javascript", "mjs": "javascript",
    "cjs": "javascript", "ts": "typescript", "mts": "typescript", "cts": "typescript", "tsx": "tsx", "go": "go",
    "java": "java", "rs": "rust", "rb": "ruby", "rake": "ruby", "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp",
    "cxx": "cpp", "hh": "cpp", "hpp": "cpp", "hxx": "cpp",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Symbol:
    """One definition: `name` with the names around it (`Cart.add`), lines from 1, both included."""

    name: str
    kind: str
    start: int
    end: int


def language_of(path: str) -> str | None:
    """The language by the file's ending, or None where no grammar is here for it."""
    name = path.rpartition("/")[2]
    return _ENDINGS.get(name.rpartition(".")[2].lower()) if "." in name else None


_PARSERS = threading.local()
"""A parser works on one text at a time, so each thread has its own."""


def parser_of(language: str) -> "Parser":
    """This thread's parser of a language."""
    from tree_sitter import Language, Parser

    known: dict[str, Parser] = _PARSERS.__dict__.setdefault("by_language", {})
    if language not in known:
        module, function = _GRAMMARS.get(language, (f"tree_sitter_{language}", "language"))
        known[language] = Parser(Language(getattr(importlib.import_module(module), function)()))
    return known[language]


def extract(language: str, content: bytes) -> tuple[Symbol, ...]:
    """The definitions of one file in the order they stand. Bodies of functions are not searched."""
    if len(content) > MAX_PARSED_BYTES:
        return ()
    return tuple(_walk(language, parser_of(language).parse(content).root_node))


def _walk(language: str, root: "Node") -> Iterator[Symbol]:
    kinds = _KINDS[language]
    stack: list[tuple[Node, str]] = [(root, "")]
    while stack:
        node, around = stack.pop()
        kind = kinds.get(node.type)
        name = _name(node, kind) if kind is not None else ""
        if kind is not None and name:
            if kind == "function" and around and language == "python":
                kind = "method"
            whole = f"{around}.{name}" if around else name
            yield Symbol(whole, kind, node.start_point.row + 1, node.end_point.row + 1)
            if kind in _FUNCTIONS or kind == "value":
                continue
            # What stands deeper than names are told is named below the last that is.
            around = whole if len(whole) <= _LONGEST_NAME else around
        elif kind in _FUNCTIONS or node.type in ("lambda", "arrow_function", "function_expression"):
            continue
        stack.extend((child, around) for child in reversed(node.named_children))


def _name(node: "Node", kind: str) -> str:
    """The defined name; empty where the node defines nothing that people look for."""
    if node.type == "assignment":
        statement = node.parent
        top = statement is not None and statement.parent is not None and statement.parent.type == "module"
        left = node.child_by_field_name("left")
        return _text(left) if top and left is not None and left.type == "identifier" else ""
    if node.type == "variable_declarator":
        value = node.child_by_field_name("value")
        if value is None or value.type not in ("arrow_function", "function_expression"):
            return ""
    if node.type.endswith("_specifier") and node.child_by_field_name("body") is None:
        return ""
    named = node.child_by_field_name("name") or node.child_by_field_name("type" if kind == "impl" else "declarator")
    while named is not None and (inner := named.child_by_field_name("declarator")) is not None:
        named = inner
    return _text(named) if named is not None else ""


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")[:200]


class SymbolCache:
    """Symbols by blob id in one file. What cannot be read or written is parsed again: the cache decides nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            if path.stat().st_size > _MAX_CACHE_BYTES:
                path.unlink()

    def symbols(self, tree: Tree, path: str) -> tuple[Symbol, ...] | None:
        """The definitions of one file of a tree; None where its language is not known. Raises KeyError."""
        entry, language = tree.entry(path), language_of(path)
        if entry is None or entry.kind != "file":
            raise KeyError(path)
        if language is None:
            return None
        key = _key(language, entry.blob)
        known = self._look_up(key) if entry.blob else None
        if known is None:
            known = extract(language, tree.read(path))
            if entry.blob:
                self._keep(key, known)
        return known

    def known(self, entries: Sequence[Entry]) -> dict[str, tuple[Symbol, ...]]:
        """The definitions of those files that were parsed before, by path; one look-up for all."""
        keys = {entry.path: _key(language, entry.blob) for entry in entries if (language := language_of(entry.path))}
        found: dict[str, tuple[Symbol, ...]] = {}
        with suppress(sqlite3.Error, ValueError, TypeError), closing(self._connect()) as connection:
            for path, key in keys.items():
                row = connection.execute("select found from symbols where key = ?", (key,)).fetchone()
                if row is not None:
                    found[path] = tuple(Symbol(*fields) for fields in json.loads(row[0]))
        return found

    def keep_all(self, parsed: Sequence[tuple[Entry, tuple[Symbol, ...]]]) -> None:
        """Afterwards nobody parses these files again. They are kept in one transaction."""
        rows = [
            (_key(language, entry.blob), _written(symbols))
            for entry, symbols in parsed
            if (language := language_of(entry.path)) and entry.blob
        ]
        with suppress(sqlite3.Error), closing(self._connect()) as connection:
            connection.execute("begin")
            connection.executemany("insert or replace into symbols values (?, ?)", rows)
            connection.execute("commit")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=5.0, isolation_level=None)
        connection.execute("pragma synchronous = off")
        connection.execute("create table if not exists symbols (key text primary key, found text) without rowid")
        return connection

    def _look_up(self, key: str) -> tuple[Symbol, ...] | None:
        with suppress(sqlite3.Error, ValueError, TypeError), closing(self._connect()) as connection:
            row = connection.execute("select found from symbols where key = ?", (key,)).fetchone()
            if row is not None:
                return tuple(Symbol(*fields) for fields in json.loads(row[0]))
        return None

    def _keep(self, key: str, symbols: tuple[Symbol, ...]) -> None:
        with suppress(sqlite3.Error), closing(self._connect()) as connection:
            connection.execute("insert or replace into symbols values (?, ?)", (key, _written(symbols)))


def _key(language: str, blob: str) -> str:
    return f"{_CACHE_FORM}:{language}:{blob}"


def _written(symbols: tuple[Symbol, ...]) -> str:
    return json.dumps([[one.name, one.kind, one.start, one.end] for one in symbols])
