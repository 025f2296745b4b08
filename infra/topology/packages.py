"""Which packages each image gets: those that its process' modules import, and what these need, out of the lock."""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
SETS: Mapping[str, tuple[str, ...]] = {
    "web": ("app.cli", "app.main"),
    "mint": ("app.cli", "worker.main:run_mint"),
    "beat": ("app.cli", "worker.main:run_beat"),
    "egress": ("app.cli", "worker.main:", "worker.way_out"),
    "belt": ("app.cli", "worker.main:run_belt"),
}
"""Where each process begins: a module, or one function of it with what stands above it, by the image's set."""

BY_NAME: Mapping[str, tuple[str, ...]] = {
    "uvicorn": ("httptools", "uvloop"),
    "sqlalchemy": ("psycopg",),
    "celery": ("redis",),
    "githubkit": ("hishel",),
    "tree-sitter": (
        "tree-sitter-c", "tree-sitter-cpp", "tree-sitter-go", "tree-sitter-java", "tree-sitter-javascript",
        "tree-sitter-python", "tree-sitter-ruby", "tree-sitter-rust", "tree-sitter-typescript",
    ),
}  # fmt: skip
"""What is loaded by its name by what stands before it, without an import."""

_OWN = ("app", "worker", "infra", "plan_templates")


def lock_of(name: str) -> str:
    """The part of the lock for one set."""
    entries = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text().strip())
    wanted = needed(imported(SETS[name]))
    return "".join(f"{entry}\n" for entry in entries if entry.partition("==")[0] in wanted)


def imported(entries: Iterable[str]) -> set[str]:
    """The packages that the modules import which are reached from these, under their names on the index."""
    provides = packages_distributions()
    found: set[str] = set()
    waiting, seen = list(entries), set[str]()
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        for name in _imports(module):
            top = name.partition(".")[0]
            if top in _OWN:
                waiting += _files_of(name)
            else:
                found |= {canonicalize_name(one) for one in provides.get(top, [])}
    return found


def needed(packages: Iterable[str]) -> set[str]:
    """These, what they load by name, and whatever all of them require here, with the extras that we ask for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [Requirement(one) for one in project["dependencies"]]
    extras = {canonicalize_name(one.name): tuple(one.extras) for one in asked}
    # Each with an extra of its own; the empty one is the package itself.
    waiting, found = [(canonicalize_name(one), "") for one in packages], set[tuple[str, str]]()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        waiting += [(name, more) for more in extras.get(name, ())]
        waiting += [(canonicalize_name(one), "") for one in BY_NAME.get(name, ())]
        for one in map(Requirement, requires(name) or ()):
            if one.marker is None or one.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(one.name), more) for more in ("", *one.extras)]
    return {name for name, _ in found}


def _files_of(name: str) -> Iterator[str]:
    """The modules that importing a dotted name loads: itself where it is one, and every room on the way."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        if _path(".".join(parts[:end])) is not None:
            yield ".".join(parts[:end])


def _path(module: str) -> Path | None:
    place = ROOT.joinpath(*module.split("."))
    return next((one for one in (place.with_suffix(".py"), place / "__init__.py") if one.is_file()), None)


def _imports(module: str) -> Iterator[str]:
    name, colon, function = module.partition(":")
    path = _path(name)
    assert path is not None, f"{name} is no module of ours"
    tree = ast.parse(path.read_text())
    nodes: Iterable[ast.AST] = _walked(tree)
    if colon:
        above = [one for one in tree.body if not isinstance(one, ast.FunctionDef | ast.ClassDef)]
        nodes = [node for one in (*above, *_called(tree, function)) for node in _walked(one)]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (item.name for item in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{item.name}" for item in node.names)
    if path.parent.name == "ledger" and path.stem == "migrating":
        yield "app.ledger.migrations.env"


def _called(tree: ast.Module, name: str) -> list[ast.FunctionDef]:
    """The function, and those of the same module that it names, however far."""
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    waiting, found = [name] if name else [], dict[str, ast.FunctionDef]()
    while waiting:
        one = waiting.pop()
        if one in functions and one not in found:
            found[one] = functions[one]
            waiting += [node.id for node in ast.walk(functions[one]) if isinstance(node, ast.Name)]
    return list(found.values())


def _walked(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but what stands there for the type checker alone."""
    for_types = isinstance(tree, ast.If) and isinstance(tree.test, ast.Name) and tree.test.id == "TYPE_CHECKING"
    if not for_types:
        yield tree
        for child in ast.iter_child_nodes(tree):
            yield from _walked(child)
