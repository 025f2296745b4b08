"""Environments for a Node.js project's tests, made in the box with the real npm from a registry on loopback."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.verdict import Refused
from tests.fakes.npm_registry import Registry, packed, serving
from tests.fakes.tls_registry import NAME
from worker.box.box import Box, BoxSettings, Command, Ran, open_box
from worker.box.checks import Ground, command_for, discover
from worker.box.clients import NPM
from worker.box.egress.rules import read_networks
from worker.box.environment import EnvironmentUnavailable, Workshop, registry_variables
from worker.box.preparing import Prepared, of_this_machine, prepare
from worker.box.reproduction import NODE

pytestmark = [
    pytest.mark.needs_userns,
    pytest.mark.skipif(not (Path(NODE).exists() and Path(NPM).exists()), reason=f"no {NODE} or {NPM} here"),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Registry, Box]]:
    """A registry on loopback, and a box from which it can be reached."""
    with serving(tmp_path_factory.mktemp("npm") / "registry") as made:
        port = int(made.host.rpartition(":")[2])
        reach = {"networks": read_networks(["127.0.0.1/32"]), "names": {NAME: ("127.0.0.1",)}}
        box = open_box(BoxSettings(ports=frozenset({port}), **reach))  # type: ignore[arg-type]
        assert isinstance(box, Box), str(box)
        yield made, box


@pytest.fixture
def registry(served: tuple[Registry, Box]) -> Registry:
    """Empty again."""
    made, _ = served
    for held in (made.tarballs, made.versions, made.asked, made.away):
        held.clear()
    return made


@pytest.fixture
def project(tmp_path: Path, registry: Registry) -> Path:
    """A package whose test needs `needed`."""
    registry.add("needed", "1.2.0", {"index.js": "module.exports = 'needed 1.2.0'"})
    place = tmp_path / "project"
    write(
        place,
        "package.json",
        {"name": "thing", "scripts": {"test": "node test.js"}, "devDependencies": {"needed": "^1.0.0"}},
    )
    (place / "test.js").write_text("console.log('runs with', require('needed'), require('fs').existsSync('marker'))")
    return place


def write(place: Path, name: str, value: object) -> None:
    (place / name).parent.mkdir(parents=True, exist_ok=True)
    (place / name).write_text(json.dumps(value))


class Making:
    """Prepares for a project, and runs its test with what was made."""

    def __init__(self, served: tuple[Registry, Box], folder: Path) -> None:
        registry, self.box = served
        self.workshop = Workshop(folder / "cache", registry_variables(registry.settings))

    def made(self, project: Path) -> Prepared:
        return prepare({"node"}, project, self.workshop, of_this_machine(self.box, self.workshop, "a repository"))

    def run(self, project: Path) -> Ran:
        prepared = self.made(project)
        assert isinstance(prepared, tuple), prepared
        (check,) = discover(project)
        command = command_for(check, (), Ground(project, environments=prepared))
        assert isinstance(command, Command)
        ran = self.box.run(project, command)
        assert isinstance(ran, Ran)
        return ran


@pytest.fixture
def making(served: tuple[Registry, Box], tmp_path: Path) -> Making:
    return Making(served, tmp_path)


def test_a_packages_tests_find_their_needs_no_script_ran_and_the_second_time_nobody_is_asked(
    project: Path, making: Making, registry: Registry, tmp_path: Path
) -> None:
    ran = making.run(project)
    assert (ran.exit_status, ran.output.decode().strip()) == (0, "runs with needed 1.2.0 false")
    assert not (project / "node_modules").exists()
    assert list(tmp_path.rglob("marker")) == []
    asked, first = len(registry.asked), making.made(project)
    assert asked > 0 and len(registry.asked) == asked and isinstance(first, tuple)
    written = [one for one in first[0].directory.rglob("*") if not one.is_symlink() and one.stat().st_mode & 0o222]
    assert written == [] and first[0].notes == ()


def locked(project: Path, entry: dict[str, object]) -> None:
    packages = {"": json.loads((project / "package.json").read_text()), "node_modules/needed": entry}
    write(project, "package-lock.json", {"name": "thing", "lockfileVersion": 3, "requires": True, "packages": packages})


def test_a_lock_decides_the_version_and_its_addresses_are_not_asked(
    project: Path, making: Making, registry: Registry
) -> None:
    held = registry.add("needed", "1.1.0", {"index.js": "module.exports = 'needed 1.1.0'"})
    address = "https://elsewhere.example.test/needed/-/needed-1.1.0.tgz"
    locked(project, {"version": "1.1.0", "resolved": address, "integrity": held, "dev": True})
    (project / ".npmrc").write_text("registry=https://elsewhere.example.test/\nignore-scripts=false\n")
    assert "needed 1.1.0 false" in making.run(project).output.decode()
    registry.tarballs["/needed/-/needed-1.1.0.tgz"] = packed("needed", "1.1.0", {"index.js": "other"})
    (project / ".npmrc").write_text("\n")
    refusal = making.made(project)
    assert isinstance(refusal, EnvironmentUnavailable) and "EINTEGRITY" in refusal.reason and not refusal.passing


def test_a_lock_of_another_client_is_not_read_and_that_is_told_and_workspaces_are_those_of_the_tree_under_test(
    tmp_path: Path, making: Making
) -> None:
    place = tmp_path / "workspaces"
    write(
        place,
        "package.json",
        {"name": "all", "private": True, "workspaces": ["packages/*"], "scripts": {"test": "node t.js"}},
    )
    write(place, "packages/a/package.json", {"name": "a", "version": "1.0.0", "main": "a.js"})
    (place / "packages/a/a.js").write_text("module.exports = 'as it was'")
    (place / "yarn.lock").write_text("")
    (place / "t.js").write_text("console.log(require('a'))")
    told = making.made(place)
    assert isinstance(told, tuple) and "`yarn.lock` is not read" in told[0].notes[0]
    (place / "packages/a/a.js").write_text("module.exports = 'as it is now'")
    assert making.run(place).output.decode().strip() == "as it is now"


def test_what_npm_cannot_install_is_a_reason_and_a_host_that_nobody_named_a_refusal(
    project: Path, making: Making, registry: Registry
) -> None:
    write(project, "package.json", {"dependencies": {"nowhere": "1"}, "scripts": {"test": "t"}})
    refusal = making.made(project)
    assert isinstance(refusal, EnvironmentUnavailable) and "could not install" in refusal.reason and not refusal.passing
    registry.away = {"nowhere"}
    refusal = making.made(project)
    assert isinstance(refusal, EnvironmentUnavailable) and "cannot be reached" in refusal.reason and refusal.passing
    write(project, "package.json", {"dependencies": {"@a/b": "1"}, "scripts": {"test": "t"}})
    (project / ".npmrc").write_text("@a:registry=https://elsewhere.example.test/\n")
    refused = making.made(project)
    assert isinstance(refused, Refused) and "`elsewhere.example.test:443`, which the approved plan" in refused.reason
