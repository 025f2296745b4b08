"""Named checks: found by the tree's own files, and never more than their arguments."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.policy import POLICY_PATH, Policy
from app.core.verdict import Refused
from worker.box.box import Box, Ran
from worker.box.checks import PYTEST, Ground, NamedCheck, PathArguments, checks_of, command_for, discover
from worker.box.command import Command, Profile
from worker.box.environment import PYTHON, CheckEnvironment
from worker.box.mounts import FIXED_ENVIRONMENT

CHECK = NamedCheck("pytest", PYTEST, PathArguments.ACCEPTED, "python")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("")
    (tmp_path / "tests" / "odd::name.py").write_text("")
    (tmp_path / "outside").symlink_to("/etc")
    (tmp_path / "-x").write_text("")
    environment = CheckEnvironment(tmp_path / "made", PYTHON, ("/work/src", "/made/packages"), "d" * 64)
    return Ground(tmp_path, frozenset({"tests/test_new.py"}), (environment,))


@pytest.mark.parametrize(
    "path",
    [
        *("tests/test_a.py", "tests", "tests/test_new.py"),
        *("tests/test_a.py::test_x", "tests/test_a.py::C::test_x[1-a b]", "tests/test_a.py::test_x[http://[fe80::1]/]"),
        *(r"tests/test_a.py::test_x[a\b]", "tests/odd::name.py"),
    ],
)
def test_paths_of_the_tree_and_of_the_plan_are_taken(path: str, ground: Ground) -> None:
    command = command_for(CHECK, (path,), ground)
    assert isinstance(command, Command)
    assert command.argv == (*PYTEST, path) and command.profile is Profile.TEST
    assert command.environment == {"PYTHONPATH": "/work/src:/made/packages"}
    assert command.made == ground.environments[0].directory


def test_a_check_of_the_repository_s_own_can_be_narrowed_to_one_test_as_well(ground: Ground) -> None:
    own = NamedCheck("unit", ("bin/test",), PathArguments.ACCEPTED)
    command = command_for(own, ("tests/test_a.py::test_x",), ground)
    assert isinstance(command, Command) and command.argv == ("bin/test", "tests/test_a.py::test_x")


@pytest.mark.parametrize(
    "path",
    [
        *("", "-x", "--co", "/etc/passwd", "../a", "tests/../../a", "tests/missing.py", "outside/passwd", "outside"),
        *(".git/config", "tests/test_a.py\n-x", "tests\\a", "tests/test_a.py::", "tests/test_a.py::a;b", "::test"),
        "-p evil",
    ],
)
def test_anything_else_is_refused_with_the_path_named(path: str, ground: Ground) -> None:
    refusal = command_for(CHECK, ("tests", path), ground)
    assert isinstance(refusal, Refused) and repr(path) in refusal.reason


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.text(st.sampled_from("ab./-:\\ \n\0tests_py[]"), max_size=12))
def test_no_argument_becomes_an_option_or_leaves_the_tree(path: str, ground: Ground) -> None:
    command = command_for(CHECK, (path,), ground)
    if isinstance(command, Command):
        given_path = command.argv[-1].split("::")[0]
        assert not given_path.startswith(("-", "/")) and "\0" not in given_path
        assert (ground.snapshot / given_path).resolve().is_relative_to(ground.snapshot.resolve())


def test_a_check_that_is_not_prepared_is_refused_with_the_reason(ground: Ground) -> None:
    check = NamedCheck("go test", ("/usr/bin/go", "test"), PathArguments.NONE, "", "there is no /usr/bin/go")
    refusal = command_for(check, (), ground)
    assert isinstance(refusal, Refused) and "/usr/bin/go" in refusal.reason
    ready = NamedCheck("make test", ("/usr/bin/make", "test"), PathArguments.NONE)
    assert isinstance(command_for(ready, ("tests",), ground), Refused)
    command = command_for(ready, (), ground)
    assert isinstance(command, Command) and command.argv == ("/usr/bin/make", "test") and not command.tools


def test_a_python_check_without_an_environment_is_refused(ground: Ground) -> None:
    assert isinstance(command_for(CHECK, (), Ground(ground.snapshot)), Refused)


def test_each_ecosystem_is_found_by_its_own_file(tmp_path: Path) -> None:
    assert discover(tmp_path) == ()
    (tmp_path / "tests").mkdir()
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "package.json").write_text(json.dumps({"scripts": {"test": "node --test"}}))
    (tmp_path / "go.mod").write_text("module x\n\nrequire other v1\n")
    (tmp_path / "Cargo.toml").write_text("[package]\nname = 'x'\n[dev-dependencies]\ny = '1'\n")
    (tmp_path / "Makefile").write_text("all:\n\ttrue\ntest: all\n\ttrue\n")
    found = {check.name: check for check in discover(tmp_path)}
    assert list(found) == ["pytest", "npm test", "go test", "cargo test", "make test"]
    assert found["pytest"].argv == PYTEST and found["pytest"].needs == "python"
    assert found["npm test"].argv == ("/usr/bin/npm", "test", "--silent")
    assert found["go test"].not_prepared and found["cargo test"].not_prepared


def test_runners_are_asked_for_little_and_are_not_told_that_nobody_reads_along(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("")
    (tmp_path / "Cargo.toml").write_text("[package]\nname = 'x'\n")
    found = {check.name: check for check in discover(tmp_path)}
    assert found["pytest"].argv[3:6] == ("-q", "--tb=short", "-rfE")
    assert found["cargo test"].argv[1:] == ("test", "--offline", "--quiet")
    assert "CI" not in FIXED_ENVIRONMENT
    with pytest.raises(ValueError, match="CI"):
        Command(("make",), 1.0, Profile.TEST, {"CI": "1"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("package.json", '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'),
        ("package.json", "not json"),
        ("package.json", "[1]"),
        ("package.json", '{"scripts": {"test": 3}}'),
        ("Makefile", "test := x\n"),
        ("Makefile", "tests:\n\ttrue\n"),
        ("Makefile", "# test:\n.PHONY: test\nall:\n\ttest: x\nX = a test: b\n"),
        ("pyproject.toml", "[project]\nname = 'x'\n"),
    ],
)
def test_a_file_that_speaks_of_no_test_is_no_check(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert discover(tmp_path) == ()


C_PROJECT = "export CFLAGS ?= -O2\nprog extra: prog.c\n\tcc $^\n.PHONY: check\n"


@pytest.mark.parametrize(
    ("text", "goals"),
    [
        ("check: all\n\ttrue\n", ("check",)),
        ("check:\n\ttrue\ntest check:: all\n", ("test",)),
        (f"{C_PROJECT}check:\n\t./tests.sh\n", ("prog", "check")),
        (f"{C_PROJECT}check: prog\n\t./tests.sh\n", ("check",)),
        (f"{C_PROJECT}check:\n\t./tests.sh\ncheck: prog\n", ("check",)),
        ("help:\n\techo\ncheck:\n\t./tests.sh\n", ("check",)),
        ("$(PROGRAMS): prog.c\ncheck:\n\t./tests.sh\n", ("check",)),
    ],
)
def test_tests_of_a_compiled_project_that_build_nothing_come_after_what_a_bare_make_builds(
    tmp_path: Path, text: str, goals: tuple[str, ...]
) -> None:
    (tmp_path / "GNUmakefile").write_text(text)
    (tmp_path / "Makefile").write_text("test:\n\tfalse\n")
    (tmp_path / "prog.c").write_text("int main(void) { return 0; }\n")
    (check,) = discover(tmp_path)
    assert (check.name, check.argv) == (f"make {goals[-1]}", ("/usr/bin/make", *goals))


def test_what_is_not_compiled_is_not_built_before_its_tests(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("serve:\n\tpython app.py\ntest:\n\tpython tests.py\n")
    (check,) = discover(tmp_path)
    assert check.argv == ("/usr/bin/make", "test")


def test_packages_of_node_are_prepared_unless_there_are_none_or_the_tree_holds_them(tmp_path: Path) -> None:
    def needs(manifest: dict[str, object]) -> str:
        (tmp_path / "package.json").write_text(json.dumps({"scripts": {"test": "x"}} | manifest))
        return discover(tmp_path)[0].needs

    assert (needs({}), needs({"devDependencies": {"y": "1"}}), needs({"workspaces": ["a"]})) == ("", "node", "node")
    (tmp_path / "node_modules").mkdir()
    assert needs({"devDependencies": {"y": "1"}}) == ""


@pytest.mark.parametrize(("name", "text", "more", "tool"), [
    ("go.mod", "module x\n", "require y v1.0.0\n", "go"),
    ("Cargo.toml", "[package]\nname = 'x'\n", "[dependencies]\ny = '1'\n", "cargo"),
    ("package.json", '{"scripts": {"test": "x"}}\n', "", "npm"),
])  # fmt: skip
def test_what_a_tree_depends_on_is_what_its_check_needs_and_what_it_may_depend_on_is_said(
    tmp_path: Path, name: str, text: str, more: str, tool: str
) -> None:
    kind = {"npm": "node"}.get(tool, tool)
    (tmp_path / name).write_text(text)
    (without,) = discover(tmp_path)
    assert (without.needs, without.may_need) == ("", kind)
    (tmp_path / name).write_text(text + more if more else '{"scripts": {"test": "x"}, "dependencies": {"y": "1"}}')
    (check,) = discover(tmp_path)
    assert (check.needs, check.may_need) == (kind, kind)
    here = Path("/usr/bin", tool).exists()
    assert check.not_prepared == ("" if here else f"there is no /usr/bin/{tool} on this machine")
    prepared = checks_of(tmp_path, Policy(setup=(("true",),)))[0]
    assert (prepared.needs, prepared.may_need) == ("setup", "") and bool(prepared.not_prepared) is not here


def test_a_project_of_maven_always_needs_its_repository(tmp_path: Path) -> None:
    (tmp_path / "pom.xml").write_text("<project/>")
    assert discover(tmp_path)[0].needs == "maven"


def test_packages_that_nobody_prepares_are_a_reason_that_says_what_to_write(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"scripts": {"test": "x"}, "dependencies": {"y": "workspace:*"}}')
    reason = discover(tmp_path)[0].not_prepared
    here = Path("/usr/bin/npm").exists()
    assert ("`setup: [[yarn, install" in reason and POLICY_PATH in reason) if here else "no /usr/bin/npm" in reason


def test_a_workspace_of_pnpm_is_not_npms_and_its_settings_alone_are_no_workspace(tmp_path: Path) -> None:
    manifest = {"scripts": {"test": "x"}, "dependencies": {"y": "1"}}
    (tmp_path / "package.json").write_text(json.dumps(manifest))
    (tmp_path / "pnpm-lock.yaml").write_text("")
    (tmp_path / "pnpm-workspace.yaml").write_text("onlyBuiltDependencies: [esbuild]\n")
    assert "pnpm" not in discover(tmp_path)[0].not_prepared
    (tmp_path / "pnpm-workspace.yaml").write_text("packages: ['packages/*']\n")
    reason = discover(tmp_path)[0].not_prepared
    assert "`setup: [[pnpm, install, --frozen-lockfile]]`" in reason or "there is no /usr/bin/npm" in reason


@pytest.mark.needs_userns
@pytest.mark.skipif(not Path("/usr/bin/mvn").exists(), reason="no /usr/bin/mvn here")
def test_maven_starts_in_the_box(box: Box, tmp_path: Path) -> None:
    parts = "<modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>b</artifactId><version>1</version>"
    (tmp_path / "pom.xml").write_text(f"<project>{parts}<packaging>pom</packaging></project>")
    check = discover(tmp_path)[0]
    ran = box.run(tmp_path, Command(check.argv, 60, Profile.TEST))
    assert isinstance(ran, Ran) and ran.exit_status == 0, ran
