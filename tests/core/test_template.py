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
    template_folder,
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


def test_the_newest_version_is_taken_by_number_unless_one_is_named(tmp_path):
    for version in ("1.9.0", "1.10.0", "1.2.0", "notes"):
        (tmp_path / "bugfix" / version).mkdir(parents=True)
    assert template_folder("bugfix", home=tmp_path).name == "1.10.0"
    assert template_folder("bugfix", "1.2.0", tmp_path).name == "1.2.0"


@pytest.mark.parametrize(("name", "version"), [("feature", None), ("bugfix", "9.9.9"), ("../bugfix", None), ("", None)])
def test_a_template_that_is_not_there_is_refused_with_those_that_are(name, version):
    with pytest.raises(TemplateUnreadable, match="bugfix, docs"):
        template_folder(name, version)
