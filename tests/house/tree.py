"""The project's own files, as the tests of the house read them."""

import ast
import functools
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def python_files(*tops: str) -> list[Path]:
    """Every Python file below the named folders, sorted."""
    return sorted(path for top in tops for path in (ROOT / top).rglob("*.py") if "__pycache__" not in path.parts)


def rooms(*tops: str) -> list[Path]:
    """Every room: a package that stands directly in one of the named folders."""
    return sorted(path.parent for top in tops for path in (ROOT / top).glob("*/__init__.py"))


def name(path: Path) -> str:
    """The path as one writes it: from the project's root."""
    return path.relative_to(ROOT).as_posix()


@functools.cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(), str(path))


@functools.cache
def kept_files() -> list[Path]:
    """Every file that is, or is about to be, in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return sorted({path for line in listed.stdout.split("\0") if line and (path := ROOT / line).is_file()})


def dotted(node: ast.AST) -> str:
    """`os.path.join` for the expression that says so; empty for anything that is not a plain dotted name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (left := dotted(node.value)):
        return f"{left}.{node.attr}"
    return ""


def names_used(path: Path) -> Iterator[tuple[int, str]]:
    """Each dotted name that the file uses, with its line, whatever it was imported as."""
    return names_in(parsed(path))


def names_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each imported dotted name that the code uses, with its line, whatever it was imported as."""
    meaning: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                top = item.name.partition(".")[0]
                meaning[item.asname or top] = item.name if item.asname else top
                yield node.lineno, item.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for item in node.names:
                meaning[item.asname or item.name] = f"{node.module}.{item.name}"
                yield node.lineno, f"{node.module}.{item.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name) and (said := dotted(node)):
            first, _, rest = said.partition(".")
            if first in meaning:
                yield node.lineno, ".".join(filter(None, [meaning[first], rest]))
