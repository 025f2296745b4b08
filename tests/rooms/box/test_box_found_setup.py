"""Set-ups that nobody wrote: read from the tree's own files, and the same words for the same files."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from worker.box.environment import CannotPrepare
from worker.box.found_setup import find_set_up


def words(kind: str, tree: Path, programs: Path = Path("/nowhere")) -> str:
    (one,) = find_set_up(kind, tree, programs).commands
    return " ".join(one)


def test_each_client_is_asked_by_a_fixed_command_and_by_the_lock_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")
    assert words("go", tmp_path) == "go mod download"
    assert words("cargo", tmp_path) == "cargo fetch"
    assert words("maven", tmp_path) == "mvn --batch-mode dependency:go-offline"
    assert words("node", tmp_path).startswith("npm install --no-package-lock --ignore-scripts ")
    (tmp_path / "Cargo.lock").write_text("")
    assert words("cargo", tmp_path) == "cargo fetch --locked"
    (tmp_path / "pnpm-lock.yaml").write_text("")
    (tmp_path / "pnpm").write_text("")
    assert words("node", tmp_path, tmp_path) == "pnpm install --frozen-lockfile --ignore-scripts"
    (tmp_path / "package-lock.json").write_text("{}")
    assert words("node", tmp_path).startswith("npm ci --ignore-scripts ")


def test_pips_words_are_the_same_whatever_is_wanted_and_what_is_wanted_lies_beside(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "a-thing"\nversion = "1"\ndependencies = ["x>2"]\n')
    one = find_set_up("python", tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "a-thing"\nversion = "1"\n')
    other = find_set_up("python", tmp_path)
    assert one.commands == other.commands and "--only-binary :all:" in " ".join(one.commands[0])
    assert (one.beside["wanted.txt"], other.beside["wanted.txt"]) == ("x>2\npytest\n", "pytest\n")
    assert one.decides != other.decides
    assert set(one.beside) == {
        "wanted.txt",
        *(f"own/a_thing-1.dist-info/{name}" for name in ("METADATA", "entry_points.txt")),
    }


def _set(name: str, value: object) -> Callable[[Path], None]:
    return lambda place: (place / name).write_text(json.dumps(value)) and None


def _linked(place: Path) -> None:
    (place / "package.json").unlink()
    (place / "package.json").symlink_to("/etc/hostname")


@pytest.mark.parametrize(("kind", "damage", "reason"), [
    ("node", _set("package.json", {"dependencies": {"x": "git+ssh://host/x"}}), "elsewhere"),
    ("node", _set("package.json", {"dependencies": {"x": "someone/x"}}), "elsewhere"),
    ("node", _set("package.json", {"dependencies": {"x": "http://169.254.169.254/x"}}), "elsewhere"),
    ("node", _set("package.json", ["no", "object"]), "not a JSON object"),
    ("node", lambda place: (place / "package.json").write_text("{"), "is not JSON"),
    ("node", _linked, "cannot be read"),
    ("node", lambda place: (place / "node_modules").mkdir(), "of its own"),
    ("python", lambda place: (place / "pyproject.toml").write_text("["), "cannot be read"),
    ("python", lambda place: (place / "pyproject.toml").write_text('[project]\nname = "../a"'), "not a name"),
    ("python", lambda place: (place / "setup.py").write_text("setup(install_requires=['x @ file:///x'])"), "address"),
])  # fmt: skip
def test_what_is_not_the_registrys_or_cannot_be_read_is_a_reason(
    tmp_path: Path, kind: str, damage: Callable[[Path], None], reason: str
) -> None:
    (tmp_path / "package.json").write_text("{}")
    damage(tmp_path)
    with pytest.raises(CannotPrepare, match=reason):
        find_set_up(kind, tmp_path)
