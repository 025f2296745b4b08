"""Snippets, tests and a project's own commands, run on a throw-away copy with a tracer beside them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.verdict import Refused
from tests.conftest import leave_out
from worker.box.box import Box, Ended, Profile, Ran
from worker.box.checks import Ground, NamedCheck, PathArguments, command_for
from worker.box.profiles import limits_of
from worker.box.project import read_project
from worker.box.reproduction import (
    NODE,
    PythonPlace,
    Reproduction,
    Stand,
    Way,
    bare_place,
    command_of,
    followed,
    of_snippet,
)
from worker.box.trail import INSIDE, Trail, read_trail

pytestmark = pytest.mark.needs_userns
PROJECT = """
[project]
name = "tidy"
version = "1.2"
[project.scripts]
tidy = "tidy.cli:main"
[tool.setuptools_scm]
write_to = "src/tidy/_version.py"
"""
CLI = """
import sys
from tidy import _version, core
def main():
    print(sys.argv, [open(name).read() for name in sys.argv[1:] if name.endswith('.py')], _version.version)
    return core.check(len(sys.argv))
"""
Running = Callable[[Reproduction], tuple[Ran, Trail]]


@pytest.fixture
def stand(tree: Path) -> Stand:
    """A project with a command, whose version module was never built."""
    (tree / "pyproject.toml").write_text(PROJECT)
    (tree / "src/tidy").mkdir(parents=True)
    (tree / "src/tidy/__init__.py").write_text("")
    (tree / "src/tidy/__main__.py").write_text("from tidy.cli import main\nraise SystemExit(main())\n")
    (tree / "src/tidy/cli.py").write_text(CLI)
    (tree / "src/tidy/core.py").write_text("def check(n):\n    return n\ndef never(): ...\n")
    project = read_project(tree)
    return Stand(tree, project, bare_place(project))


@pytest.fixture
def reproduce(box: Box, stand: Stand, tmp_path: Path) -> Running:
    """Runs a reproduction and insists that it was run."""

    def run(reproduction: Reproduction) -> tuple[Ran, Trail]:
        command = command_of(reproduction, stand, tmp_path / f"snippet-{len(list(tmp_path.iterdir()))}")
        assert not isinstance(command, Refused), command
        assert command.profile is Profile.REPRO
        ran = box.run(stand.tree, command)
        assert isinstance(ran, Ran), ran
        paths = {path.relative_to(stand.tree).as_posix() for path in stand.tree.rglob("*")}
        return ran, read_trail(ran, paths)

    return run


def test_a_snippet_imports_the_project_and_its_frames_are_told(reproduce: Running) -> None:
    ran, trail = reproduce(of_snippet("python", "from tidy import core\nprint(core.check(7))\n"))
    assert (ran.exit_status, ran.output) == (0, b"7\n")
    assert [one.function for one in trail.executed()["src/tidy/core.py"]] == ["check"]


def test_a_module_that_only_the_build_would_have_written_is_there(reproduce: Running) -> None:
    ran, _ = reproduce(of_snippet("python", "from tidy import _version\nprint(_version.version)\n"))
    assert ran.output == b"1.2\n"


def test_a_command_of_the_project_runs_where_its_files_stand_and_under_its_own_name(reproduce: Running) -> None:
    for words, name in ((("tidy", "a.py", "-x"), "tidy"), (("-m tidy", "a.py", "-x"), "/work/src/tidy/__main__.py")):
        ran, trail = reproduce(Reproduction("python", {"a.py": "A = 1\n"}, Way.PROGRAM, words))
        assert ran.output.decode() == f"['{name}', 'a.py', '-x'] ['A = 1\\n'] 1.2\n"
        assert ran.exit_status == 3 and set(trail.executed()) == {"src/tidy/cli.py", "src/tidy/core.py"}


def test_a_session_goes_on_after_a_cell_that_fails_and_shows_what_the_last_line_gives(reproduce: Running) -> None:
    cells = {
        "a.py": "import tidy.core as core\nvalue = core.check(1)\n",
        "b.py": "core.missing()\n",
        "c.py": "raise SystemExit(9)\n",
        "d.py": "class Plot:\n    def _repr_html_(self): print('drawn', __name__)\nPlot()\n",
        "e.py": "value +\n",
        "f.py": "value + 1\n",
    }
    ran, trail = reproduce(Reproduction("python", cells, Way.SESSION))
    said = ran.output.decode()
    assert ran.exit_status == 1 and said.endswith("\n2\n") and "drawn __main__" in said
    assert "AttributeError" in said and "SyntaxError" in said and "SystemExit: 9" in said
    assert "/session.py" not in said, "its own lines are no news"
    assert list(trail.executed()) == ["src/tidy/core.py"]


def test_a_snippet_writes_only_to_its_own_copy(reproduce: Running, stand: Stand) -> None:
    text = "import os\nprint(os.path.exists('left'))\nopen('left', 'w').close()\nos.remove('src/tidy/core.py')\n"
    for _ in range(2):
        ran, _ = reproduce(of_snippet("python", text))
        assert ran.output == b"False\n"
    assert (stand.tree / "src/tidy/core.py").exists() and not (stand.tree / "left").exists()


def test_a_snippet_cannot_change_itself_or_the_tracer(reproduce: Running) -> None:
    text = f"""
import os, sys
for place in ("/tools/0/usercustomize.py", "/tools/1/files/reproduction.py", "/tools/1/x", "/src/notes.md"):
    for deed in (lambda: open(place, "a"), lambda: os.remove(place), lambda: os.chmod(place, 0o777)):
        try: deed(); print("done", place)
        except OSError: pass
print({sorted(p.name for p in INSIDE.iterdir() if p.suffix)!r} == sorted(n for n in os.listdir("/tools/0") if "." in n))
"""
    ran, _ = reproduce(of_snippet("python", text))
    assert ran.output == b"True\n"


def test_a_fork_bomb_in_a_snippet_is_capped_and_gone(reproduce: Running) -> None:
    ran, _ = reproduce(of_snippet("python", "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"))
    assert ran.ended in (Ended.PIDS, Ended.TIMEOUT)


def test_a_flood_of_output_from_a_snippet_is_cut_and_ended(reproduce: Running) -> None:
    ran, trail = reproduce(of_snippet("python", "import tidy.core as c\nc.check(1)\nwhile True: print('x' * 1000)\n"))
    limits = limits_of(Profile.REPRO)
    assert ran.ended is Ended.OUTPUT and len(ran.output) <= limits.output_kept_bytes + 100
    assert list(trail.executed()) == ["src/tidy/core.py"], "what it went through is known nevertheless"


def test_a_snippet_finds_no_secret_and_no_network(reproduce: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary-of-the-worker")
    text = """
import os, socket
found = str(dict(os.environ))
for entry in filter(str.isdigit, os.listdir("/proc")):
    try: found += open(f"/proc/{entry}/environ").read() + open(f"/proc/{entry}/cmdline").read()
    except OSError: pass
print("canary-of" + "-the-worker" in found, [line.split(":")[0].strip() for line in list(open("/proc/net/dev"))[2:]])
"""
    ran, _ = reproduce(of_snippet("python", text))
    assert ran.output == b"False ['lo']\n"


def test_tests_are_run_by_pytest_without_the_projects_own_settings(stand: Stand, tmp_path: Path) -> None:
    made = of_snippet("python", "import pytest\ndef test_a(): ...\n")
    assert made.way is Way.TESTS
    command = command_of(made, stand, tmp_path / "snippet")
    assert not isinstance(command, Refused)
    assert command.argv[1:3] == ("-m", "pytest") and command.argv[-1] == "/tools/1/files/test_reproduction.py"


def test_a_check_is_followed_on_a_copy_in_the_tight_profile(box: Box, stand: Stand) -> None:
    (stand.tree / "test_all.py").write_text("import unittest\nfrom tidy import core\n"
        "class T(unittest.TestCase):\n    def test_a(self): self.assertEqual(core.check(1), 2)\n")  # fmt: skip
    check = NamedCheck("own", ("/usr/bin/python3", "-m", "unittest"), PathArguments.ACCEPTED)
    command = command_for(check, ("test_all.py",), Ground(stand.tree))
    assert not isinstance(command, Refused)
    command = followed(
        type(command)(
            command.argv, command.timeout_seconds, command.profile, {"PYTHONPATH": "/work/src"}, command.tools
        )
    )
    assert command.profile is Profile.REPRO
    ran = box.run(stand.tree, command)
    assert isinstance(ran, Ran) and ran.exit_status == 1 and b"1 != 2" in ran.output
    assert set(read_trail(ran, {"src/tidy/core.py", "test_all.py"}).executed()) == {"src/tidy/core.py", "test_all.py"}


@pytest.mark.parametrize(("name", "code"), [
    ("cjs", "const tidy = require('@a/tidy'); console.log(tidy.check(3));"),
    ("mjs", "import tidy from '@a/tidy';\nconsole.log(tidy.check(3));"),
])  # fmt: skip
def test_a_javascript_project_can_be_imported_by_its_name(
    reproduce: Running, stand: Stand, name: str, code: str
) -> None:
    if not os.path.exists(NODE):
        leave_out("Node is not installed (apt-get install nodejs).")
    (stand.tree / "package.json").write_text('{"name": "@a/tidy", "main": "main.js"}')
    (stand.tree / "main.js").write_text("exports.check = function check(n) { return n; };\n")
    made = of_snippet("javascript", code)
    assert next(iter(made.files)).endswith(name)
    ran, trail = reproduce(made)
    assert (ran.exit_status, ran.output) == (0, b"3\n")
    assert [one.function for one in trail.executed()["main.js"]] == ["check"]


def test_a_program_in_a_language_without_a_tracer_has_its_output(reproduce: Running) -> None:
    if not os.path.exists("/usr/bin/perl"):
        leave_out("Perl is not installed (apt-get install perl).")
    ran, trail = reproduce(of_snippet("perl", "print 2 + 2; die 'gone'"))
    assert ran.output == b"gone at /tools/0/files/reproduction.pl line 1.\n4" and trail == Trail()


@pytest.mark.parametrize(("made", "reason"), [
    (Reproduction("cobol", {"a.cob": "x"}), "are not run"), (Reproduction("python", {}), "no name"),
    (Reproduction("python", {"../a.py": "x"}), "no name"), (Reproduction("python", {"a/b.py": "x"}), "no name"),
    (Reproduction("python", {"a.py": "x"}, Way.PROGRAM, ("rm", "a.py")), "no command that the project installs"),
    (Reproduction("python", {"a.py": "x"}, Way.PROGRAM, ("-m os;x", "a.py")), "no command"),
])  # fmt: skip
def test_what_cannot_be_run_here_is_refused_with_the_reason(
    made: Reproduction, reason: str, stand: Stand, tmp_path: Path
) -> None:
    refused = command_of(made, stand, tmp_path / "snippet")
    assert isinstance(refused, Refused) and reason in str(refused)


def test_an_interpreter_of_the_operators_own_is_used_where_it_was_prepared(stand: Stand, tmp_path: Path) -> None:
    place = PythonPlace(("/usr/bin/env", "A=1", "/tools/1/bin/python3"), ("/work", "/tools/0"), (tmp_path, tmp_path))
    command = command_of(of_snippet("python", "1"), Stand(stand.tree, stand.project, place), tmp_path / "snippet")
    assert not isinstance(command, Refused)
    assert command.argv[:3] == place.words and command.argv[3] == "/tools/3/files/reproduction.py"
    assert command.environment == {"PYTHONPATH": "/tools/2:/work:/tools/0"}
