"""The model's part in the demo, played against the real input: it fits, it is general, and it must be earned."""

import os
import subprocess
import sys
from decimal import Decimal
from itertools import product

import pytest

from app.core.budget import Cap, Meter
from infra.demo.fetch_input import ISSUE, SCRIPT, InputUnavailable, fetch_input
from infra.scripted_model.script import read_script
from infra.scripted_model.server import ScriptedModel
from worker.model.client import Access, Model, Tool
from worker.model.conversation import Answer, Done, Failed, Finished, Limits, Opening, converse

SOURCE = "src/humanize/filesize.py"
TESTS = "tests/test_filesize.py"
NAMES = {
    "planner": "list_files search symbols read_file history submit_plan give_up",
    "executor": "read_file search replace step_done cannot",
    "reviewer": "read_file search review",
}
ENDINGS = {"submit_plan", "give_up", "step_done", "cannot", "review"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The real input, unpacked."""
    try:
        return fetch_input(tmp_path_factory.mktemp("input"))
    except InputUnavailable as error:
        pytest.skip(f"the demo's input: {error}")


class Desk:
    """Plain tools over a folder, as the scripted calls use them."""

    def __init__(self, tree, role):
        self.tree, self.role = tree, role

    def tools(self):
        loose = {"type": "object", "properties": {}, "additionalProperties": False}
        made = {}
        for name in NAMES[self.role].split():
            # The demo's own schemas are the belts' business; here any field may come.
            tool = Tool(name, name, loose | {"properties": FIELDS})
            made[name] = (tool, (lambda wanted: Done(dict(wanted))) if name in ENDINGS else getattr(self, name))
        return made

    def read_file(self, wanted):
        lines = (self.tree / wanted["path"]).read_text("utf-8").splitlines()
        if wanted["end"] > len(lines):
            return Failed(f"The file ends at line {len(lines)}.")
        return Answer("\n".join(lines[wanted["start"] - 1 : wanted["end"]]))

    def search(self, wanted):
        root = self.tree / wanted.get("path", ".")
        files = [root] if root.is_file() else root.rglob("*.py")
        hits = [
            f"{file.relative_to(self.tree)}: {line}"
            for file in files
            for line in file.read_text("utf-8").splitlines()
            if wanted["pattern"] in line
        ]
        return Answer("\n".join(hits)) if hits else Failed("Nothing was found.")

    def list_files(self, wanted):
        root = self.tree / wanted["path"]
        return Answer("\n".join(str(file.relative_to(self.tree)) for file in sorted(root.rglob("*.py"))))

    def symbols(self, wanted):
        return Answer("naturalsize")

    def history(self, wanted):
        return Answer("one commit")

    def replace(self, wanted):
        path = self.tree / wanted["path"]
        text = path.read_text("utf-8")
        if text.count(wanted["old"]) != 1:
            return Failed("The text to replace does not occur exactly once.")
        path.write_text(text.replace(wanted["old"], wanted["new"]), "utf-8")
        return Answer("Replaced.")


TEXTS = ("path", "pattern", "mode", "old", "new", "note", "reason", "verdict", "words", "summary", "hypothesis")
LISTS = ("evidence", "constraints", "out_of_scope", "risks", "steps", "checks", "stop_conditions", "hosts", "findings")
LISTS += ("acceptance", "criteria")
FIELDS = (
    {name: {"type": "string"} for name in TEXTS}
    | {name: {"type": "integer"} for name in ("start", "end")}
    | {name: {"type": "array"} for name in LISTS}
    | {"budget": {"type": "object"}}
)


@pytest.fixture
def play(tree, tmp_path):
    """Plays a role of the script on a copy of the input that lasts for the test; returns the ending's input."""
    copy = tmp_path / "tree"
    subprocess.run(["cp", "-r", str(tree), str(copy)], check=True)
    with ScriptedModel.start(read_script(SCRIPT)) as api:

        def act(role, text):
            meter = Meter(Cap(usd=Decimal(5), calls=20, minutes=5))
            model = Model(Access("k", api.url), "claude-opus-5-5")
            end = converse(model, Opening("prompt", text), Desk(copy, role).tools(), meter, Limits())
            assert isinstance(end, Finished), end
            return end.call.name, end.value

        act.tree = copy
        yield act


def run_tests(tree, *paths):
    """The package's own pytest run; True when everything passed."""
    plain = ["-p", "no:cacheprovider", "-p", "no:asyncio", "-p", "no:anyio", "-p", "no:hypothesispytest"]
    env = {"PYTHONPATH": str(tree / "src"), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "pytest", "-q", "--color=no", *plain, *paths]
    return subprocess.run(command, cwd=tree, env=env, capture_output=True, check=False, timeout=60).returncode == 0


def test_the_planner_cites_lines_that_are_there_and_plans_two_changes(play):
    name, plan = play("planner", ISSUE.read_text("utf-8"))
    assert name == "submit_plan"
    lines = {path: (play.tree / path).read_text("utf-8").splitlines() for path in (SOURCE, TESTS)}
    cited = ["\n".join(lines[one["path"]][one["start"] - 1 : one["end"]]) for one in plan["evidence"]]
    expected = ["exp = int(min(log", "format % (bytes_", "1024 if (gnu or", '"1.1M"']
    assert [words in shown for words, shown in zip(expected, cited, strict=True)] == [True] * 4
    assert plan["evidence"][0]["quote"] in cited[0]
    assert [(step["kind"], step["path"]) for step in plan["steps"]] == [("change", SOURCE), ("change", TESTS)]
    assert plan["checks"][0] == {"name": "pytest", "paths": [TESTS], "expect": "fails_before_passes_after"}


def test_without_the_issue_the_script_gives_up_and_says_what_it_missed(play):
    name, end = play("planner", "An issue about something else")
    assert name == "give_up"
    assert "1000.0 kB" in end["reason"]


def test_the_new_tests_fail_before_the_change_and_everything_passes_after_it(play):
    assert run_tests(play.tree, TESTS)
    assert play("executor", f"Step 2 of 2\nChange {TESTS}.")[0] == "step_done"
    assert not run_tests(play.tree, TESTS)
    assert play("executor", f"Step 1 of 2\nChange {SOURCE}.")[0] == "step_done"
    assert run_tests(play.tree, TESTS)
    assert run_tests(play.tree, "--doctest-modules", SOURCE)
    assert play("reviewer", "the difference")[1]["verdict"] == "accept"


def test_the_change_is_general(play):
    play("executor", f"Step 1 of 2\nChange {SOURCE}.")
    code = (play.tree / SOURCE).read_text("utf-8")
    room: dict = {}
    exec(compile(code, SOURCE, "exec"), room)
    gnu = "KMGTPEZYRQ"
    units = {
        "decimal": [f" {letter}B" for letter in f"k{gnu[1:]}"],
        "binary": [f" {letter}iB" for letter in gnu],
        "gnu": list(gnu),
    }
    for (style, base), power, form, sign in product(
        (("decimal", 1000), ("binary", 1024), ("gnu", 1024)),
        range(2, 11),
        ("%.0f", "%.1f", "%.2f", "%.3f", "~%.1f"),
        (1, -1),
    ):
        below = base**power * (1 - 1e-9) * sign
        shown = room["naturalsize"](below, style == "binary", style == "gnu", form)
        assert shown == form % sign + units[style][power - 1], (below, style, form)
        far = base**power * 0.9 * sign
        assert room["naturalsize"](far, style == "binary", style == "gnu", form).endswith(units[style][power - 2])
