"""What the code imports is what the project file asks for: nothing by accident, nothing for nothing."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.house.tree import ROOT, name, parsed, python_files

OWN = {"app", "worker", "infra", "tests", "plan_templates"}
# Asked for without an import of ours: what loads it by its name.
LOADED_BY_NAME = {
    "hishel": "githubkit keeps its cache with it; the bound is ours",
    "httptools": "uvicorn reads HTTP with it",
    "psycopg": "SQLAlchemy opens postgresql+psycopg:// with it",
    "redis": "kombu rings redis:// with it",
    "uvloop": "uvicorn runs on it",
    "uvicorn": "serves the web process",
}


def plain(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def asked(part: str) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    entries = project["dependencies"] if part == "product" else project["optional-dependencies"]["test"]
    return {plain(entry) for entry in entries}


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found |= {item.name.partition(".")[0] for item in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - OWN - sys.stdlib_module_names


def not_asked_for(tops: tuple[str, ...], asked_for: set[str]) -> set[str]:
    provides = packages_distributions()
    return {
        f"{name(path)}: {module}"
        for path in python_files(*tops)
        for module in imported(path)
        if not {plain(package) for package in provides.get(module, [])} & asked_for
    }


def test_the_product_imports_only_what_it_asks_for() -> None:
    assert not_asked_for(("app", "worker", "infra"), asked("product")) == set()


def test_the_tests_import_only_what_is_asked_for() -> None:
    assert not_asked_for(("tests",), asked("product") | asked("test")) == set()


def test_nothing_is_asked_for_that_nobody_uses() -> None:
    provides = packages_distributions()
    used = {
        plain(package)
        for path in python_files("app", "worker", "infra")
        for module in imported(path) | mentioned(path)
        for package in provides.get(module, [])
    }
    grammars = {package for package in asked("product") if package.startswith("tree-sitter-")}
    assert asked("product") - used - grammars - LOADED_BY_NAME.keys() == set()


def mentioned(path: Path) -> set[str]:
    """Modules that the file names in a string, as `importlib.import_module` wants it."""
    return {
        node.value
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier()
    }
