"""Templates as values: parsing, digests, and choosing a version."""

import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.template import (
    HOME,
    Must,
    TemplateUnreadable,
    folder_digest,
    parse_template,
    read_template,
)

FILES = {path.name: path.read_text("utf-8") for path in (HOME / "bugfix" / "1.0.0").iterdir()}
NAMES = st.text("ab.", min_size=1, max_size=3)


def test_a_template_holds_its_prompts_budgets_and_demands():
    template = parse_template(FILES)
    assert template.prompts.planner == FILES["planner.md"]
    assert Must.REGRESSION_TEST in template.must_have
    assert template.budget.execution.usual.usd < template.budget.execution.most.usd
    assert template.stop_conditions


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("step_kinds: [change", "step_kinds: [run", "step_kinds"),
        ("name: bugfix", "name: bugfix\nhooks: [x]", "hooks"),
        ("planner: planner.md", "planner: plan.md", "plan.md"),
        ("files: 6", "files: 60", "usual files"),
        ("name: bugfix", "name: [", "not YAML"),
        ("- evidence", "- luck", "must_have"),
    ],
)
def test_a_sheet_that_cannot_be_meant_is_unreadable(old, new, words):
    assert old in FILES["template.yaml"]
    with pytest.raises(TemplateUnreadable, match=words):
        parse_template(FILES | {"template.yaml": FILES["template.yaml"].replace(old, new)})


def test_a_file_that_no_prompt_names_is_not_overlooked():
    with pytest.raises(TemplateUnreadable, match=r"extra\.md"):
        parse_template(FILES | {"extra.md": "x"})
    with pytest.raises(TemplateUnreadable, match=r"template\.yaml"):
        parse_template({"planner.md": "x"})


@given(
    st.dictionaries(NAMES, st.binary(max_size=4), max_size=4), st.dictionaries(NAMES, st.binary(max_size=4), max_size=4)
)
def test_different_folders_have_different_digests(one, other):
    assert (folder_digest(one) == folder_digest(other)) == (one == other)


def test_a_folder_must_bear_its_own_name(tmp_path):
    shutil.copytree(HOME / "bugfix" / "1.0.0", tmp_path / "bugfix" / "1.0.1")
    with pytest.raises(TemplateUnreadable, match=r"calls itself bugfix/1\.0\.0"):
        read_template(tmp_path / "bugfix" / "1.0.1")


SHEET = FILES["template.yaml"]
NO_PROMPTS = {"template.yaml": SHEET[: SHEET.index("prompts:")]}


def test_every_role_needs_a_prompt_unless_a_rule_does_the_work():
    with pytest.raises(TemplateUnreadable, match="every role needs a prompt"):
        parse_template(NO_PROMPTS)
    ruled = NO_PROMPTS["template.yaml"].replace("step_kinds: [change, create, delete, move]", "step_kinds: [change]")
    template = parse_template({"template.yaml": ruled + "rule: replace\n"})
    assert template.prompts.written() == ()
    with pytest.raises(TemplateUnreadable, match="no model has a prompt"):
        parse_template(FILES | {"template.yaml": SHEET + "rule: replace\n"})
    with pytest.raises(TemplateUnreadable, match="only changes files"):
        parse_template({"template.yaml": NO_PROMPTS["template.yaml"] + "rule: replace\n"})


@pytest.mark.parametrize("kinds", ["[answer, change]", "[answer]"])
def test_answering_questions_stands_alone_and_has_no_check(kinds):
    sheet = SHEET.replace("[change, create, delete, move]", kinds)
    with pytest.raises(TemplateUnreadable, match="answering questions"):
        parse_template(FILES | {"template.yaml": sheet})


def test_models_are_told_by_their_part_or_by_name_and_default_to_the_operators():
    assert parse_template(FILES).models.planner == "strong"
    named = parse_template(FILES | {"template.yaml": SHEET + "models: {executor: strong, scout: claude-x-1}\n"}).models
    assert (named.planner, named.executor, named.scout) == ("strong", "strong", "claude-x-1")
    with pytest.raises(TemplateUnreadable, match="models"):
        parse_template(FILES | {"template.yaml": SHEET + "models: {judge: strong}\n"})
