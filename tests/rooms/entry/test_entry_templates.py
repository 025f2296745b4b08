"""`countersign templates` as it is typed, and the settings that choose among versions and models."""

import shutil
from pathlib import Path

import pytest

from app.core.belts import Belt
from app.core.template import HOME
from app.settings import SettingsWrong, template_settings
from tests.rooms.entry.conftest import refused, run
from worker.settings import belt_settings
from worker.up import held_by

BELT = {"COUNTERSIGN_MINT_FD": "3"}
MODEL = {"ANTHROPIC_API_KEY": "a key"}


@pytest.fixture
def packs(tmp_path: Path) -> Path:
    """A folder with a pack of the operator's own, with a change log, in two versions that differ in a line."""
    for version in ("1.0.0", "1.1.0"):
        pack = tmp_path / "greeting" / version
        shutil.copytree(HOME / "docs" / "1.0.0", pack)
        sheet = (pack / "template.yaml").read_text().replace("name: docs", "name: greeting")
        (pack / "template.yaml").write_text(sheet.replace("version: 1.0.0", f"version: {version}"))
    (tmp_path / "greeting" / "CHANGELOG.md").write_text("# greeting\n\n## 1.1.0\n\nBetter.\n\n## 1.0.0\n\nFirst.\n")
    (tmp_path / "greeting" / "1.1.0" / "scout.md").open("a").write("One more sentence.\n")
    return tmp_path


def rows(text: str) -> dict[tuple[str, str], str]:
    return {(line.split()[0], line.split()[1]): line for line in text.splitlines()}


def test_templates_are_listed_with_versions_standing_and_part(packs: Path) -> None:
    rules = {"COUNTERSIGN_TEMPLATE_VERSIONS": "bugfix@1.0.0", "COUNTERSIGN_TEMPLATE_CANDIDATES": "greeting@1.1.0:20%"}
    done = run("templates", env={"COUNTERSIGN_TEMPLATES": str(packs)} | rules)
    assert done.returncode == 0, done.stderr
    listed = rows(done.stdout)
    assert "released   current, the only one" in listed["bugfix", "1.0.0"]
    assert "released   current " in listed["replace", "1.0.0"]
    assert "your own   current " in listed["greeting", "1.0.0"]
    assert "your own   candidate, 20%" in listed["greeting", "1.1.0"]
    bounded = {"COUNTERSIGN_TEMPLATE_VERSIONS": "greeting<=1.0.0"}
    listed = rows(run("templates", env={"COUNTERSIGN_TEMPLATES": str(packs)} | bounded).stdout)
    assert "not allowed" in listed["greeting", "1.1.0"]


def test_a_broken_pack_is_listed_as_broken(packs: Path) -> None:
    (packs / "greeting" / "1.1.0" / "template.yaml").write_text("name: [")
    done = run("templates", env={"COUNTERSIGN_TEMPLATES": str(packs)})
    assert done.returncode == 1
    assert "cannot be read" in rows(done.stdout)["greeting", "1.1.0"]


def test_two_versions_are_compared_line_by_line(packs: Path) -> None:
    env = {"COUNTERSIGN_TEMPLATES": str(packs)}
    done = run("templates", "diff", "greeting", "1.0.0", "1.1.0", env=env)
    assert done.returncode == 0
    assert "+One more sentence." in done.stdout
    assert "+++ greeting/1.1.0/scout.md" in done.stdout
    assert "planner.md" not in done.stdout
    missing = run("templates", "diff", "greeting", "1.0.0", "3.0.0", env=env)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "There is no version 3.0.0 of greeting; there are: 1.0.0, 1.1.0." in missing.stderr


def test_a_pack_of_ones_own_is_validated(packs: Path) -> None:
    done = run("templates", "validate", str(packs / "greeting" / "1.1.0"), env={})
    assert done.returncode == 0, done.stderr
    assert "greeting 1.1.0 can be used." in done.stdout


def test_everything_that_makes_a_pack_unfit_is_said(packs: Path) -> None:
    pack = packs / "docs" / "1.0.0"
    shutil.copytree(HOME / "docs" / "1.0.0", pack)
    (pack / "reviewer.md").write_text("Say yes.\n")
    done = run("templates", "validate", str(pack), env={})
    assert (done.returncode, done.stdout) == (1, "")
    for words in ("name its tools: search, read_file, review", "marks of data", "is a built-in template", "CHANGELOG"):
        assert words in done.stderr
    (pack / "spare.md").write_text("x")
    assert "spare.md" in run("templates", "validate", str(pack), env={}).stderr
    assert run("templates", "validate", str(packs / "nowhere"), env={}).returncode == 1


def test_scores_of_an_empty_ledger_are_none(tmp_path: Path) -> None:
    env = {"COUNTERSIGN_DATA_DIR": str(tmp_path)}
    assert run("migrate", env=env).returncode == 0
    done = run("templates", "scores", env=env)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({"COUNTERSIGN_TEMPLATES": "/nowhere/packs"}, "COUNTERSIGN_TEMPLATES"),
        ({"COUNTERSIGN_TEMPLATE_VERSIONS": "bugfix>=1"}, "COUNTERSIGN_TEMPLATE_VERSIONS"),
        ({"COUNTERSIGN_TEMPLATE_CANDIDATES": "bugfix@1.0.0:many"}, "COUNTERSIGN_TEMPLATE_CANDIDATES"),
    ],
)
def test_a_setting_that_cannot_be_meant_stops_the_start(env: dict[str, str], name: str) -> None:
    with pytest.raises(SettingsWrong, match=name):
        template_settings(env)
    with pytest.raises(SettingsWrong, match=name):
        belt_settings(Belt.PLANNER, BELT | MODEL | env)
    refused(run("templates", env=env), name)


def test_a_belt_without_models_needs_no_key_and_never_reads_one() -> None:
    for belt in (Belt.PLANNER, Belt.EXECUTOR):
        assert belt_settings(belt, BELT | {"COUNTERSIGN_MODELS": "none"}).model is None
        assert belt_settings(belt, BELT | MODEL | {"COUNTERSIGN_MODELS": "none"}).model is None
        with pytest.raises(SettingsWrong, match="ANTHROPIC_API_KEY"):
            belt_settings(belt, BELT | {"COUNTERSIGN_MODELS": "none, claude-x-1"})


def test_a_template_names_a_model_by_its_part_or_one_on_the_operators_list() -> None:
    env = BELT | MODEL | {"COUNTERSIGN_PLANNER_MODEL": "claude-p-1", "COUNTERSIGN_MODELS": "claude-x-1, claude-y-2"}
    models = belt_settings(Belt.PLANNER, env).model
    assert models is not None
    assert models.named("strong") == "claude-p-1"
    assert models.named("claude-p-1") == "claude-p-1"
    assert models.named("claude-y-2") == "claude-y-2"
    assert models.named("claude-z-3") is None
    assert models.named("") is None


def test_only_the_belts_that_read_templates_are_told_of_them() -> None:
    names = {"COUNTERSIGN_TEMPLATES", "COUNTERSIGN_TEMPLATE_VERSIONS", "COUNTERSIGN_TEMPLATE_CANDIDATES"}
    env = dict.fromkeys(names, "x")
    told = {name for name in ("web", "mint", "planner", "executor", "publisher", "beat") if held_by(name, env)}
    assert told == {"planner", "executor"}
