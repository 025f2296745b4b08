"""A passing end that shows nothing is not believed."""

import json
from pathlib import Path

import pytest

from worker.belts.believing import doubt, heard, speaks_for_the_runner
from worker.evidence.tallies import Tally

NPM = ("/usr/bin/npm", "test", "--silent")
MAKE = ("/usr/bin/make", "test")
UNKNOWN = Tally()


def scripts(tree: Path, **named: str) -> Path:
    (tree / "package.json").write_text(json.dumps({"scripts": named}))
    return tree


def makefile(tree: Path, text: str) -> Path:
    (tree / "Makefile").write_text(text)
    return tree


def test_a_runner_that_reports_failures_or_ran_nothing_is_not_believed(tmp_path: Path) -> None:
    assert "reports 2 failed tests" in doubt(NPM, tmp_path, Tally(5, 2))
    assert "ran no test" in doubt(NPM, tmp_path, Tally(0, 0))
    assert doubt(NPM, tmp_path, Tally(5, 0)) == ""
    assert doubt(("./run-tests",), tmp_path, UNKNOWN) == ""


@pytest.mark.parametrize(
    "words",
    [
        ("/usr/bin/python3", "-m", "pytest", "-q", "tests"),
        ("pytest",),
        ("python3.11", "-m", "unittest"),
        ("/usr/bin/go", "test", "./..."),
        ("cargo", "test", "--quiet"),
        ("/usr/bin/uv", "run", "--frozen", "pytest", "-q"),
        ("poetry", "run", "python", "-m", "unittest"),
        ("coverage", "run", "--branch", "-m", "pytest"),
        ("python3", "-m", "coverage", "run", "-m", "unittest"),
    ],
)
def test_a_runner_that_ends_without_its_summary_is_not_believed(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Code that ends the process itself, as `os._exit(0)` does, takes the runner along."""
    assert "did not say that its tests ran to the end" in doubt(words, tmp_path, UNKNOWN)
    assert doubt(words, tmp_path, Tally(3, 0)) == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pytest",), "Ran 5 tests in 0.1s\n\nOK\n5 passed in 0.10s\n===== no tests ran in 0.01s =====\n"),
        (("python3", "-m", "unittest"), "Ran 0 tests in 0.000s\n\nOK\n5 passed in 0.10s\nRan 5 tests in 0.1s\n\nOK\n"),
        (("go", "test", "./..."), "5 passed in 0.10s\n?   \tshop\t[no test files]\n"),
        (("uv", "run", "pytest"), "Ran 5 tests in 0.1s\n\nOK\n===== no tests ran in 0.01s =====\n"),
        (("cargo", "test"), "5 passed in 0.10s\ntest result: ok. 0 passed; 0 failed; 0 ignored\n"),
    ],
)
def test_a_summary_in_another_runners_form_or_beside_the_runners_own_shows_nothing(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    told, why = heard(words, tmp_path, said)
    assert told.ran == 0 and "ran no test" in why


@pytest.mark.parametrize(
    "line", ['print("5 passed in 0.10s")', "os._exit(0)", "process.exit(0);", "write('Ran 5 tests in 0.1s\\n\\nOK')"]
)
def test_a_test_that_speaks_for_its_runner_or_ends_it_is_told(line: str) -> None:
    before = b"def test_one():\n    assert f() == '5 passed'\n"
    assert f"`{line}`" in speaks_for_the_runner("tests/test_a.py", before, before + f"    {line}\n".encode())
    assert speaks_for_the_runner("tests/test_a.py", f"    {line}\n".encode(), f"    {line}\n".encode()) == ""
    assert speaks_for_the_runner("tests/test_a.py", b"", before + b"    assert exit_code == 0\n") == ""


@pytest.mark.parametrize("words", [("go", "test", "-json", "./..."), ("go", "vet"), ("python3", "tests.py", "pytest")])
def test_another_command_need_not_tell(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert doubt(words, tmp_path, UNKNOWN) == ""


@pytest.mark.parametrize(
    "script",
    [
        "jest || true",
        "jest | tee log",
        "jest; exit 0",
        "jest || echo failed",
        "jest; echo done",
        "node a.js &",
        "node a.js || :",
        "node a.js |& tee log",
    ],
)
def test_a_script_that_hides_a_failure_is_not_believed(tmp_path: Path, script: str) -> None:
    assert f"`{script}`" in doubt(NPM, scripts(tmp_path, test=script), UNKNOWN)
    assert f"`{script}`" in doubt(NPM, scripts(tmp_path, test="npm run unit", unit=script), UNKNOWN)
    assert f"`{script}`" in doubt(NPM, scripts(tmp_path, pretest=script, test="jest"), UNKNOWN)
    assert f"`{script}`" in doubt(
        MAKE, makefile(tmp_path, f"all: x\n\ntest: unit\n\techo x\nunit:\n\t{script}\n"), UNKNOWN
    )


@pytest.mark.parametrize(
    "script",
    [
        "jest",
        "eslint . && jest",
        "jest --grep 'a|b'",
        'node -e "x | y"',
        "a || b",
        "set -o pipefail; jest | cat",
        "a 2>&1",
        "rm -f log || true; jest",
        "./greet | grep -q hello",
        "./greet | diff - expected",
    ],
)
def test_a_plain_script_is_believed(tmp_path: Path, script: str) -> None:
    assert doubt(NPM, scripts(tmp_path, test=script, lint="x || true"), UNKNOWN) == ""
    assert doubt(MAKE, makefile(tmp_path, f"test:\n\t{script}\nother:\n\tx || true\n"), UNKNOWN) == ""


@pytest.mark.parametrize(
    "words",
    [("npm", "run", "unit"), ("/usr/bin/npm", "run", "--silent", "unit"), ("pnpm", "unit"), ("yarn", "run", "unit")],
)
def test_the_script_that_is_run_is_the_one_that_is_read(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert doubt(words, scripts(tmp_path, test="jest", unit="mocha || true"), UNKNOWN)
    assert not doubt(words, scripts(tmp_path, test="jest || true", unit="mocha"), UNKNOWN)


def test_make_without_a_goal_makes_the_first(tmp_path: Path) -> None:
    tree = makefile(tmp_path, "check:\n\t./run || true\nother:\n\t./run\n")
    assert doubt(("make",), tree, UNKNOWN) and doubt(("make", "V=1"), tree, UNKNOWN)
    assert not doubt(("make", "other"), tree, UNKNOWN)


def test_what_a_script_hides_does_no_harm_where_the_runner_said_that_tests_passed(tmp_path: Path) -> None:
    assert doubt(NPM, scripts(tmp_path, test="jest | tee log"), Tally(3, 0)) == ""


def test_a_recipe_line_that_goes_on_after_a_failure_is_not_believed(tmp_path: Path) -> None:
    assert "goes on after a failure" in doubt(MAKE, makefile(tmp_path, "test:\n\t-sh tests.sh\n"), UNKNOWN)
    assert doubt(MAKE, makefile(tmp_path, "test:\n\t@sh tests.sh\n"), UNKNOWN) == ""


def test_tidying_up_may_fail(tmp_path: Path) -> None:
    assert doubt(MAKE, makefile(tmp_path, "test:\n\t-rm -rf log\n\t-@mkdir log\n\tsh tests.sh\n"), UNKNOWN) == ""


def test_scripts_that_cannot_be_read_hide_nothing_that_is_known(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{")
    assert doubt(NPM, tmp_path, UNKNOWN) == ""
    (tmp_path / "Makefile").symlink_to("/dev/zero")
    assert doubt(MAKE, tmp_path, UNKNOWN) == ""


def test_scripts_that_run_one_another_are_read_once(tmp_path: Path) -> None:
    assert doubt(NPM, scripts(tmp_path, test="npm run a", a="npm test"), UNKNOWN) == ""
