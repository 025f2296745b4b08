"""Where templates are found, and what an operator's own can and cannot do."""

import shutil
from pathlib import Path

import pytest

from app.core.shelf import Shelf, Standing, doubts, told_of
from app.core.template import HOME, TemplateUnreadable, read_template


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """An operator's folder with a pack of its own and one that takes a built-in one's name and version."""
    for name in ("greeting", "docs"):
        pack = tmp_path / name / "1.0.0"
        shutil.copytree(HOME / "docs" / "1.0.0", pack)
        sheet = pack / "template.yaml"
        sheet.write_text(sheet.read_text().replace("name: docs", f"name: {name}") + "# mine\n")
    return tmp_path


def test_own_packs_stand_beside_the_built_in_ones(own: Path) -> None:
    shelf = Shelf(own)
    assert {"greeting", "bugfix", "replace"} <= shelf.versions().keys()
    assert shelf.read("greeting", "1.0.0").name == "greeting"
    assert shelf.standing(own / "greeting" / "1.0.0") is Standing.OWN


def test_an_own_pack_cannot_take_the_place_of_a_built_in_version(own: Path) -> None:
    shelf = Shelf(own)
    assert shelf.read("docs", "1.0.0").digest == read_template(HOME / "docs" / "1.0.0").digest
    assert shelf.versions()["docs"] == Shelf().versions()["docs"]
    assert shelf.standing(own / "docs" / "1.0.0") is Standing.SHADOWS


@pytest.mark.parametrize(("name", "version"), [("docs", "9.9.9"), ("..", "1.0.0"), ("docs", "../1.0.0"), ("docs", "")])
def test_what_is_not_there_is_not_read(own: Path, name: str, version: str) -> None:
    with pytest.raises(TemplateUnreadable, match="no template"):
        Shelf(own).read(name, version)


def test_a_built_in_version_that_was_changed_is_told_of(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(HOME, home)
    shelf = Shelf(home=home)
    assert shelf.standing(home / "docs" / "1.0.0") is Standing.RELEASED
    (home / "docs" / "1.0.0" / "scout.md").write_text("Something else.")
    assert shelf.standing(home / "docs" / "1.0.0") is Standing.CHANGED
    shutil.copytree(home / "docs" / "1.0.0", home / "docs" / "1.0.1")
    assert shelf.standing(home / "docs" / "1.0.1") is Standing.UNRELEASED


def test_a_prompt_that_does_not_tell_of_its_tools_or_of_the_marks_of_data_is_doubted(own: Path) -> None:
    (own / "greeting" / "1.0.0" / "executor.md").write_text("Just do it with `replace` and `step_done`.\n")
    said = doubts(Shelf(own).read("greeting", "1.0.0"))
    assert len(said) == 2
    assert "executor" in said[0]
    assert "read_file" in said[0]
    assert "untrusted-text" in said[1]


def test_a_change_log_has_a_heading_for_exactly_this_version(own: Path) -> None:
    pack = own / "greeting" / "1.0.0"
    assert not told_of(pack)
    (own / "greeting" / "CHANGELOG.md").write_text("# greeting\n\n## 1.0.01\n\n## 11.0.0\n")
    assert not told_of(pack)
    (own / "greeting" / "CHANGELOG.md").write_text("# greeting\n\n## 1.0.0\n")
    assert told_of(pack)
