"""The dependency tool's answer for a model: which files declare what the repository needs, and what they say."""

import re

from app.core.verdict import Refused
from worker.repo.declared.files import Declared, Listed, declared, declaring
from worker.repo.declared.words import Need
from worker.repo.reading import Answer, told_path
from worker.repo.tree import Tree

MOST_FILES = 60
NEEDS_OF_ONE = 80
PLACES = 60
TOLD_CHARACTERS = 200


def dependency_files(tree: Tree, listed: Listed, path: str = "", name: str = "") -> Answer:
    """Every manifest with its needs and every lock with their number; for a name, where it is declared and locked."""
    path = "" if path in (".", "./") else path.removeprefix("./").strip("/")
    found = declaring(listed, path)
    if not found:
        where = f" below {told_path(path)}" if path else ""
        return Refused(f"No file{where} that declares dependencies is known here.")
    files = [declared(tree, one, kind) for one, kind in found[:MOST_FILES]]
    more = len(found) - MOST_FILES
    left = [f"… {more} more files that declare dependencies; narrow by path"] if more > 0 else []
    if name:
        return "\n".join([*_places(files, name), *left])
    return "\n".join([*(row for one in files for row in _rows(one)), *left])


def _rows(file: Declared) -> list[str]:
    what = "lock" if file.role == "lock" else "manifest"
    head = f"{told_path(file.path)} ({file.ecosystem} {what}, {len(file.needs):,} names)"
    rows = [] if file.role == "lock" else [f"  {_need(one)}" for one in file.needs[:NEEDS_OF_ONE]]
    if file.role == "lock" and file.needs:
        rows = ["  its versions are told for a name"]
    elif len(file.needs) > NEEDS_OF_ONE:
        rows.append(f"  … {len(file.needs) - NEEDS_OF_ONE} more; ask for a name")
    return [head, *rows, *_unread(file)]


def _places(files: list[Declared], name: str) -> list[str]:
    """Where names like this one are declared and locked; the very name first."""
    wanted = _folded(name)
    hits = [(one, file) for file in files for one in file.needs if wanted in _folded(one.name)]
    hits.sort(key=lambda hit: _folded(hit[0].name) != wanted)
    rows = [f"{told_path(file.path)} ({file.role}): {_need(one)}" for one, file in hits[:PLACES]]
    more = [f"… {len(hits) - PLACES} more places"] if len(hits) > PLACES else []
    unsure = [f"{told_path(file.path)}: {why}" for file in files for why in file.unread]
    nothing = [] if hits else [f"No file that was read declares {name[:TOLD_CHARACTERS]!r}."]
    return [*nothing, *rows, *more, *(["Not known:", *unsure] if unsure else [])]


def _need(one: Need) -> str:
    group = f" ({one.group})" if one.group else ""
    text = " ".join(f"{one.name} {one.range}{group}".split())
    return text if len(text) <= TOLD_CHARACTERS else text[:TOLD_CHARACTERS] + "…"


def _unread(file: Declared) -> list[str]:
    return [f"  not known: {why}" for why in file.unread]


def _folded(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
