"""Tests fake the other side of the wire and never our own functions; none is left out without a reason."""

import ast
import re
from pathlib import Path

import pytest

from tests.house.tree import name, names_in, parsed, python_files

MOCKS = re.compile(r"(unittest\.mock|mock|pytest_mock)(\.|$)")
REPLACES = {"setattr", "delattr", "setitem", "delitem"}


def mocked(tree: ast.Module) -> list[int]:
    """The lines on which a test puts something of its own in the place of a function or attribute."""
    found = [line for line, said in names_in(tree) if MOCKS.match(said)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id in {"monkeypatch", "patch"} and node.func.attr in REPLACES:
                found.append(node.lineno)
        if isinstance(node, ast.arg) and node.arg == "mocker":
            found.append(node.lineno)
    return sorted(set(found))


def skipped_without_reason(tree: ast.Module) -> list[int]:
    """The lines on which a test is left out, or expected to fail, and nothing says why."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            said = ast.unparse(node.func)
            if said in {"pytest.skip", "pytest.importorskip"} and not (node.args or node.keywords):
                found.append(node.lineno)
            if said in {"pytest.mark.skip", "pytest.mark.skipif", "pytest.mark.xfail"} and "reason" not in {
                keyword.arg for keyword in node.keywords
            }:
                found.append(node.lineno)
        if isinstance(node, Function):
            bare = {ast.unparse(decorator) for decorator in node.decorator_list}
            if bare & {"pytest.mark.skip", "pytest.mark.xfail"}:
                found.append(node.lineno)
    return sorted(set(found))


Function = ast.FunctionDef | ast.AsyncFunctionDef


def places(rule: str) -> list[str]:
    look = {"mocked": mocked, "skipped": skipped_without_reason}[rule]
    return [f"{name(path)}:{line}" for path in python_files("tests") for line in look(parsed(path))]


def test_no_test_replaces_a_function() -> None:
    assert places("mocked") == []


def test_no_test_is_left_out_without_a_reason() -> None:
    assert places("skipped") == []


@pytest.mark.parametrize("text", [
    "from unittest import mock\nmock.patch('a')", "from unittest.mock import patch", "def test_a(mocker): ...",
    "def test_a(monkeypatch):\n    monkeypatch.setattr('app.core.plan.digest', str)",
])  # fmt: skip
def test_every_way_to_replace_a_function_is_seen(text: str) -> None:
    assert mocked(ast.parse(text))


@pytest.mark.parametrize("text", [
    "pytest.skip()", "@pytest.mark.skip\ndef test_a(): ...", "@pytest.mark.skipif(True)\ndef test_a(): ...",
    "@pytest.mark.xfail\ndef test_a(): ...",
])  # fmt: skip
def test_every_silent_way_to_leave_a_test_out_is_seen(text: str) -> None:
    assert skipped_without_reason(ast.parse(text))


def test_every_test_file_is_collected_under_a_name_of_its_own() -> None:
    seen: dict[str, list[Path]] = {}
    for path in python_files("tests"):
        if path.name.startswith("test_"):
            seen.setdefault(path.name, []).append(path)
    assert {stem: paths for stem, paths in seen.items() if len(paths) > 1} == {}


def test_every_test_says_a_sentence() -> None:
    curt = [
        f"{name(path)}:{node.name}"
        for path in python_files("tests")
        for node in ast.walk(parsed(path))
        if isinstance(node, Function) and node.name.startswith("test_") and node.name.count("_") < 3
    ]
    assert curt == []
