"""Files that fit on a few screens, functions on one, and names that say what a thing is."""

import ast
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import ROOT, name, parsed, python_files, rooms

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
MOST_ARGUMENTS = 5
MEDIAN_FILE = 130
EMPTY_NAMES = ("util", "utils", "manager", "helper", "helpers", "service", "base", "data", "info", "misc", "common")

# `path` or `path:function` → why it may be larger.
LARGER: dict[str, str] = {
    "worker/box/tool.py:run_tool": "One door for every fixed program; each keyword is a thing that a caller decides.",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[str, Function]]:
    for path in python_files("app", "worker"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, Function):
                yield f"{name(path)}:{node.name}", node


def arguments(function: Function) -> list[ast.arg]:
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [argument for argument in given if argument.arg not in {"self", "cls"}]


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_no_file_is_longer_than_it_may_be() -> None:
    long = {name(path): lines(path) for path in python_files("app", "worker") if lines(path) > LONGEST_FILE}
    assert {path: length for path, length in long.items() if path not in LARGER} == {}


def test_half_of_all_files_are_short() -> None:
    lengths = [lines(path) for path in python_files("app", "worker") if path.name != "__init__.py"]
    assert statistics.median(lengths) <= MEDIAN_FILE


def test_no_function_is_longer_than_a_screen() -> None:
    long = {place: (node.end_lineno or 0) - node.lineno + 1 for place, node in functions()}
    assert {place: size for place, size in long.items() if size > LONGEST_FUNCTION and place not in LARGER} == {}


def test_no_function_takes_more_arguments_than_one_can_keep_in_mind() -> None:
    many = {place: len(arguments(node)) for place, node in functions()}
    assert {place: count for place, count in many.items() if count > MOST_ARGUMENTS and place not in LARGER} == {}


def test_no_argument_that_another_module_gives_is_a_bare_yes_or_no() -> None:
    bare = {
        f"{place}({argument.arg})"
        for place, node in functions()
        if not node.name.startswith("_")
        for argument in arguments(node)
        if isinstance(argument.annotation, ast.Name) and argument.annotation.id == "bool"
    }
    assert bare == set()


def test_every_exception_is_still_needed_and_has_its_reason() -> None:
    there = {name(path) for path in python_files("app", "worker")} | {place for place, _ in functions()}
    assert LARGER.keys() - there == set()
    assert all(len(reason.split()) >= 4 for reason in LARGER.values())


def test_no_module_and_no_class_has_an_empty_name() -> None:
    files = python_files("app", "worker", "infra")
    modules = {name(path) for path in files if path.stem in EMPTY_NAMES or path.parent.name in EMPTY_NAMES}
    classes = {
        f"{name(path)}:{node.name}"
        for path in files
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef) and re.search(r"(Utils?|Manager|Helpers?|Service|Base)$", node.name)
    }
    assert modules | classes == set()


def test_every_room_says_what_lives_there_what_it_may_import_and_what_it_refuses() -> None:
    silent = {}
    for room in rooms("app", "worker"):
        said = ast.get_docstring(parsed(room / "__init__.py")) or ""
        sentences = [part for part in re.split(r"(?<=[.!?])\s+", said) if len(part.split()) >= 3]
        if len(sentences) < 3:
            silent[name(room)] = said
    assert silent == {}


def test_a_room_opens_without_loading_anything_heavy() -> None:
    heavy = {"alembic", "anthropic", "celery", "fastapi", "githubkit", "kombu", "sqlalchemy", "tree_sitter"}
    names = [name(room).replace("/", ".") for room in rooms("app", "worker")]
    script = (
        "import importlib, sys\n"
        f"for room in {names!r}:\n"
        "    importlib.import_module(room)\n"
        f"    heavy = {heavy!r} & sys.modules.keys()\n"
        "    assert not heavy, f'{room} loads {sorted(heavy)}'\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_rules_look_at_a_house_that_is_there() -> None:
    assert len(python_files("app", "worker")) > 20
    assert {"core", "ledger", "comments", "web"} <= {room.name for room in rooms("app")}
    assert (ROOT / "pyproject.toml").exists()
