"""What a Python project says of itself, read without running it."""

from pathlib import Path

import pytest

from worker.box.project import UnreadableProject, read_project


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("_toml", ".toml").replace("_cfg", ".cfg").replace("_py", ".py")).write_text(text)
    return folder


def test_dependencies_and_test_extras_are_taken_and_the_others_left(tmp_path: Path) -> None:
    project = read_project(
        written(
            tmp_path,
            pyproject_toml="""
[project]
name = "Some.Thing"
version = "1.2"
requires-python = ">=3.9"
dependencies = ["wanted >= 2 ; python_version > '3'"]
optional-dependencies.tests = ["freezer", "some-thing[more]"]
optional-dependencies.more = ["extra[one]==1"]
optional-dependencies.docs = ["pages"]
optional-dependencies.dev = ["linter"]
scripts.thing = "some.thing:main"
entry-points.pytest11.thing = "some.plugin"
""",
        )
    )
    assert (project.name, project.version, project.requires_python) == ("Some.Thing", "1.2", ">=3.9")
    assert project.requirements == ("extra[one]==1", "freezer", 'wanted>=2; python_version > "3"')
    assert project.entry_points == (
        ("console_scripts", "thing", "some.thing:main"),
        ("pytest11", "thing", "some.plugin"),
    )


def test_development_extras_count_where_there_is_no_test_extra(tmp_path: Path) -> None:
    text = '[project]\nname = "x"\nversion = "1"\n[project.optional-dependencies]\ndev = ["pytest-mock"]\n'
    assert read_project(written(tmp_path, pyproject_toml=text)).requirements == ("pytest-mock",)


def test_dependency_groups_include_one_another(tmp_path: Path) -> None:
    text = '[dependency-groups]\ntest = ["one", {include-group = "more"}]\nmore = ["two"]\nunused = ["three"]\n'
    assert read_project(written(tmp_path, pyproject_toml=text)).requirements == ("one", "two")


def test_a_group_that_includes_itself_is_refused(tmp_path: Path) -> None:
    text = '[dependency-groups]\ntest = [{include-group = "test"}]\n'
    with pytest.raises(UnreadableProject, match="includes itself"):
        read_project(written(tmp_path, pyproject_toml=text))


def test_setup_cfg_is_read(tmp_path: Path) -> None:
    text = """
[metadata]
name = old
version = attr: old.version
[options]
package_dir =
    = lib
install_requires =
    one
    # nothing
    two>1 # since two 1.1
[options.extras_require]
testing = three
[options.entry_points]
console_scripts =
    old = old:main
"""
    (tmp_path / "lib").mkdir()
    project = read_project(written(tmp_path, setup_cfg=text))
    assert (project.name, project.version, project.source) == ("old", "0", "lib")
    assert project.requirements == ("one", "three", "two>1")
    assert project.entry_points == (("console_scripts", "old", "old:main"),)


def test_setup_py_is_read_and_not_run(tmp_path: Path) -> None:
    text = f"""
import pathlib
from setuptools import setup
pathlib.Path({str(tmp_path / "marker")!r}).write_text("ran")
setup(name="older", version=pathlib.Path("v").read_text(), install_requires=["one"], extras_require={{"test": ["two"]}})
"""
    project = read_project(written(tmp_path, setup_py=text))
    assert (project.name, project.version, project.requirements) == ("older", "0", ("one", "two"))
    assert not (tmp_path / "marker").exists()


def test_the_version_of_a_source_distribution_is_the_one_it_was_built_with(tmp_path: Path) -> None:
    (tmp_path / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: x\nVersion: 4.15.0\n\nText\n")
    (tmp_path / "src").mkdir()
    project = read_project(written(tmp_path, pyproject_toml='[project]\nname = "x"\ndynamic = ["version"]\n'))
    assert (project.version, project.source) == ("4.15.0", "src")


@pytest.mark.parametrize(
    "requirement",
    ["thing @ file:///etc", "thing @ git+ssh://host.test/x", "-r other.txt", "--index-url=x", "../thing", "a b c"],
)
def test_requirements_that_are_not_plain_names_are_refused(requirement: str, tmp_path: Path) -> None:
    text = f'[project]\nname = "x"\nversion = "1"\ndependencies = ["{requirement}"]\n'
    with pytest.raises(UnreadableProject):
        read_project(written(tmp_path, pyproject_toml=text))


@pytest.mark.parametrize(
    "text",
    [
        "not toml",
        "project = 3",
        "[project]\nname = 4\ndependencies = 'x'",
        "[tool]\nsetuptools = 1",
        "\ufeff[project",
        "",
    ],
)
def test_odd_files_are_read_or_refused_and_never_break(text: str, tmp_path: Path) -> None:
    try:
        project = read_project(written(tmp_path, pyproject_toml=text, setup_cfg="x" if "not" in text else ""))
    except UnreadableProject:
        return
    assert project.source == "."


def test_links_are_not_followed_for_what_is_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    written(outside, pyproject_toml='[project]\nname = "stolen"\nversion = "1"\n')
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "pyproject.toml").symlink_to(outside / "pyproject.toml")
    (tree / "src").symlink_to(outside)
    project = read_project(tree)
    assert project.name is None and project.source == "."


def test_a_list_that_setup_py_names_is_found_where_it_is_given_once(tmp_path: Path) -> None:
    text = "from setuptools import setup\nNEEDS = ['one', 'two>1']\ndef main():\n    setup(install_requires=NEEDS)\n"
    assert read_project(written(tmp_path, setup_py=text)).requirements == ("one", "two>1")
    (tmp_path / "setup.py").write_text(text + "NEEDS = []\n")
    assert read_project(tmp_path).requirements == ()


@pytest.mark.parametrize(("name", "text"), [
    ("pyproject_toml", '[tool.setuptools_scm]\nwrite_to = "src/a/_version.py"\n'),
    ("pyproject_toml", '[tool.setuptools_scm]\nversion_file = "src/a/_version.py"\n'),
    ("pyproject_toml", '[tool.hatch.build.hooks.vcs]\nversion-file = "src/a/_version.py"\n'),
    ("setup_py", 'setup(use_scm_version={"write_to": "src/a/_version.py"})\n'),
])  # fmt: skip
def test_a_module_that_only_the_build_would_write_is_known(name: str, text: str, tmp_path: Path) -> None:
    written(tmp_path, **{name: text})
    assert read_project(tmp_path).version_files == ("src/a/_version.py",)
    (tmp_path / "src/a").mkdir(parents=True)
    (tmp_path / "src/a/_version.py").write_text("version = '1'\n")
    assert read_project(tmp_path).version_files == ()


@pytest.mark.parametrize("path", ["../out.py", "/etc/out.py", "a/version.txt"])
def test_a_module_outside_the_tree_is_nobodys(path: str, tmp_path: Path) -> None:
    text = f'[tool.setuptools_scm]\nwrite_to = "{path}"\n'
    assert read_project(written(tmp_path, pyproject_toml=text)).version_files == ()


def test_requirement_files_count_where_nothing_else_names_what_is_needed(tmp_path: Path) -> None:
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements.txt").write_text(
        "# all of it\none==1 \\\n    --hash=sha256:00\nTwo>2 # new\n--index-url https://a.example.test/\n-e .[test]\n"
    )
    (tmp_path / "requirements/dev.txt").write_text("-r ../requirements.txt\n-r more.txt\n-c limits.txt\n")
    (tmp_path / "requirements/more.txt").write_text("three\n-r dev.txt\n-r ../../outside.txt\n")
    (tmp_path.parent / "outside.txt").write_text("four\n")
    (tmp_path / "poetry.lock").write_text("")
    project = read_project(tmp_path)
    assert project.requirements == ("Two>2", "one==1", "three")
    assert [note.partition("`: ")[2] or note for note in project.notes] == [
        "`--index-url https://a.example.test/` is not heeded when what the tests need is installed.",
        "`-c limits.txt` is not heeded when what the tests need is installed.",
        "The packages for the tests were chosen by pip: `poetry.lock` is not read for them.",
    ]
    own = '[project]\nname = "x"\nversion = "1"\ndependencies = ["five"]\noptional-dependencies.test = ["six"]\n'
    assert read_project(written(tmp_path, pyproject_toml=own)).requirements == ("five", "six")
    (tmp_path / "requirements.txt").write_text("seven @ https://a.example.test/seven.whl\n")
    (tmp_path / "pyproject.toml").unlink()
    with pytest.raises(UnreadableProject, match="an address of its own"):
        read_project(tmp_path)
