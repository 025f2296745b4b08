"""What is known of one file's content whatever it is searched for: made once for each blob."""

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from worker.repo.ranking.words import NAME, fingerprint
from worker.repo.symbols import Symbol

FORM = 1
"""Counted up when records are made differently, so that older ones are not used."""

MAX_BYTES = 1_000_000
"""Larger files are generated or data; they have no record."""

_LONG_LINE = 2_000


class FileRecord(msgspec.Struct, frozen=True, array_like=True):
    """A file's chunks and what stands in them.

    Chunk 0 is what no definition holds, chunk n the innermost lines of definition n - 1. `names` maps a name to
    chunk, count, chunk, count, …; `lengths` counts the names of each chunk; `literals` are short texts in quotes and
    `phrases` the fingerprints of three words of longer ones; `imports` are as written, relative ones with dots.
    """

    symbols: tuple[Symbol, ...]
    lengths: tuple[int, ...]
    names: dict[str, tuple[int, ...]]
    literals: tuple[str, ...]
    phrases: tuple[int, ...]
    imports: tuple[str, ...]


_IMPORTS: dict[str, re.Pattern[str]] = {
    "python": re.compile(
        r"^[ \t]*(?:from[ \t]+(?P<source>[.\w]+)[ \t]+import[ \t]+(?P<names>\([^)]{0,4000}\)|[^\n#]+)"
        r"|import[ \t]+(?P<plain>[\w., \t]+))",
        re.MULTILINE,
    ),
    "javascript": re.compile(r"(?:from|require\(|import\(?)\s*['\"](?P<plain>[^'\"\n]+)['\"]"),
    "go": re.compile(r"^[ \t]*(?:import\s+)?(?:[\w.]+\s+)?\"(?P<plain>[\w./-]+)\"[ \t]*$", re.MULTILINE),
    "java": re.compile(r"^[ \t]*import\s+(?:static\s+)?(?P<plain>[\w.]+)", re.MULTILINE),
    "rust": re.compile(r"^[ \t]*(?:pub\s+)?(?:use|mod)\s+(?:crate::|super::|self::)?(?P<plain>[\w:]+)", re.MULTILINE),
    "ruby": re.compile(r"^[ \t]*require(?:_relative)?\s+['\"](?P<plain>[^'\"\n]+)['\"]", re.MULTILINE),
    "c": re.compile(r"^[ \t]*#\s*include\s+[\"<](?P<plain>[^\">\n]+)[\">]", re.MULTILINE),
}
_IMPORTS |= {"typescript": _IMPORTS["javascript"], "tsx": _IMPORTS["javascript"], "cpp": _IMPORTS["c"]}

_STRING = re.compile(
    r"\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.){0,400}`",
    re.DOTALL,
)
_PLACEHOLDER = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(?:\(\w+\))?[a-zA-Z]|\$?\{[^{}]*\}|\\n")
_SHORT = re.compile(r"-{0,2}[\w][\w .:/-]{1,49}")
_DEFINES = re.compile(
    r"^[ \t]*(?:(?:export|public|private|protected|internal|static|final|abstract|open|override|async|sealed|"
    r"data|inline|virtual|default|local|fun)\s+)*(?:class|interface|trait|struct|enum|object|module|protocol|extension|namespace|"
    r"function|func|fun|fn|def|defp|defmodule|sub)\s+(?P<name>[\w.:?!]+)",
    re.MULTILINE,
)


def record_of(content: bytes, language: str | None, symbols: Sequence[Symbol]) -> FileRecord:
    """The record of one file. What cannot be decoded is replaced; minified lines are left out."""
    text = content.decode("utf-8", "replace")
    lines = [line if len(line) < _LONG_LINE else "" for line in text.split("\n")]
    if language is None:
        symbols = _plain_symbols(lines)
    names: dict[str, list[int]] = {}
    lengths = [0] * (len(symbols) + 1)
    for chunk, part in _chunks(lines, symbols):
        counted = Counter(NAME.findall(part))
        lengths[chunk] += sum(counted.values())
        for name, count in counted.items():
            if len(name) < 80:
                names.setdefault(name, []).extend((chunk, count))
    literals, phrases = _texts(text)
    return FileRecord(
        symbols=tuple(symbols),
        lengths=tuple(lengths),
        names={name: tuple(found) for name, found in names.items()},
        literals=tuple(sorted(literals)),
        phrases=tuple(sorted(phrases)),
        imports=_imports(text, language),
    )


def _chunks(lines: Sequence[str], symbols: Sequence[Symbol]) -> list[tuple[int, str]]:
    """Runs of lines with the chunk that owns them; symbols stand outer before inner."""
    owner = [0] * (len(lines) + 2)
    for number, symbol in enumerate(symbols, 1):
        start, end = symbol.start, min(symbol.end, len(lines))
        owner[start : end + 1] = [number] * (end + 1 - start)
    runs: list[tuple[int, str]] = []
    begin = 1
    for at in range(2, len(lines) + 2):
        if at == len(lines) + 1 or owner[at] != owner[begin]:
            runs.append((owner[begin], "\n".join(lines[begin - 1 : at - 1])))
            begin = at
    return runs


def _plain_symbols(lines: Sequence[str]) -> list[Symbol]:
    """Definitions by the look of their first line, each up to the next one, in languages without a grammar here."""
    starts = [(number, match["name"]) for number, line in enumerate(lines, 1) if (match := _DEFINES.match(line))]
    ends = [*(number - 1 for number, _ in starts[1:]), len(lines)][: len(starts)]
    return [Symbol(name, "definition", start, end) for (start, name), end in zip(starts, ends, strict=True)]


def _texts(text: str) -> tuple[set[str], set[int]]:
    literals: set[str] = set()
    phrases: set[int] = set()
    for quoted in _STRING.findall(text):
        inner = quoted.strip("\"'`")
        if len(inner) < 60 and _SHORT.fullmatch(inner):
            literals.add(inner.lstrip("-"))
        if " " in inner and len(inner) < 4_000:
            for piece in _PLACEHOLDER.split(inner):
                words = [word.lower() for word in NAME.findall(piece)]
                phrases.update(fingerprint(" ".join(words[at : at + 3])) for at in range(len(words) - 2))
    return literals, phrases


def _imports(text: str, language: str | None) -> tuple[str, ...]:
    pattern = _IMPORTS.get(language or "")
    if pattern is None:
        return ()
    found: dict[str, None] = {}
    for match in pattern.finditer(text):
        groups = match.groupdict()
        for plain in (
            re.split(r"[,\s]+", groups.get("plain") or "") if language == "python" else [groups["plain"] or ""]
        ):
            if plain and plain != "as":
                found[plain] = None
        source = groups.get("source")
        if source:
            joint = "" if source.endswith(".") else "."
            for name in re.findall(r"(\w+)(?:\s+as\s+\w+)?", groups["names"] or ""):
                found[f"{source}{joint}{name}"] = None
    return tuple(found)
