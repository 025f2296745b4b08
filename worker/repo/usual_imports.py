"""How a repository's own files import a name: what people leave out when they show a line of code."""

import re
from collections.abc import Iterable

from worker.repo.searching import Query, SearchRefused
from worker.repo.snapshot import Snapshot

MOST_NAMES = 8
_LINES = 400
_FILES = 2


def usual_imports(snapshot: Snapshot, names: Iterable[str]) -> tuple[str, ...]:
    """For each name the Python import by which the repository's code and documentation most often have it.

    One line a name, in the order of the names; a name that is imported nowhere has none.
    """
    found = (_usual(snapshot, name) for name in list(dict.fromkeys(names))[:MOST_NAMES])
    return tuple(line for line in found if line)


def _usual(snapshot: Snapshot, name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w{0,60}", name, re.ASCII):
        return ""
    pattern = rf"^[\s>.*\"]*(?:import [\w.]+ as {name}\b|import {name}\b|from [A-Za-z][\w.]* import .*\b{name}\b)"
    try:
        hits = snapshot.search(Query(pattern, "regex", limit=_LINES)).hits
    except SearchRefused:
        return ""
    files: dict[str, set[str]] = {}
    for hit in hits:
        files.setdefault(_import(hit.text, name), set()).add(hit.path)
    # What one file alone imports is something of that file's own.
    usual = {line: len(paths) for line, paths in files.items() if line and len(paths) >= _FILES}
    return min(usual, key=lambda line: (-usual[line], line), default="")


def _import(text: str, name: str) -> str:
    if aliased := re.search(rf"\bfrom ([A-Za-z][\w.]*) import .*\b(\w+) as {name}\b", text):
        return f"from {aliased[1]} import {aliased[2]} as {name}"
    if plain := re.search(rf"\bimport ([A-Za-z][\w.]*) as {name}\b", text):
        return f"import {plain[1]} as {name}"
    if member := re.search(rf"\bfrom ([A-Za-z][\w.]*) import [^#\n]*\b{name}\b(?! as )", text):
        return f"from {member[1]} import {name}"
    return f"import {name}" if re.search(rf"\bimport {name}\b", text) else ""
