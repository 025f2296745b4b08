"""Environments for checks, made with the real pip from wheels that the test made itself."""

import base64
import hashlib
import socket
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from worker.box.box import Box, Command, Profile, Ran
from worker.box.checks import PYTEST, Ground, command_for, discover
from worker.box.environment import (
    CheckEnvironment,
    EnvironmentUnavailable,
    Workshop,
    build_environment,
    registry_variables,
)
from worker.box.preparing import prepare

RUNNER = """
import sys
from importlib.metadata import version
import needed, thing
print("runner", version("thing"), thing.ANSWER, needed.NAME, sys.argv[1:])
"""


def wheel(folder: Path, name: str, version: str, files: dict[str, str], requires: str = "") -> None:
    """A wheel as an index would give it."""
    place = f"{name}-{version}.dist-info"
    files = files | {
        f"{place}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + (f"Requires-Dist: {requires}\n" if requires else ""),
        f"{place}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(text.encode())}\n")
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{place}/RECORD", "".join(lines) + f"{place}/RECORD,,\n")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """A folder of wheels: a stand-in for pytest, and `needed` in two versions."""
    place = tmp_path / "wheels"
    place.mkdir()
    wheel(place, "pytest", "9.0", {"pytest/__init__.py": "", "pytest/__main__.py": RUNNER})
    for version in ("1.0", "2.0"):
        wheel(place, "needed", version, {"needed.py": f"NAME = 'needed {version}'\n"})
    return place


@pytest.fixture
def workshop(tmp_path: Path, index: Path) -> Workshop:
    variables = {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(index),
        "PIP_CONFIG_FILE": "/dev/null",
        "HOME": str(tmp_path),
    }
    return Workshop(tmp_path / "cache", variables)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    (place / "src" / "thing").mkdir(parents=True)
    (place / "tests").mkdir()
    (place / "src" / "thing" / "__init__.py").write_text("ANSWER = 42\n")
    (place / "tests" / "test_thing.py").write_text("")
    (place / "pyproject.toml").write_text(
        '[project]\nname = "thing"\nversion = "3.1"\noptional-dependencies.test = ["needed"]\n'
    )
    return place


@pytest.mark.needs_userns
def test_a_projects_tests_find_their_needs_in_the_box(box: Box, project: Path, workshop: Workshop) -> None:
    environment = build_environment(project, workshop)
    assert isinstance(environment, CheckEnvironment), str(environment)
    assert [(each.name, each.version) for each in environment.packages] == [("needed", "2.0"), ("pytest", "9.0")]
    (check,) = discover(project)
    command = command_for(check, ("tests/test_thing.py",), Ground(project, environments=(environment,)))
    assert isinstance(command, Command)
    result = box.run(project, command)
    assert isinstance(result, Ran)
    assert result.exit_status == 0, result.output.decode()
    words = [*PYTEST[3:], "tests/test_thing.py"]
    assert result.output.decode() == f"runner 3.1 42 needed 2.0 {words!r}\n"


@pytest.mark.needs_userns
def test_a_module_that_only_the_build_would_write_is_in_the_copy_and_not_in_the_tree(
    box: Box, project: Path, workshop: Workshop
) -> None:
    with (project / "pyproject.toml").open("a") as file:
        file.write('[tool.setuptools_scm]\nversion_file = "src/thing/_version.py"\n')
    environment = build_environment(project, workshop)
    assert isinstance(environment, CheckEnvironment), str(environment)
    words = ("/usr/bin/python3", "-c", "from thing._version import version, version_tuple as t; print(version, t)")
    command = Command(words, 20, Profile.TEST, environment.variables, (environment.directory,), links=environment.links)
    result = box.run(project, command)
    assert isinstance(result, Ran) and result.output == b"3.1 (3, 1)\n", result
    assert not (project / "src/thing/_version.py").exists()


def assert_sealed(directory: Path) -> None:
    """Any account can read all of it and none can change it."""
    for path in directory.rglob("*"):
        assert path.stat().st_mode & 0o222 == 0 and path.stat().st_mode & 0o444 == 0o444
    assert directory.stat().st_mode & 0o022 == 0
    assert (directory / "needed.py").read_text() == "NAME = 'needed 2.0'\n"


def test_a_second_build_starts_no_pip_and_gives_the_same_sealed_directory(project: Path, workshop: Workshop) -> None:
    first = build_environment(project, workshop)
    assert isinstance(first, CheckEnvironment), str(first)
    assert_sealed(first.directory)
    without = Workshop(workshop.cache, workshop.registry, pip=("/nowhere/pip",))
    assert build_environment(project, without) == first
    (project / "pyproject.toml").write_text('[project]\nname = "thing"\nversion = "3.1"\ndependencies = ["needed<2"]\n')
    assert isinstance(build_environment(project, without), EnvironmentUnavailable)


def test_what_is_installed_is_what_was_resolved(project: Path, workshop: Workshop, index: Path, tmp_path: Path) -> None:
    # A pip that changes the wheel between resolving and installing, as an index might.
    swap = tmp_path / "swap.py"
    swap.write_text(f"""
import pathlib, runpy, sys
if "--require-hashes" in sys.argv:
    path = pathlib.Path({str(index)!r}, "needed-2.0-py3-none-any.whl")
    path.write_bytes(path.read_bytes() + b" ")
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__")
""")
    swapping = Workshop(workshop.cache, workshop.registry, pip=(workshop.pip[0], str(swap)))
    refusal = build_environment(project, swapping)
    assert isinstance(refusal, EnvironmentUnavailable)
    assert "HASH" in refusal.reason.upper()
    assert not list((workshop.cache / "python").iterdir())


def test_builders_at_the_same_time_share_one_environment(project: Path, workshop: Workshop) -> None:
    made: list[object] = []
    threads = [threading.Thread(target=lambda: made.append(build_environment(project, workshop))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(str, made))) == 1 and isinstance(made[0], CheckEnvironment)
    assert [path.name for path in (workshop.cache / "python").iterdir()] == [made[0].digest]


def test_a_need_that_no_wheel_meets_is_a_reason_and_runs_nothing(project: Path, workshop: Workshop) -> None:
    (project / "pyproject.toml").write_text('[project]\nname = "thing"\nversion = "1"\ndependencies = ["needed>7"]\n')
    refusal = build_environment(project, workshop)
    assert isinstance(refusal, EnvironmentUnavailable)
    assert "needed>7" in refusal.reason and refusal.remedy and not refusal.passing


def test_an_index_that_cannot_be_reached_is_a_reason(project: Path, workshop: Workshop) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}/simple"
        variables = {"PIP_INDEX_URL": address, "PIP_CONFIG_FILE": "/dev/null", "PIP_RETRIES": "1"}
        refusal = build_environment(project, Workshop(workshop.cache, variables))
    assert isinstance(refusal, EnvironmentUnavailable)
    assert "cannot be reached" in refusal.reason and refusal.passing


def test_a_project_for_another_python_is_a_reason(project: Path, workshop: Workshop) -> None:
    (project / "pyproject.toml").write_text('[project]\nname = "thing"\nversion = "1"\nrequires-python = ">=4"\n')
    refusal = build_environment(project, workshop)
    assert isinstance(refusal, EnvironmentUnavailable) and ">=4" in refusal.reason


def test_a_need_with_an_address_of_its_own_is_a_reason(project: Path, workshop: Workshop) -> None:
    (project / "pyproject.toml").write_text('[project]\nname = "t"\nversion = "1"\ndependencies = ["x @ file:///x"]\n')
    assert isinstance(build_environment(project, workshop), EnvironmentUnavailable)


def test_an_environment_that_is_too_much_goes_when_nobody_uses_it_and_is_made_anew_when_wanted(
    project: Path, workshop: Workshop
) -> None:
    small = replace(workshop, most_bytes=1)
    used = prepare({"python"}, project, small)
    assert isinstance(used, tuple) and used[0].directory.is_dir()
    text = (project / "pyproject.toml").read_text()
    (project / "pyproject.toml").write_text(text.replace('["needed"]', '["needed<2"]'))
    other = prepare({"python"}, project, small)
    assert isinstance(other, tuple)
    assert other[0].directory.is_dir() and used[0].directory.is_dir(), "both are in use"
    first = used[0].directory
    del used
    assert prepare({"python"}, project, small) == other
    assert other[0].directory.is_dir() and not first.exists()
    (project / "pyproject.toml").write_text(text)
    again = prepare({"python"}, project, small)
    assert isinstance(again, tuple) and again[0].directory == first and first.is_dir()


def test_only_what_pip_is_configured_with_reaches_pip() -> None:
    variables = {"PIP_INDEX_URL": "1", "HOME": "/h", "HTTPS_PROXY": "p", "GITHUB_TOKEN": "t", "ANTHROPIC_API_KEY": "k"}
    assert registry_variables(variables) == {"PIP_INDEX_URL": "1", "HOME": "/h", "HTTPS_PROXY": "p"}
