"""The newest version of each template tells its planner and scouts of everything that they are handed."""

import re

import pytest

from app.core.shelf import Shelf
from app.core.template import Template
from worker.belts import browsing, looking_up, noting, plan_form, planner_tools, reproducing, split_form
from worker.belts.scout import REPORT
from worker.evidence.untrusted import vouched
from worker.model.words import Tool
from worker.repo import tools as reading

VERSIONS = Shelf().versions()
NEWEST = [Shelf().read(name, versions[-1]) for name, versions in VERSIONS.items()]
BY_MODELS = [pytest.param(one, id=one.name) for one in NEWEST if one.rule is None]


def told_of(*modules: object) -> set[str]:
    """Names of the tools that stand in these modules."""
    return {one.name for module in modules for one in vars(module).values() if isinstance(one, Tool)}


READING = told_of(reading)
SOMETIMES = told_of(looking_up, reproducing) | {"read_docs"}
OWN = told_of(planner_tools, noting, split_form, plan_form)


@pytest.mark.parametrize("template", BY_MODELS)
def test_the_planners_prompt_names_every_tool_that_it_may_be_handed(template: Template) -> None:
    named = set(re.findall(r"`(\w+)(?: \{|`)", template.prompts.planner))
    assert (READING | SOMETIMES | OWN) - named == set()
    # What is said of a page in a browser is of use where there are pages.
    assert told_of(browsing) <= named or template.name in ("tests", "dependency", "refactor", "research")


@pytest.mark.parametrize("template", BY_MODELS)
def test_the_scouts_prompt_names_every_tool_that_it_is_handed(template: Template) -> None:
    named = set(re.findall(r"`(\w+)(?: \{|`)", template.prompts.scout))
    assert (READING | {REPORT.name}) - named == set()


@pytest.mark.parametrize("template", BY_MODELS)
def test_the_planners_prompt_says_whose_words_are_asked_for(template: Template) -> None:
    for mark in re.findall(r"</?[a-z-]+", vouched("label", "text")):
        assert mark in template.prompts.planner


@pytest.mark.parametrize("template", BY_MODELS)
def test_every_field_that_a_plan_must_have_is_told_of(template: Template) -> None:
    required = plan_form.submit_plan(template).schema["required"]
    assert isinstance(required, list) and "acceptance" in required
    assert [field for field in required if f"`{field}`" not in template.prompts.planner] == []
