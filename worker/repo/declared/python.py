"""Python: requirements files, pyproject.toml, setup.cfg, setup.py (read, not run), Pipfile, conda environments."""

import ast
import configparser
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml
from packaging.requirements import InvalidRequirement, Requirement

from worker.repo.declared.words import Found, Need, Unread

LONGEST_LINE = 4_000
_NAME = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(.*)")


def requirements(text: str) -> Found:
    """`requirements.txt` and its kin, with what they include named and not followed."""
    joined = re.sub(r"\\\r?\n", " ", text)
    for raw in joined.splitlines():
        line = re.sub(r"(^|\s)#.*$", "", raw[:LONGEST_LINE]).strip()
        included = re.match(r"(?:-r|--requirement|-c|--constraint)[\s=]+(\S+)", line)
        if included:
            yield Unread(f"it includes {included[1]}, which is told by itself")
        elif line.startswith(("-e", "--editable")):
            yield Need(line.split(None, 1)[-1], "", "editable")
        elif line and not line.startswith("-"):
            yield one(re.sub(r"\s--hash=\S+", "", line))


def pyproject(text: str) -> Found:
    """PEP 621 and PEP 735, what the build needs, and Poetry's own tables."""
    loaded = tomllib.loads(text)
    project = _table(loaded.get("project"))
    if project.get("requires-python"):
        yield Need("python", str(project["requires-python"]))
    yield from _listed(project.get("dependencies"), "")
    for group, entries in _table(project.get("optional-dependencies")).items():
        yield from _listed(entries, f"extra {group}")
    for group, entries in _table(loaded.get("dependency-groups")).items():
        yield from _listed([entry for entry in _list(entries) if isinstance(entry, str)], f"group {group}")
    yield from _listed(_table(loaded.get("build-system")).get("requires"), "build")
    if "dependencies" in _list(project.get("dynamic")):
        yield Unread("its dependencies are computed when it is built")
    poetry = _table(_table(loaded.get("tool")).get("poetry"))
    yield from _tables(poetry.get("dependencies"), "")
    yield from _tables(poetry.get("dev-dependencies"), "dev")
    for group, inside in _table(poetry.get("group")).items():
        yield from _tables(_table(inside).get("dependencies"), f"group {group}")


def setup_cfg(text: str) -> Found:
    """The options of setuptools."""
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error).split("\n")[0]) from error
    if parser.has_section("options"):
        options = dict(parser.items("options"))
        if options.get("python_requires"):
            yield Need("python", options["python_requires"].strip())
        yield from _listed(_entries(options.get("install_requires", "")), "")
        yield from _listed(_entries(options.get("tests_require", "")), "test")
        yield from _listed(_entries(options.get("setup_requires", "")), "build")
    if parser.has_section("options.extras_require"):
        for group, entries in parser.items("options.extras_require"):
            yield from _listed(_entries(entries), f"extra {group}")


def setup_py(text: str) -> Found:
    """What `setup()` is called with, as far as it stands there as a literal."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and _called(node) == "setup"]
    groups = {"install_requires": "", "tests_require": "test", "setup_requires": "build"}
    for given in (keyword for call in calls for keyword in call.keywords):
        if given.arg not in (*groups, "extras_require", "python_requires"):
            continue
        try:
            value = ast.literal_eval(given.value)
        except (ValueError, TypeError, SyntaxError, MemoryError):
            yield Unread(f"`{given.arg}` is computed when it is run")
            continue
        if given.arg == "python_requires":
            yield Need("python", str(value))
        elif given.arg == "extras_require":
            for group, entries in _table(value).items():
                yield from _listed(entries, f"extra {group}")
        else:
            yield from _listed([value] if isinstance(value, str) else value, groups[given.arg])


def pipfile(text: str) -> Found:
    """Pipenv's manifest."""
    loaded = tomllib.loads(text)
    yield from _tables(loaded.get("packages"), "")
    yield from _tables(loaded.get("dev-packages"), "dev")


def conda(text: str) -> Found:
    """A conda environment, with the pip packages in it."""
    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error).split("\n")[0]) from error
    for entry in _list(_table(loaded).get("dependencies")):
        if isinstance(entry, str):
            name = re.split(r"[=<>!~ ]", entry, maxsplit=1)[0]
            yield Need(name.rpartition("::")[2], entry[len(name) :].strip())
        elif isinstance(entry, Mapping):
            yield from _listed(entry.get("pip"), "pip")


def one(text: str, group: str = "") -> Need:
    """A requirement by PEP 508, or as near to one as can be."""
    try:
        found = Requirement(text)
    except InvalidRequirement:
        near = _NAME.match(text)
        return Need(near[1], near[2].strip(), group) if near else Need(text[:200], "", group)
    asked = f"@ {found.url}" if found.url else str(found.specifier)
    return Need(found.name, f"{asked}; {found.marker}".strip("; ") if found.marker else asked, group)


def _listed(entries: Any, group: str) -> Iterator[Need]:
    for entry in _list(entries):
        if isinstance(entry, str) and entry.strip():
            yield one(entry.strip(), group)


def _tables(entries: Any, group: str) -> Iterator[Need]:
    """Poetry's and Pipenv's form: a name and a range, or a table of them."""
    for name, value in _table(entries).items():
        for each in value if isinstance(value, list) else [value]:
            yield Need(str(name), _range(each), group)


def _range(value: Any) -> str:
    if isinstance(value, str):
        return value
    table = _table(value)
    told = (f"{key} {table[key]}" for key in ("version", "git", "path", "url") if table.get(key))
    return next(told, "").removeprefix("version ")


def _entries(text: str) -> Iterable[str]:
    return [line for raw in text.split("\n") if (line := raw.split(" #")[0].strip())]


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | set) else []
