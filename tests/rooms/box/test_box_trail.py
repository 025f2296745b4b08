"""What a program went through is told as it runs, and the program does not notice."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import leave_out
from worker.box.box import Box, Command, Ended, Profile, Ran
from worker.box.command import Ran as Result
from worker.box.profiles import limits_of
from worker.box.trail import INSIDE, Trail, read_trail

PATHS = frozenset({"pkg/__init__.py", "pkg/core.py", "lib/top.js", "lib/deep.js"})
CORE = """
def at_import():
    return 1
MADE = at_import()
class Box:
    def open(self):
        return [one for one in (lambda: range(3))()]
def deep(n):
    Box().open()
    return deep(n - 1) if n else 0
def endless():
    endless()
def broken():
    raise ValueError("broken")
"""


@pytest.fixture
def project(tree: Path) -> Path:
    """A tree with a small package in it."""
    (tree / "pkg").mkdir()
    (tree / "pkg" / "__init__.py").write_text("from pkg import core\ndef top():\n    return core.deep(3)\n")
    (tree / "pkg" / "core.py").write_text(CORE.lstrip())
    return tree


Traced = Callable[..., tuple[Ran, Trail]]


@pytest.fixture
def traced(box: Box, project: Path, tmp_path: Path) -> Traced:
    """Runs Python text with the tracer, as its own main module."""
    snippet = tmp_path / "snippet"
    snippet.mkdir()

    def run(text: str, seconds: float = 20) -> tuple[Ran, Trail]:
        (snippet / "reproduction.py").write_text(text)
        words = ("/usr/bin/python3", "/tools/1/reproduction.py")
        path = {"PYTHONPATH": "/tools/0:/work"}
        ran = box.run(project, Command(words, seconds, Profile.REPRO, path, (INSIDE, snippet), trail=True))
        assert isinstance(ran, Ran), ran
        return ran, read_trail(ran, PATHS)

    return run


def names(trail: Trail) -> list[str]:
    return [one.function for one in trail.passed if not one.loading]


@pytest.mark.needs_userns
class TestInTheBox:
    def test_functions_are_told_in_their_order_and_loading_is_told_apart(self, traced: Traced) -> None:
        ran, trail = traced("import pkg\npkg.top()\n")
        assert ran.exit_status == 0 and ran.output == b""
        assert names(trail) == ["top", "deep", "Box.open"]
        assert [one.function for one in trail.passed if one.loading] == ["at_import"]
        assert trail.loaded == ("pkg/__init__.py", "pkg/core.py")
        assert {one.line for one in trail.executed()["pkg/core.py"]} == {5, 7}

    def test_the_program_is_the_main_module_and_sees_no_stranger(self, traced: Traced) -> None:
        ran, _ = traced(
            "import json, os, sys\n"
            "found = [__name__, sys.argv, sys.path[:2], sorted(os.environ), os.listdir('/proc/self/fd')]\n"
            "print(json.dumps(found))"
        )
        name, argv, path, variables, descriptors = json.loads(ran.output)
        assert (name, argv, path) == ("__main__", ["/tools/1/reproduction.py"], ["/tools/1", "/work"])
        assert variables == ["HOME", "LANG", "PATH", "PWD", "PYTHONPATH", "TMPDIR"]
        assert set(descriptors) - {"0", "1", "2", "3"} == {"711"}

    def test_a_traceback_holds_only_the_programs_own_lines(self, traced: Traced) -> None:
        ran, trail = traced("import pkg.core\npkg.core.broken()\n")
        assert ran.exit_status == 1 and names(trail) == ["broken"]
        assert [line.split('"')[1] for line in ran.output.decode().splitlines() if 'File "' in line] == [
            "/tools/1/reproduction.py",
            "/work/pkg/core.py",
        ]

    @pytest.mark.parametrize("before", range(4))
    def test_at_the_limit_of_recursion_it_is_the_program_that_fails(self, traced: Traced, before: int) -> None:
        ran, trail = traced(f"import pkg.core\ndef go(n):\n    go(n - 1) if n else pkg.core.endless()\ngo({before})\n")
        assert ran.exit_status == 1 and b"/tools/0" not in ran.output and b"RecursionError" in ran.output
        assert [one.calls for one in trail.passed if one.function == "endless"] == [100]

    @pytest.mark.parametrize(("ending", "status"), [
        ("os._exit(3)", 3), ("os.kill(os.getpid(), 9)", 137), ("os.abort()", 134), ("sys.exit(5)", 5),
        ("os.execv('/bin/true', ['true'])", 0), ("raise SystemExit", 0),
    ])  # fmt: skip
    def test_whatever_way_it_ends_what_was_told_stays_told(self, traced: Traced, ending: str, status: int) -> None:
        ran, trail = traced(f"import os, sys, pkg\npkg.top()\n{ending}\n")
        assert ran.exit_status == status and names(trail) == ["top", "deep", "Box.open"]

    def test_a_run_that_was_ended_at_its_time_limit_has_its_trail(self, traced: Traced) -> None:
        ran, trail = traced("import pkg.core\nwhile True: pkg.core.Box().open()\n", seconds=2)
        assert ran.ended is Ended.TIMEOUT
        (one,) = trail.executed()["pkg/core.py"]
        assert one.function == "Box.open" and one.calls >= 100

    def test_threads_children_and_forks_are_followed(self, traced: Traced) -> None:
        for text in (
            "import threading, pkg\nt = threading.Thread(target=pkg.top)\nt.start()\nt.join()",
            "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import pkg; pkg.top()'], check=True)",
            "import os, pkg\nif not os.fork():\n    pkg.top()\n    os._exit(0)\nos.wait()",
            "import multiprocessing, pkg\nif __name__ == '__main__':\n"
            "    c = multiprocessing.get_context('spawn').Process(target=pkg.top)\n    c.start()\n    c.join()",
        ):
            ran, trail = traced(text)
            assert ran.exit_status == 0, ran.output
            assert names(trail) == ["top", "deep", "Box.open"], text

    def test_a_program_that_closes_everything_gets_the_trail_back_and_its_own_files_stay_clean(
        self, traced: Traced
    ) -> None:
        ran, trail = traced(
            "import os\nos.closerange(3, 4096)\nfiles = [open(f'/tmp/{n}', 'w') for n in range(3)]\n"
            "os.dup2(files[0].fileno(), 711)\nimport pkg\npkg.top()\nprint(os.path.getsize('/tmp/0'))\n"
        )
        assert ran.output == b"0\n" and names(trail) == ["top", "deep", "Box.open"]

    def test_what_was_told_cannot_be_taken_back_read_or_removed(self, traced: Traced) -> None:
        ran, trail = traced(
            "import os, pkg\npkg.top()\n"
            "mine = [n for n in os.listdir('/proc/1/fd') if int(n) > 2 and 'pipe' in os.readlink(f'/proc/1/fd/{n}')]\n"
            "for how in (os.O_RDONLY, os.O_RDWR):\n"
            "    try: os.open(f'/proc/1/fd/{mine[0]}', how); print('opened')\n"
            "    except OSError as error: print(error.errno)\n"
            "try: os.unlink(f'/proc/1/fd/{mine[0]}'); print('removed')\n"
            "except OSError: print('kept')\n"
            "try: os.truncate(f'/proc/1/fd/{mine[0]}', 0); print('emptied')\n"
            "except OSError: print('kept')\n"
        )
        assert ran.output.split() == [b"13", b"13", b"kept", b"kept"]
        assert names(trail)[:3] == ["top", "deep", "Box.open"]

    def test_a_flood_on_the_trail_is_bounded_and_ends_the_run(self, traced: Traced) -> None:
        ran, trail = traced(
            "import os, pkg\npkg.top()\nname = [n for n in os.listdir('/proc/1/fd') if int(n) > 2 "
            "and 'pipe' in os.readlink(f'/proc/1/fd/{n}')][0]\nout = os.open(f'/proc/1/fd/{name}', os.O_WRONLY)\n"
            "while True: os.write(out, b'r\\t1\\t1\\tforged\\tpkg/core.py\\n' * 1000)\n"
        )
        assert ran.ended is Ended.OUTPUT
        assert len(ran.trail) == limits_of(Profile.REPRO).trail_kept_bytes and ran.trail_cut
        assert len(trail.passed) == 5, "what is the same counts once"

    def test_a_program_with_a_trace_function_of_its_own_keeps_it(self, traced: Traced) -> None:
        ran, trail = traced(
            "import sys, pkg\nseen = []\nsys.settrace(lambda frame, event, x: seen.append(frame.f_code.co_name))\n"
            "pkg.top()\nsys.settrace(None)\nprint(seen[:3])\n"
        )
        assert ran.output == b"['top', 'deep', 'open']\n"
        assert trail.loaded == ("pkg/__init__.py", "pkg/core.py")

    def test_without_the_wish_there_is_no_pipe_and_no_trail(self, box: Box, project: Path) -> None:
        text = "import os; print([os.readlink(f'/proc/1/fd/{n}')[:4] for n in os.listdir('/proc/1/fd') if int(n) > 2])"
        ran = box.run(project, Command(("/usr/bin/python3", "-Ic", text), 20, Profile.REPRO))
        assert isinstance(ran, Ran) and ran.output == b"['anon']\n" and ran.trail == b""

    def test_the_tracer_says_nothing_where_nobody_listens(self, box: Box, project: Path) -> None:
        words = ("/usr/bin/python3", "-c", "import pkg; print(pkg.top())")
        ran = box.run(project, Command(words, 20, Profile.REPRO, {"PYTHONPATH": "/tools/0:/work"}, (INSIDE,)))
        assert isinstance(ran, Ran) and (ran.exit_status, ran.output, ran.trail) == (0, b"0\n", b"")


JAVASCRIPT = {
    "ends": "require('/work/lib/top.js').top(2)",
    "throws": "require('/work/lib/top.js').top(-1)",
    "exits": "require('/work/lib/top.js').top(2); process.exit(4)",
    "in a child": "require('child_process').spawnSync(process.execPath, "
    "['-e', \"require('/work/lib/top.js').top(2)\"], {stdio: 'inherit'})",
}


@pytest.mark.needs_userns
@pytest.mark.parametrize(("case", "status"), [("ends", 0), ("throws", 1), ("exits", 4), ("in a child", 0)])
def test_functions_of_a_javascript_program_are_told(
    box: Box, tree: Path, tmp_path: Path, case: str, status: int
) -> None:
    if not os.path.exists("/usr/bin/node"):
        leave_out("Node is not installed (apt-get install nodejs).")
    (tree / "lib").mkdir()
    (tree / "lib" / "top.js").write_text(
        "const {deep} = require('./deep');\nexports.top = function top(n) { return deep(n); };\nfunction never() {}\n"
    )
    (tree / "lib" / "deep.js").write_text(
        "exports.deep = function deep(n) {\n  if (n < 0) throw new Error('negative');\n  return n;\n};\n"
    )
    (tmp_path / "snippet").mkdir()
    (tmp_path / "snippet" / "reproduction.cjs").write_text(JAVASCRIPT[case])
    words = ("/usr/bin/node", "/tools/0/node_trail.mjs", "/usr/bin/node", "/tools/1/reproduction.cjs")
    ran = box.run(tree, Command(words, 20, Profile.REPRO, {}, (INSIDE, tmp_path / "snippet"), trail=True))
    assert isinstance(ran, Ran) and ran.exit_status == status, ran.output.decode()
    trail = read_trail(ran, PATHS)
    assert [(one.path, one.function, one.line) for one in trail.passed] == [
        ("lib/top.js", "top", 2),
        ("lib/deep.js", "deep", 1),
    ]
    assert trail.loaded == ("lib/top.js", "lib/deep.js")


def a_run(trail: bytes) -> Result:
    return Result(Ended.EXITED, 0, b"", 0, 0.1, 0.1, None, "soft", trail=trail)


def test_only_files_of_the_tree_and_whole_lines_are_believed() -> None:
    said = (
        b"r\t1\t2\ttop\tpkg/core.py\nr\t10\t2\ttop\tpkg/core.py\ni\t1\t2\ttop\tpkg/core.py\n"
        b"r\t1\t2\ttop\t../secret.py\nr\t1\t2\ttop\t/etc/passwd\nr\t-1\t2\ttop\tpkg/core.py\nr\t1\t2\tto\x1bp\tpkg/core.py\n"
        b"x\t1\t2\ttop\tpkg/core.py\nr\t1\t2\ttop\nm\t1\t1\t<module>\tpkg/__init__.py\nr\t1\t2\tcut"
    )
    trail = read_trail(a_run(said), PATHS)
    assert [(one.path, one.function, one.calls, one.loading) for one in trail.passed] == [
        ("pkg/core.py", "top", 10, False)
    ]
    assert trail.loaded == ("pkg/__init__.py",)


@given(st.binary(max_size=400))
def test_whatever_stands_on_a_trail_it_is_read_without_an_error(said: bytes) -> None:
    trail = read_trail(a_run(said), PATHS)
    assert {one.path for one in trail.passed} | set(trail.loaded) <= PATHS


def test_the_folder_of_the_tracers_holds_nothing_that_a_program_could_import_by_accident() -> None:
    names = {path.name for path in INSIDE.iterdir() if path.name != "__pycache__"}
    assert names == {"__init__.py", "usercustomize.py", "node_trail.mjs", "session.py", "visit.py"}
