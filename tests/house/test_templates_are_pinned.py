"""Released plan templates never change: a changed file needs a new version."""

import json
import re

import pytest

from app.core.template import HOME, folder_digest, read_template
from worker.evidence.untrusted import fence

RELEASED = json.loads((HOME / "released.json").read_text("utf-8"))
FOLDERS = sorted(path for path in HOME.glob("*/*") if path.is_dir() and path.name != "__pycache__")
MARKS = set(re.findall(r"</?[a-z-]+", fence("label", "text")))
MODEL_TOOLS = {
    "planner.md": "list_files search symbols read_file history reopen scout submit_plan ask_author give_up",
    "executor.md": "read_file search replace create_file delete_file move_file step_done cannot",
    "reviewer.md": "search read_file review",
    "scout.md": "search symbols list_files read_file history report",
}


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
def test_a_released_template_can_be_read_and_its_prompts_name_the_tools(folder):
    template = read_template(folder)
    assert template.digest == RELEASED[f"{template.name}/{template.version}"]
    for name, tools in MODEL_TOOLS.items():
        prompt = getattr(template.prompts, name.removesuffix(".md"))
        assert [tool for tool in tools.split() if f"`{tool}" not in prompt] == [], name
        assert all(mark in prompt for mark in MARKS), f"{name} does not say what the marks of data mean"
        assert "no shell" in prompt, name
