"""Programs and commands in the text of an issue, and what is made of them."""

import ast
import textwrap
from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from worker.box.attempts import MOST, attempts, unbound_names
from worker.box.project import Project
from worker.box.reproduction import Way
from worker.box.snippets import LONGEST, Snippet, commands_in, snippets_in

STATEMENTS = (
    "import json", "x = [1, 2, 3]", "total = sum(x)", "print(json.dumps(x))", "frame.plot(kind='bar')",
    "def run(n):\n    return n + 1", "for n in range(3):\n    print(n)",
    "class Thing:\n    size = 1\n\n    def go(self): ...",
    "with open('a') as file:\n    text = file.read()", "raise ValueError('no')", "text = '''one\n\ntwo'''",
)  # fmt: skip
statements = st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=5)
LINTER = Project("tidy", "1", "", (), (("console_scripts", "tidy", "tidy.cli:main"),), ".")
LIBRARY = Project("my-lib", "1", "", (), (), "src")


def nothing(names: Sequence[str]) -> tuple[str, ...]:
    return ()


def fenced(code: str, info: str = "python") -> str:
    return f"Some words.\n\n```{info}\n{code}\n```\n\nMore words.\n"


def codes(text: str) -> list[str]:
    return [one.code for one in snippets_in(text)]


@given(statements, st.sampled_from(["python", "py", "Python3", "python title=x", "{.python}", "pycon"]))
def test_a_block_of_python_comes_back_as_it_stands(parts: list[str], info: str) -> None:
    code = "\n".join(parts) + "\n"
    assert codes(fenced(code.rstrip("\n"), info)) == [code]


@given(statements, st.lists(st.sampled_from(["3", "[1, 2]", "<Thing at 0x7f>", "Traceback (most recent call last):"])))
def test_of_a_session_at_the_prompt_what_was_typed_is_kept(parts: list[str], output: list[str]) -> None:
    assume(not any("'''" in part for part in parts))
    lines = []
    for part in parts:
        first, *rest = part.split("\n")
        lines += [
            f">>> {first}",
            *(f"... {line}" if line else "..." for line in rest),
            *(["..."] if rest else []),
            *output,
        ]
    found = snippets_in(fenced("\n".join(lines), ""))
    assert len(found) == 1
    assert ast.dump(ast.parse(found[0].code)) == ast.dump(ast.parse("\n".join(parts)))


@given(statements, st.integers(0, 12))
def test_a_block_that_stands_indented_loses_what_all_its_lines_share(parts: list[str], depth: int) -> None:
    assume(not any("'''" in part for part in parts))
    code = "\n".join(parts)
    found = snippets_in(fenced(textwrap.indent(code, " " * depth)))
    assert len(found) == 1 and ast.dump(ast.parse(found[0].code)) == ast.dump(ast.parse(code))


@given(st.text(alphabet="`~>.#- \n$[]():=\"'abcdefP3In\t\\{}|<\u200b", max_size=300))
def test_any_text_is_read_without_an_error_and_what_is_found_is_a_program(text: str) -> None:
    for one in snippets_in(text):
        assert 0 < len(one.code) <= LONGEST
        if one.language == "python":
            ast.parse(one.code)
    for words in commands_in(text):
        assert words and all(words)
    assert len(attempts(text, LINTER, nothing)) <= MOST


@pytest.mark.parametrize("text", [
    fenced("Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nValueError: x", ""),
    fenced("Package Version\n------- -------\nnumpy   1.0", ""), fenced("name", ""), fenced("'a', 'b'", "python"),
    fenced("pip install x", "bash"), fenced("{\"a\": 1}", "json"), fenced("print 'old'", "python"),
    fenced("", "python"),
    fenced("x = 1\n" * (LONGEST // 6 + 1)), "No code at all.", "`x = 1` in a line",
])  # fmt: skip
def test_what_is_no_program_is_left_out(text: str) -> None:
    assert snippets_in(text) == ()


@pytest.mark.parametrize(("text", "name"), [
    ("```python\n# content of test_a.py\nx = 1\n```", "test_a.py"), ("```py\n# conftest.py\nx = 1\n```", "conftest.py"),
    ("In `src/b.py`:\n```python\nx = 1\n```", "b.py"), ("**main.py**\n\n```\nx = f(1)\n```", "main.py"),
    ("See a.py.\n\nThen:\n```python\nx = 1\n```", ""), ("```python\nx = 1  # a.py\n```", ""),
])  # fmt: skip
def test_the_file_that_the_text_names_is_known(text: str, name: str) -> None:
    assert [one.name for one in snippets_in(text)] == [name]


def test_a_block_without_a_language_is_what_it_reads_like() -> None:
    assert snippets_in(fenced("import a\na.run()", "")) == (Snippet("python", "import a\na.run()\n"),)
    (script,) = snippets_in(fenced("const a = require('a');\na.run();", ""))
    assert script.language == "javascript"
    assert snippets_in("<details>\n\n~~~\n>>> f(1)\n2\n~~~\n\n</details>") == (Snippet("python", "f(1)\n"),)


def test_commands_are_taken_where_a_shell_would_change_nothing_in_them() -> None:
    text = (
        "```console\n(venv) me@host:~/x$ tidy --fix 'a b.py'\nall done\n$ tidy > out\n$ echo $HOME; rm -rf x\n```\n"
        "Then `tidy -v c.py` or `Thing.run(x)`.\n\n```bash\n# first\ntidy d.py  # now\n```\n"
    )
    assert commands_in(text) == (("tidy", "--fix", "a b.py"), ("tidy", "-v", "c.py"), ("tidy", "d.py"))


def test_tests_are_run_as_tests_and_programs_in_turn() -> None:
    text = (
        fenced("import my_lib\nmy_lib.go()")
        + fenced("def test_a():\n    assert my_lib.go()\n")
        + fenced("my_lib.x = 1")
    )
    tests, rest = attempts(text, LIBRARY, nothing)
    assert tests.way is Way.TESTS and "test_reproduction_2.py" in tests.files
    assert rest.way is Way.SESSION and list(rest.files) == ["reproduction_1.py", "reproduction_3.py"]


def test_a_command_of_the_project_comes_first_and_finds_the_file_that_it_names() -> None:
    text = (
        fenced("import os\n") + "\n```console\n$ tidy --strict bad.py\n$ other bad.py\n$ python -m tidy bad.py\n```\n"
    )
    first, second, *_ = [one for one in attempts(text, LINTER, nothing) if one.words[1:] != ("reproduction_1.py",)]
    assert (first.way, first.words, list(first.files)) == (Way.PROGRAM, ("tidy", "--strict", "bad.py"), ["bad.py"])
    assert second.words == ("-m tidy", "bad.py")


def test_code_that_speaks_of_nothing_of_the_project_is_given_to_the_projects_own_command() -> None:
    (first, *_) = attempts(fenced("import os\n"), LINTER, nothing)
    assert first.words == ("tidy", "reproduction_1.py")
    assert all(one.way is not Way.PROGRAM for one in attempts(fenced("import tidy\n"), LINTER, nothing))
    assert all(one.way is not Way.PROGRAM for one in attempts(fenced("import os\n"), LIBRARY, nothing))


def test_names_that_nobody_gives_are_found() -> None:
    code = (
        "import os as o\nfrom a import b\ndef f(x, *y, **z):\n    return x + y + outer + o.b(z)\nclass C(Base): pass\n"
        "try: b()\nexcept OSError as e: print(e, later)\n[n for n in so.Plot()]\nlater = 1\n"
    )
    assert sorted(unbound_names(code)) == ["Base", "outer", "so"]
    assert unbound_names("def") == ()


def test_missing_imports_stand_before_tests_and_in_cells_of_their_own_before_programs() -> None:
    def known(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"from my_lib import {name}" for name in names if name != "unknown")

    text = fenced("def test_a():\n    assert go(unknown)") + fenced("go(stop)") + fenced("go(1)")
    tests, session = attempts(text, LIBRARY, known)
    assert tests.files["test_reproduction_1.py"].startswith("from my_lib import go\ndef test_a")
    assert list(session.files.values())[:2] == ["from my_lib import go\n", "from my_lib import stop\n"]
    assert session.added == ("from my_lib import go", "from my_lib import stop")


def test_code_that_speaks_of_the_project_only_by_what_it_leaves_out_is_no_input_of_its_command() -> None:
    found = attempts(fenced("Checker()"), LINTER, lambda names: ("from tidy.core import Checker",))
    assert [one.way for one in found] == [Way.SESSION]


def test_settings_that_the_issue_shows_stand_beside_what_is_run() -> None:
    text = "In `.tidyrc`:\n```ini\n[main]\nx = 1\n```\n" + fenced("[tool.tidy]\ny = 2", "toml") + "\n```sh\ntidy\n```\n"
    (only,) = attempts(text, LINTER, nothing)
    assert only.words == ("tidy",) and set(only.files) == {".tidyrc", "pyproject.toml"}
    assert attempts("```sh\ntidy\n```\n", LINTER, nothing) == ()


def test_an_empty_file_stands_for_one_that_the_issue_only_names() -> None:
    (only,) = attempts("```sh\ntidy --all foo.py\ntidy --version\ntidy 2.1.4\n```\n", LINTER, nothing)
    assert (only.words, dict(only.files)) == (("tidy", "--all", "foo.py"), {"foo.py": ""})
    assert only.added == ("an empty foo.py",)


def test_a_program_in_the_field_for_a_command_is_found_below_a_line_of_words() -> None:
    text = "```shell\nRun this, using this code:\n\nimport sys\nsys.path.insert(0, 'x')\n```\n"
    assert codes(text) == ["import sys\nsys.path.insert(0, 'x')\n"]
    assert codes("```shell\nls -l\nx = 1\n```\n") == []


def test_what_stands_in_quotes_is_no_work_for_a_shell() -> None:
    text = '```sh\ntidy --form \'{path}: $x\' "{line} | a" b.py\ntidy "$HOME"\ntidy "`id`" c.py\n```\n'
    assert commands_in(text) == (("tidy", "--form", "{path}: $x", "{line} | a", "b.py"),)


def test_code_with_names_that_nobody_knows_is_no_input_of_the_projects_command() -> None:
    assert [one.way for one in attempts(fenced("app.run(1)"), LINTER, nothing)] == [Way.SESSION]
