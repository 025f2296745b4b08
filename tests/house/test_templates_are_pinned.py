"""Released plan templates never change: a changed file needs a new version."""

import json
import re

import pytest

from app.core.policy import BUILT_IN
from app.core.shelf import MARKS, Shelf, Standing, doubts, told_of
from app.core.template import HOME, folder_digest, read_template
from worker.evidence.untrusted import fence

RELEASED = json.loads((HOME / "released.json").read_text("utf-8"))
FOLDERS = sorted(path for path in HOME.glob("*/*") if path.is_dir() and path.name != "__pycache__")


def test_every_template_folder_is_released_and_every_release_is_there():
    assert sorted(f"{path.parent.name}/{path.name}" for path in FOLDERS) == sorted(RELEASED)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_released_template_is_what_it_was(folder):
    name = f"{folder.parent.name}/{folder.name}"
    digest = folder_digest({path.name: path.read_bytes() for path in folder.iterdir()})
    assert digest == RELEASED[name], (
        f"{name} was changed after its release. Put it back, make the change in a folder with the next version, and "
        f'add that to plan_templates/released.json. (Only for a version that nobody has used: "{name}": "{digest}")'
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_released_template_can_be_read_and_its_prompts_name_their_tools_and_the_marks_of_data(folder):
    template = read_template(folder)
    assert template.digest == RELEASED[f"{template.name}/{template.version}"]
    assert Shelf().standing(folder) is Standing.RELEASED
    assert doubts(template) == ()
    for role, prompt in template.prompts:
        assert template.rule or "no shell" in prompt or (template.answers and role == "planner"), role


def test_the_marks_that_prompts_explain_are_those_that_stand_around_data():
    assert set(MARKS) == set(re.findall(r"</?[a-z-]+", fence("label", "text")))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_release_stands_in_a_change_log_outside_what_its_digest_covers(folder):
    assert told_of(folder)
    assert (folder.parent / "CHANGELOG.md").is_file()
    assert not (folder / "CHANGELOG.md").exists()


def test_every_built_in_template_has_a_word_of_its_own_in_the_default_policy():
    assert sorted(BUILT_IN) == sorted({folder.parent.name for folder in FOLDERS})
