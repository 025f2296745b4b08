"""How a repository's own files import a name: what people leave out when they show a line of code."""

import re
from collections.abc import Iterable

from worker.repo.searching import Hit, Query, SearchRefused
from worker.repo.snapshot import Snapshot

MOST_NAMES = 8
_LINES = 400
_FILES = 2
_SOURCES = ("", "src/", "lib/")


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
    files: dict[str, set[str]] = {}
    for hit in _hits(snapshot, pattern):
        files.setdefault(_import(hit.text, name), set()).add(hit.path)
    usual = {line: len(paths) for line, paths in files.items() if line and _holds(snapshot, line, len(paths))}
    return min(usual, key=lambda line: (-usual[line], line), default="") or _defined(snapshot, name)


def _hits(snapshot: Snapshot, pattern: str, glob: str = "") -> tuple[Hit, ...]:
    try:
        return snapshot.search(Query(pattern, "regex", limit=_LINES, glob=glob)).hits
    except SearchRefused:
        return ()


def _defined(snapshot: Snapshot, name: str) -> str:
    """The import of a name that one file of the project defines at its top."""
    paths = {hit.path for hit in _hits(snapshot, rf"^(?:class|def|async def) {name}\b", "*.py")}
    modules = {module for module in (_module(snapshot, path) for path in paths) if module}
    return f"from {modules.pop()} import {name}" if len(modules) == 1 else ""


def _module(snapshot: Snapshot, path: str) -> str:
    """The name by which the file is imported; empty for one that is in no package of the project."""
    source = next((one for one in _SOURCES if one and path.startswith(one)), "")
    parts = path.removeprefix(source).removesuffix(".py").removesuffix("/__init__").split("/")
    packages = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
    whole = all(snapshot.entry(f"{source}{one}/__init__.py") is not None for one in packages)
    return ".".join(parts) if whole and packages and all(part.isidentifier() for part in parts) else ""


def _holds(snapshot: Snapshot, line: str, files: int) -> bool:
    """Whether it would work from anywhere: a package of the project itself, or one that several files have.

    A module within some folder of the tree is found only from there.
    """
    top = line.split()[1].partition(".")[0]
    names = (f"{top}.py", f"{top}/__init__.py")
    if any(snapshot.entry(f"{source}{name}") is not None for source in _SOURCES for name in names):
        return True
    inner = any(entry.path.endswith(tuple(f"/{name}" for name in names)) for entry in snapshot.list())
    return files >= _FILES and not inner


def _import(text: str, name: str) -> str:
    if aliased := re.search(rf"\bfrom ([A-Za-z][\w.]*) import .*\b(\w+) as {name}\b", text):
        return f"from {aliased[1]} import {aliased[2]} as {name}"
    if plain := re.search(rf"\bimport ([A-Za-z][\w.]*) as {name}\b", text):
        return f"import {plain[1]} as {name}"
    if member := re.search(rf"\bfrom ([A-Za-z][\w.]*) import [^#\n]*\b{name}\b(?! as )", text):
        return f"from {member[1]} import {name}"
    return f"import {name}" if re.search(rf"\bimport {name}\b", text) else ""
