"""Environments for checks of Python, made in the box with the real pip, from wheels that the test made itself."""

import base64
import hashlib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.fakes.tls_registry import NAME, Registry
from worker.box.box import Box, BoxSettings, Command, Ran, open_box
from worker.box.checks import PYTEST, Ground, command_for, discover
from worker.box.egress.rules import read_networks
from worker.box.environment import CheckEnvironment, EnvironmentUnavailable, Workshop, registry_variables
from worker.box.preparing import Prepared, of_this_machine, prepare

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


@dataclass
class Index:
    """A registry of wheels, and a box from which it can be reached."""

    registry: Registry
    box: Box
    settings: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """It has a stand-in for pytest, and `needed` in two versions."""
    folder = tmp_path_factory.mktemp("index")
    registry = Registry(folder)
    wheel(folder, "pytest", "9.0", {"pytest/__init__.py": "", "pytest/__main__.py": RUNNER})
    for version in ("1.0", "2.0"):
        wheel(folder, "needed", version, {"needed.py": f"NAME = 'needed {version}'\n"})
    for name in ("pytest", "needed"):
        files = sorted(folder.glob(f"{name}-*.whl"))
        links = "".join(f'<a href="/files/{file.name}">{file.name}</a>' for file in files)
        registry.pages[f"/simple/{name}/"] = links.encode()
        registry.pages |= {f"/files/{file.name}": file.read_bytes() for file in files}
    (folder / "authority.pem").write_bytes(registry.authority())
    names = {NAME: ("127.0.0.1",)}
    box = open_box(BoxSettings(ports=frozenset({registry.port}), networks=read_networks(["127.0.0.1/32"]), names=names))
    assert isinstance(box, Box), str(box)
    settings = {
        "PIP_INDEX_URL": f"https://{NAME}:{registry.port}/simple",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_CERT": str(folder / "authority.pem"),
        "PIP_RETRIES": "0",
    }
    yield Index(registry, box, settings)
    registry.close()


@pytest.fixture
def workshop(tmp_path: Path, index: Index) -> Workshop:
    return Workshop(tmp_path / "cache", index.settings | {"HOME": str(tmp_path)})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    (place / "src" / "thing").mkdir(parents=True)
    (place / "tests").mkdir()
    (place / "src" / "thing" / "__init__.py").write_text("from thing._version import version\nANSWER = 42\n")
    (place / "tests" / "test_thing.py").write_text("")
    (place / "pip.py").write_text("raise SystemExit('a file of the tree in the place of pip')\n")
    wants(place, "needed")
    return place


def wants(place: Path, need: str, more: str = "") -> None:
    scm = '[tool.setuptools_scm]\nversion_file = "src/thing/_version.py"\n'
    text = f'[project]\nname = "thing"\nversion = "3.1"\n{more}optional-dependencies.test = ["{need}"]\n{scm}'
    (place / "pyproject.toml").write_text(text)


def made(index: Index, project: Path, workshop: Workshop) -> Prepared:
    return prepare({"python"}, project, workshop, of_this_machine(index.box, workshop, "a repository"))


@pytest.mark.needs_userns
def test_a_projects_tests_find_their_needs_in_the_box_and_the_second_time_nobody_is_asked(
    index: Index, project: Path, workshop: Workshop
) -> None:
    prepared = made(index, project, workshop)
    assert isinstance(prepared, tuple), str(prepared)
    (check,) = discover(project)
    command = command_for(check, ("tests/test_thing.py",), Ground(project, environments=prepared))
    assert isinstance(command, Command)
    result = index.box.run(project, command)
    assert isinstance(result, Ran) and result.exit_status == 0, result
    words = [*PYTEST[3:], "tests/test_thing.py"]
    assert result.output.decode() == f"runner 3.1 42 needed 2.0 {words!r}\n"
    assert not (project / "src/thing/_version.py").exists(), "what its build would write is in the copy alone"
    came = index.registry.came
    (project / "src" / "thing" / "other.py").write_text("")
    assert made(index, project, workshop) == prepared and index.registry.came == came
    assert_sealed(prepared[0])
    wants(project, "needed<2")
    again = made(index, project, workshop)
    assert isinstance(again, tuple) and again[0].digest != prepared[0].digest and index.registry.came > came


def assert_sealed(environment: CheckEnvironment) -> None:
    """Any account can read all of it and none can change it."""
    for path in environment.directory.rglob("*"):
        assert path.stat().st_mode & 0o222 == 0 and path.stat().st_mode & 0o444 == 0o444
    assert (environment.directory / "packages/needed.py").read_text() == "NAME = 'needed 2.0'\n"


@pytest.mark.needs_userns
def test_a_need_that_no_wheel_meets_is_a_reason(index: Index, project: Path, workshop: Workshop) -> None:
    wants(project, "needed>7")
    refusal = made(index, project, workshop)
    assert isinstance(refusal, EnvironmentUnavailable)
    assert "needed>7" in refusal.reason and refusal.remedy and not refusal.passing and not refusal.unsure


@pytest.mark.needs_userns
def test_an_index_that_cannot_be_reached_is_a_reason_that_may_pass(index: Index, project: Path, tmp_path: Path) -> None:
    away = index.settings | {"PIP_INDEX_URL": f"https://nowhere.invalid:{index.registry.port}/simple"}
    refusal = made(index, project, Workshop(tmp_path / "cache", away))
    assert isinstance(refusal, EnvironmentUnavailable)
    assert "nowhere.invalid:" in refusal.reason and "cannot be reached" in refusal.reason and refusal.passing


@pytest.mark.parametrize(("settings", "words"), [
    ({"PIP_NO_INDEX": "1", "PIP_INDEX_URL": ""}, "No registry is known in which pip looks"),
    ({"PIP_INDEX_URL": "http://127.0.0.1:9/simple"}, "does not speak TLS"),
    ({"PIP_INDEX_URL": "https://me:word@a.example.test/simple"}, "wants a password"),
])  # fmt: skip
def test_an_index_that_the_box_cannot_reach_at_all_is_a_reason_before_anything_runs(
    index: Index, project: Path, tmp_path: Path, settings: dict[str, str], words: str
) -> None:
    refusal = made(index, project, Workshop(tmp_path / "cache", index.settings | settings))
    assert isinstance(refusal, EnvironmentUnavailable) and words in refusal.reason and not refusal.passing
    assert "word@" not in str(refusal) and not (tmp_path / "cache").exists()


def test_a_project_for_another_python_is_a_reason(index: Index, project: Path, workshop: Workshop) -> None:
    wants(project, "needed", 'requires-python = ">=4"\n')
    refusal = made(index, project, workshop)
    assert isinstance(refusal, EnvironmentUnavailable) and ">=4" in refusal.reason


def test_only_what_clients_are_configured_with_reaches_them() -> None:
    variables = {"PIP_INDEX_URL": "1", "HOME": "/h", "HTTPS_PROXY": "p", "GITHUB_TOKEN": "t", "ANTHROPIC_API_KEY": "k"}
    assert registry_variables(variables) == {"PIP_INDEX_URL": "1", "HOME": "/h", "HTTPS_PROXY": "p"}
