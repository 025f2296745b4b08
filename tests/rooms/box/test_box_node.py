"""Environments for a Node.js project's tests, made with the real npm from a registry on loopback."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from worker.box.node import NODE, NPM, build_node_environment

from tests.fakes.npm_registry import Registry, packed, serving
from worker.box.box import Box, Command, Ran
from worker.box.checks import Ground, command_for, discover
from worker.box.environment import CheckEnvironment, EnvironmentUnavailable, Workshop

pytestmark = pytest.mark.skipif(not (Path(NODE).exists() and Path(NPM).exists()), reason=f"no {NODE} or {NPM} here")


@pytest.fixture
def registry() -> Iterator[Registry]:
    """A registry that answers on loopback until the test is over."""
    with serving() as made:
        yield made


@pytest.fixture
def workshop(registry: Registry, tmp_path: Path) -> Workshop:
    home = tmp_path / "home"
    home.mkdir()
    return Workshop(
        tmp_path / "cache", {"HOME": str(home), "NPM_CONFIG_REGISTRY": registry.url, "NPM_CONFIG_FETCH_RETRIES": "0"}
    )


@pytest.fixture
def project(tmp_path: Path, registry: Registry) -> Path:
    """A package whose test needs `needed`."""
    registry.add("needed", "1.2.0", {"index.js": "module.exports = 'needed 1.2.0'"})
    place = tmp_path / "project"
    place.mkdir()
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


def run(box: Box, project: Path, workshop: Workshop) -> Ran:
    environment = build_node_environment(project, workshop)
    assert isinstance(environment, CheckEnvironment), environment
    (check,) = discover(project)
    command = command_for(check, (), Ground(project, environments=(environment,)))
    assert isinstance(command, Command)
    ran = box.run(project, command)
    assert isinstance(ran, Ran)
    return ran


def test_a_packages_tests_find_their_needs_in_the_box_and_no_script_ran(
    box: Box, project: Path, workshop: Workshop, tmp_path: Path
) -> None:
    ran = run(box, project, workshop)
    assert (ran.exit_status, ran.output.decode().strip()) == (0, "runs with needed 1.2.0 false")
    assert not (project / "node_modules").exists()
    assert list(tmp_path.rglob("marker")) == []


def test_a_second_build_asks_nobody_and_the_packages_can_be_written_by_nobody(
    project: Path, workshop: Workshop, registry: Registry
) -> None:
    first = build_node_environment(project, workshop)
    asked = len(registry.asked)
    assert asked > 0 and build_node_environment(project, workshop) == first
    assert len(registry.asked) == asked
    assert isinstance(first, CheckEnvironment)
    written = [path for path in first.directory.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o222]
    assert written == []


def test_a_lock_decides_the_version_and_its_addresses_are_not_asked(
    box: Box, project: Path, workshop: Workshop, registry: Registry
) -> None:
    held = registry.add("needed", "1.1.0", {"index.js": "module.exports = 'needed 1.1.0'"})
    entry = {"version": "1.1.0", "resolved": "http://127.0.0.1:9/needed.tgz", "integrity": held, "dev": True}
    root = json.loads((project / "package.json").read_text())
    packages = {"": root, "node_modules/needed": entry}
    write(project, "package-lock.json", {"name": "thing", "lockfileVersion": 3, "requires": True, "packages": packages})
    assert "needed 1.1.0" in run(box, project, workshop).output.decode()


def test_a_lock_of_another_client_is_not_read_and_that_is_told(project: Path, workshop: Workshop) -> None:
    told = build_node_environment(project, workshop)
    assert isinstance(told, CheckEnvironment) and told.notes == ()
    (project / "yarn.lock").write_text("")
    told = build_node_environment(project, workshop)
    assert isinstance(told, CheckEnvironment) and "`yarn.lock` is not read" in told.notes[0]


def test_a_package_that_is_not_what_the_lock_says_is_not_installed(
    project: Path, workshop: Workshop, registry: Registry
) -> None:
    held = registry.add("needed", "1.1.0", {"index.js": "1"})
    packages = {
        "": {"devDependencies": {"needed": "^1.0.0"}},
        "node_modules/needed": {"version": "1.1.0", "integrity": held},
    }
    write(project, "package-lock.json", {"name": "thing", "lockfileVersion": 3, "requires": True, "packages": packages})
    registry.tarballs["/needed/-/needed-1.1.0.tgz"] = packed("needed", "1.1.0", {"index.js": "other"})
    refusal = build_node_environment(project, workshop)
    assert isinstance(refusal, EnvironmentUnavailable) and "EINTEGRITY" in refusal.reason and not refusal.passing


def test_workspaces_are_those_of_the_tree_under_test(box: Box, tmp_path: Path, workshop: Workshop) -> None:
    place = tmp_path / "workspaces"
    write(
        place,
        "package.json",
        {"name": "all", "private": True, "workspaces": ["packages/*"], "scripts": {"test": "node t.js"}},
    )
    write(place, "packages/a/package.json", {"name": "a", "version": "1.0.0", "main": "a.js"})
    (place / "packages/a/a.js").write_text("module.exports = 'from the tree'")
    (place / "t.js").write_text("console.log(require('a'))")
    assert run(box, place, workshop).output.decode().strip() == "from the tree"


def _set(name: str, value: object) -> Callable[[Path], None]:
    return lambda place: write(place, name, value)


def _locked(entry: dict[str, Any], where: str = "node_modules/needed") -> Callable[[Path], None]:
    return _set("package-lock.json", {"lockfileVersion": 3, "packages": {"": {}, where: entry}})


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_set("package.json", {"dependencies": {"x": "file:../secret"}, "scripts": {"test": "t"}}), "elsewhere"),
        (_set("package.json", {"dependencies": {"x": "git+ssh://host/x"}, "scripts": {"test": "t"}}), "elsewhere"),
        (_set("package.json", {"dependencies": {"x": "someone/x"}, "scripts": {"test": "t"}}), "elsewhere"),
        (
            _set("package.json", {"dependencies": {"x": "http://169.254.169.254/x"}, "scripts": {"test": "t"}}),
            "elsewhere",
        ),
        (_set("package.json", ["no", "object"]), "not a JSON object"),
        (_set("package-lock.json", {"lockfileVersion": 1, "dependencies": {}}), "older than npm 7"),
        (_locked({"version": "1.0.0", "resolved": "git+https://host/x#abc", "integrity": "sha512-x"}), "elsewhere"),
        (_locked({"version": "1.0.0", "resolved": "http://host/x.tgz"}), "elsewhere"),
        (_locked({"link": True, "resolved": "../../outside"}), "outside the repository"),
        (_locked({"version": "1.0.0"}, "../outside"), "outside the repository"),
        (_locked({"version": "9.9.9", "integrity": "sha512-x"}), "does not fit package.json"),
        (_set("package.json", {"dependencies": {"nowhere": "1"}, "scripts": {"test": "t"}}), "could not install"),
        (lambda place: (place / "node_modules").mkdir(), "of its own"),
        (lambda place: (place / "package.json").write_text("{"), "is not JSON"),
    ],
)
def test_what_is_not_the_registrys_or_cannot_be_read_is_a_reason(
    project: Path, workshop: Workshop, damage: Callable[[Path], None], words: str
) -> None:
    damage(project)
    refusal = build_node_environment(project, workshop)
    assert isinstance(refusal, EnvironmentUnavailable)
    assert words in refusal.reason and not refusal.passing


def test_a_link_in_place_of_a_manifest_is_not_followed(project: Path, workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    (project / "package.json").unlink()
    (project / "package.json").symlink_to(tmp_path / "other.json")
    assert isinstance(build_node_environment(project, workshop), EnvironmentUnavailable)


def test_a_registry_that_cannot_be_reached_is_a_reason(project: Path, workshop: Workshop) -> None:
    away = {**workshop.registry, "NPM_CONFIG_REGISTRY": "http://127.0.0.1:9"}
    refusal = build_node_environment(project, Workshop(workshop.cache, away))
    assert isinstance(refusal, EnvironmentUnavailable) and "cannot be reached" in refusal.reason and refusal.passing


def test_the_old_rules_on_peers_hold_where_the_project_says_so(project: Path, workshop: Workshop) -> None:
    usual = build_node_environment(project, workshop)
    (project / ".npmrc").write_text("registry=http://127.0.0.1:9\nlegacy-peer-deps=true\n")
    old = build_node_environment(project, workshop)
    assert isinstance(usual, CheckEnvironment) and isinstance(old, CheckEnvironment)
    assert usual.digest != old.digest
