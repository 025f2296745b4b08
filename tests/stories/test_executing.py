"""Carrying a plan out: edits that are exact or nothing, checks that the box ran, and a machine that cannot have a box.

Most stories use the template for documentation, whose plans may hold any step and one check that must pass.
"""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.core.belts import Belt
from app.core.report import Report
from app.core.run import Approved, Closed, Published
from tests.fakes.greeting import FILES, PLAN, STEP_1, calls, planning, reviewing, script, stepping, submitting
from tests.fakes.household import Furnishing
from tests.fakes.processes import told_of_each
from tests.fakes.story import REPO, Story

pytestmark = pytest.mark.needs_userns

Making = Callable[..., Story]
Edit = tuple[str, dict[str, Any]]


def step(number: int, path: str, **more: Any) -> dict[str, Any]:
    return {"id": number, "kind": "change", "path": path, "intent": "Change it.", "done_when": "It is so.", **more}


def replace(path: str, old: str, new: str) -> Edit:
    return ("replace", {"path": path, "old": old, "new": new})


def documentation(*steps: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A planner that submits these steps, for the label `countersign:docs`."""
    budget = {"usd": "1.00", "calls": 40, "minutes": 10, "files": 6, "lines": 200}
    checks = [{"name": "make test", "expect": "passes"}]
    return submitting(**{"steps": list(steps), "checks": checks, "budget": budget} | changes)


def approved(story: Story, label: str = "countersign:docs") -> None:
    story.mira.labels(label)
    story.plan_is_read()
    story.mira.says("/approve")


def branch(story: Story) -> dict[str, bytes]:
    return story.control.branch_files(REPO, story.draft()["head"]["ref"])


def nothing_was_pushed(story: Story) -> None:
    assert story.writes_to_github() == []
    assert set(story.control.branches(REPO)) == {"main"}


# -- edits --------------------------------------------------------------------------------------------------------


def test_line_endings_and_the_end_of_a_file_stay_as_they_were(make_story: Making) -> None:
    """Case ED-01."""
    files = FILES | {"notes.txt": b"one\r\ntwo\r\nthree\r\nfour", "list.txt": b"a\nb\n"}
    first = stepping(1, replace("notes.txt", "one\ntwo\nthree", "one\n2\n2 and a half\nthree"))
    second = stepping(2, replace("list.txt", "b\n", "b\nc\n"))
    story = make_story(script(documentation(step(1, "notes.txt"), step(2, "list.txt")), first, second), files)
    approved(story)
    after = branch(story)
    assert after["notes.txt"] == b"one\r\n2\r\n2 and a half\r\nthree\r\nfour"
    assert after["list.txt"] == b"a\nb\nc\n"
    assert {path for path in after if after[path] != branch_base(story)[path]} == {"notes.txt", "list.txt"}
    story.ends(Published)


def branch_base(story: Story) -> dict[str, bytes]:
    return story.control.branch_files(REPO, "main")


def test_a_text_that_stands_twice_is_not_replaced_anywhere(make_story: Making) -> None:
    """Case ED-02: both places are named to the model, which has no other anchor."""
    block = "def f():\n    x = 1\n    return x\n"
    text = "#\n" * 9 + block + "#\n" * 27 + block
    edits = stepping(1, replace("twice.py", block, block.replace("1", "2")))
    edits["turns"][-1] = calls(("cannot", {"reason": "It stands twice."}), after_failure=True)
    story = make_story(script(documentation(step(1, "twice.py")), edits), FILES | {"twice.py": text})
    approved(story)
    told = story.shown_to("executor")[1]
    assert "10" in told and "40" in told
    nothing_was_pushed(story)
    story.ends(Closed, "Step 1 cannot be done as the plan says", "It stands twice.")


def test_the_executable_bit_stays_and_a_new_file_has_none(make_story: Making) -> None:
    """Case ED-03. The new file is one that git ignores: the plan asks for it, and the draft tells."""
    new = step(2, "scripts/new.sh", kind="create")
    first = stepping(1, replace("scripts/run.sh", "one", "two"))
    second = stepping(2, ("create_file", {"path": "scripts/new.sh", "content": "#!/bin/sh\n"}))
    files = FILES | {"scripts/run.sh*": "#!/bin/sh\necho one\n", ".gitignore": "new.*\n"}
    story = make_story(script(documentation(step(1, "scripts/run.sh"), new), first, second), files)
    approved(story)
    modes = story.control.branch_modes(REPO, story.draft()["head"]["ref"])
    assert (modes["scripts/run.sh"], modes["scripts/new.sh"]) == ("100755", "100644")
    assert "old mode" not in story.draft()["diff"]
    assert "scripts/new.sh` is new, and git ignores it (`new.*`)" in story.draft()["body"].replace("\\", "")
    story.ends(Published)


def test_a_step_of_which_one_edit_failed_leaves_nothing(make_story: Making) -> None:
    """Case ED-04: three edits over two files, the third finds nothing, and the model says that it is done."""
    edits = stepping(
        1,
        replace("greet.sh", "helo", "hello"),
        replace("tests/test_greet.sh", "set -e", "set -eu"),
        replace("greet.sh", "not there", "anywhere"),
        after_failure=True,
    )
    story = make_story(script(documentation(step(1, "greet.sh")), edits))
    approved(story)
    nothing_was_pushed(story)
    status = story.read_status("Ended (failed)", "Step 1", "An edit in greet.sh was not made")
    assert "test_greet" not in status
    story.ends(Closed)


def test_an_end_that_was_not_taken_keeps_nothing(make_story: Making) -> None:
    """It is told as done beside a call that failed, and then given up."""
    good = replace("greet.sh", "helo", "hello")
    told = calls(good, ("delete_file", {"path": "greet.sh"}), ("step_done", {"note": "Done."}))
    up = calls(("cannot", {"reason": "It is not what it seems."}), after_failure=True)
    story = make_story(script(documentation(step(1, "greet.sh")), {"role": "executor", "step": 1, "turns": [told, up]}))
    approved(story)
    nothing_was_pushed(story)
    assert "step_done was not accepted" in story.shown_to("executor")[-1]
    state = story.state()
    assert isinstance(state, Closed) and "It is not what it seems." in state.words
    assert Report.model_validate_json(story.shops[Belt.EXECUTOR].kept(state.report_ref)).changed_lines == 0
    story.ends(Closed, "Ended (failed)", "It is not what it seems.")


def test_a_model_that_reaches_beyond_its_step_is_stopped_at_the_fence(make_story: Making) -> None:
    wild = stepping(
        1,
        replace("Makefile", "sh tests", "true; sh tests"),
        ("delete_file", {"path": "greet.sh"}),
        ("run_command", {"command": "make evil"}),
        replace("greet.sh", "helo", "hello"),
        replace("tests/test_greet.sh", 'test -n "$out"\n', ""),
        after_failure=True,
    )
    wild["turns"] += [
        calls(
            replace("tests/test_greet.sh", "out=$(sh greet.sh)", 'out=$(sh greet.sh)\ntest -n "$out"'),
            after_failure=True,
        ),
        calls(("step_done", {"note": "Done."})),
    ]
    second = stepping(
        2,
        replace("tests/test_greet.sh", "set -e", "exit 0"),
        replace("README.md", "# greet", "# Greet"),
        after_failure=True,
    )
    story = make_story(script(documentation(step(1, "greet.sh"), step(2, "README.md")), wild, second))
    approved(story)
    told = next(one for one in reversed(story.shown_to("executor")) if "Step 1 of 2" in one)
    assert "The step does not change Makefile." in told
    # It may be changed there, and is not loosened.
    assert "tests/test_greet.sh is a test that the plan does not name, and the change takes out" in told
    # A test is beside the file of one step; no other step touches it.
    assert "The step does not change tests/test_greet.sh." in story.shown_to("executor")[-1]
    assert "run_command" in told and "delete_file" in told
    before = branch_base(story)
    assert {path for path, text in branch(story).items() if text != before[path]} == {"greet.sh", "README.md"}
    story.ends(Published)


def test_a_secret_in_the_change_never_leaves_the_box(make_story: Making) -> None:
    secret = "ghp_" + "a1B2" * 10
    leaks = stepping(1, replace("README.md", "# greet", f"# greet {secret}"))
    story = make_story(script(documentation(step(1, "README.md")), leaks))
    approved(story)
    nothing_was_pushed(story)
    status = story.read_status("would put a credential (GitHub Token) into README.md")
    assert secret not in status
    story.ends(Closed)


def test_a_step_that_changes_nothing_is_no_step(make_story: Making) -> None:
    idle = stepping(1)
    idle["turns"].append(calls(("step_done", {"note": "There is nothing to do."}), after_failure=True))
    story = make_story(script(documentation(step(1, "README.md")), idle))
    approved(story)
    assert "The step has changed nothing." in story.shown_to("executor")[-1]
    nothing_was_pushed(story)
    story.ends(Closed, "Ended (failed)", "Step 1 was told as done and has changed nothing in README.md")


def test_a_file_is_moved_and_another_deleted_as_planned(make_story: Making) -> None:
    steps = (step(1, "README.md", kind="move", to="docs/read me.md"), step(2, "old.md", kind="delete"))
    moves = stepping(1, ("move_file", {"path": "README.md", "to": "docs/read me.md"}))
    deletes = stepping(2, ("delete_file", {"path": "old.md"}))
    story = make_story(script(documentation(*steps), moves, deletes), FILES | {"old.md": "old\n"})
    approved(story)
    after = branch(story)
    assert after["docs/read me.md"] == b"# greet\n"
    assert "README.md" not in after and "old.md" not in after
    story.ends(Published)


def test_names_that_git_would_print_in_quotes_are_kept_byte_for_byte(make_story: Making) -> None:
    """Case GT-03: a composed and a decomposed letter are two files, and ` b/` is no separator."""
    composed, decomposed, odd = "docs/caf\u00e9 menu.md", "docs/cafe\u0301 menu.md", "a b/x b/c.md"
    files = FILES | {composed: "one\n", decomposed: "one\n", odd: "one\n"}
    first = stepping(1, replace(composed, "one", "two"))
    second = stepping(2, replace(odd, "one", "two"))
    story = make_story(script(documentation(step(1, composed), step(2, odd)), first, second), files)
    story.mira.labels("countersign:docs")
    assert composed in story.plan_is_read()["body"]
    story.mira.says("/approve")
    after = branch(story)
    assert (after[composed], after[decomposed], after[odd]) == (b"two\n", b"one\n", b"two\n")
    assert story.draft()["changed_files"] == 2
    story.ends(Published)


# -- checks -------------------------------------------------------------------------------------------------------


def test_a_change_whose_checks_fail_is_not_pushed_and_the_reason_is_said(make_story: Making) -> None:
    breaks = stepping(1, replace("greet.sh", 'echo "helo $name"', "exit 3"))
    story = make_story(script(documentation(step(1, "greet.sh")), breaks))
    approved(story)
    nothing_was_pushed(story)
    story.ends(Closed, "Ended (failed)", "The check `make test` did not pass after the change (exit status 2)")


def test_a_regression_test_that_passes_without_the_fix_proves_nothing(make_story: Making) -> None:
    weak = stepping(2, replace("tests/test_greet.sh", 'test -n "$out"', 'test -n "$out" # again'))
    story = make_story(script(STEP_1, weak))
    approved(story, "countersign")
    nothing_was_pushed(story)
    story.ends(Closed, "The regression test behind `make test` did not fail without the fix.")


def test_what_the_second_reader_finds_is_shown_and_calls_nobody(make_story: Making) -> None:
    finding = {"path": "greet.sh", "line": 4, "text": "Somebody may rely on <b>helo</b>, ask @rita."}
    story = make_story(script(reviewing(findings=[finding])))
    approved(story, "countersign")
    body = story.draft()["body"]
    assert "accepts" in body and "greet.sh:4" in body
    assert "<b>" not in body and " @rita" not in body
    story.ends(Published)


def test_what_a_check_leaves_behind_is_not_in_the_change(make_story: Making) -> None:
    """Case GT-02: caches, a dependency folder and a rewritten lock file."""
    leaves = "test:\n\tmkdir -p __pycache__ node_modules/a\n\techo x > __pycache__/a.pyc\n"
    leaves += "\techo x > node_modules/a/index.js\n\techo changed > poetry.lock\n"
    files = FILES | {"Makefile": leaves, "poetry.lock": "locked\n"}
    story = make_story(script(documentation(step(1, "greet.sh")), STEP_1), files)
    approved(story)
    after = branch(story)
    assert set(after) == set(files)
    assert after["poetry.lock"] == b"locked\n"
    assert story.draft()["changed_files"] == 1
    story.ends(Published)


def test_a_check_that_rewrites_git_settings_runs_nothing_on_our_side(make_story: Making) -> None:
    """Case PI-04: hooks and a file-system monitor planted by the verification."""
    plants = "test:\n\tmkdir -p .git/hooks\n"
    plants += "\tprintf '#!/bin/sh\\ntouch /var/tmp/marker-of-a-story\\n' > .git/hooks/pre-push\n"
    plants += "\tcp .git/hooks/pre-push .git/hooks/pre-commit\n\tchmod +x .git/hooks/*\n"
    plants += "\tprintf '[core]\\n fsmonitor = touch /var/tmp/marker-of-a-story\\n' > .git/config\n"
    story = make_story(script(documentation(step(1, "greet.sh")), STEP_1), FILES | {"Makefile": plants})
    approved(story)
    assert not Path("/var/tmp/marker-of-a-story").exists()
    assert list(story.folder.rglob("pre-push")) == []
    assert set(branch(story)) == set(FILES)
    story.ends(Published)


def test_output_that_would_break_a_comment_stays_inside_its_block(make_story: Making) -> None:
    """Case SE-02: colours, a terminal link, carriage returns, a fence, a heading and a link in a check's output."""
    words = r"\033[31mred\033[0m \033]8;;http://evil.example\007link\033]8;;\007 10%%\r20%%\r30%%\n"
    words += r"```\n# Heading\n[link](x)\n"
    prints = f"test:\n\t@printf '{words}'\n\tsh tests/test_greet.sh\n"
    story = make_story(script(documentation(step(1, "greet.sh")), STEP_1), FILES | {"Makefile": prints})
    approved(story)
    body = story.draft()["body"]
    assert [ch for ch in body if ord(ch) < 32 and ch not in "\n\r"] == []
    output = body[body.index("<details>") :]
    opening = next(line for line in output.splitlines() if line.startswith("````"))
    inside = output.split(opening)[1]
    assert "# Heading" in inside and "[link](x)" in inside and "```" in inside
    story.ends(Published)


def test_the_budget_of_the_plan_is_a_hard_limit(make_story: Making) -> None:
    reads = calls(("read_file", {"path": "greet.sh"}))
    endless = {"role": "executor", "step": 1, "turns": [{**reads, "repeat": 9}]}
    budget = {"usd": "1.00", "calls": 3, "minutes": 10, "files": 6, "lines": 200}
    story = make_story(script(documentation(step(1, "greet.sh"), budget=budget), endless))
    approved(story)
    assert len(story.shown_to("executor")) == 3
    nothing_was_pushed(story)
    story.ends(Closed, "Step 1 was not finished", "budget of 3 model calls is used up")


def test_more_lines_than_the_plan_allowed_are_not_pushed(make_story: Making) -> None:
    budget = {"usd": "1.00", "calls": 20, "minutes": 10, "files": 6, "lines": 5}
    long = stepping(1, replace("README.md", "# greet", "# greet\n" + "line\n" * 9))
    story = make_story(script(documentation(step(1, "README.md"), budget=budget), long))
    approved(story)
    nothing_was_pushed(story)
    story.ends(Closed, "changed lines are more than the 5 allowed")


def test_a_reviewer_that_comes_to_no_end_keeps_nothing_back_and_the_draft_says_so(make_story: Making) -> None:
    silent = {"role": "reviewer", "turns": [{"error": 400}]}
    story = make_story({"name": "no reviewer", "parts": [documentation(step(1, "greet.sh")), STEP_1, silent]})
    approved(story)
    assert "**No second model reviewed this**: " in story.draft()["body"]
    story.ends(Published)


def test_a_documentation_plan_needs_no_check_where_the_repository_has_none(make_story: Making) -> None:
    files = {path: text for path, text in FILES.items() if path != "Makefile"}
    words = stepping(1, replace("README.md", "# greet", "# Greet"))
    story = make_story(script(documentation(step(1, "README.md"), checks=[]), words), files)
    approved(story)
    assert story.draft()["changed_files"] == 1
    story.ends(Published)


# -- the machine --------------------------------------------------------------------------------------------------


def test_without_a_box_the_approved_plan_waits_and_goes_on_when_there_is_one(make_story: Making) -> None:
    """Case SB-01: nothing runs unsealed; what the host must have is said; the approval is kept."""
    nowhere = Furnishing(env={"COUNTERSIGN_BWRAP": "/nonexistent/bwrap"})
    marks = {"Makefile": FILES["Makefile"] + "\t-touch /var/tmp/marker-of-an-unsealed-story\n"}
    story = make_story(files=FILES | marks, furnishing=nowhere)
    approved(story, "countersign")
    assert isinstance(story.state(), Approved)
    story.read_status("It waits and is kept", "There is no bubblewrap at /nonexistent/bwrap")
    assert story.shown_to("executor") == []
    nothing_was_pushed(story)
    story.set_up_again(Furnishing())
    story.wait_out()
    assert b"hello" in branch(story)["greet.sh"]
    assert not Path("/var/tmp/marker-of-an-unsealed-story").exists()
    story.ends(Published)


def test_a_check_environment_that_cannot_be_prepared_keeps_the_plan_waiting(make_story: Making) -> None:
    index = {"PIP_INDEX_URL": "https://nowhere.invalid/simple", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": "/dev/null"}
    python = {
        "pyproject.toml": '[project]\nname = "greet"\nversion = "1"\n[tool.pytest.ini_options]\n',
        "tests/test_it.py": "def test_it(): pass\n",
        "it.py": "word = 'helo'\n",
    }
    checks = [{"name": "pytest", "expect": "passes"}]
    evidence = [{"path": "it.py", "start": 1, "end": 1, "shows": "The word."}]
    plans = documentation(step(1, "it.py"), checks=checks, evidence=evidence)
    story = make_story(script(plans), python, furnishing=Furnishing(env=index))
    approved(story)
    assert isinstance(story.state(), Approved)
    story.read_status("It waits and is kept", "nowhere.invalid:443, which the set-up needs, cannot be reached")
    story.mira.says("/cancel")
    story.wait_out()
    story.ends(Closed, "cancelled")


# -- calling off --------------------------------------------------------------------------------------------------

SLEEP = f"317.{os.getpid():010d}"
"""So long sleeps the check below; each process of tests sees only its own."""


def sleepers() -> list[int]:
    """Processes of the check below that are alive."""
    return [pid for pid, words in told_of_each("cmdline") if words == f"sleep\0{SLEEP}\0".encode()]


def waited_for(what: Callable[[], Any]) -> None:
    until = time.monotonic() + 30
    while not what():
        assert time.monotonic() < until, "it does not come"
        time.sleep(0.02)


@pytest.mark.parametrize("way", ["/cancel", "the label is removed", "the issue is closed"])
def test_a_run_that_is_called_off_ends_the_check_that_is_running(make_story: Making, way: str) -> None:
    story = make_story(files=FILES | {"Makefile": f"test:\n\tsleep {SLEEP}\n"})
    story.mira.labels()
    story.plan_is_read()
    story.away.add(Belt.EXECUTOR)
    story.mira.says("/approve")
    worker = threading.Thread(target=story.crank_once, args=(Belt.EXECUTOR,))
    story.away.clear()
    worker.start()
    waited_for(sleepers)
    match way:
        case "/cancel":
            story.mira.says("/cancel")
        case "the label is removed":
            story.mira.unlabels()
        case _:
            story.mira.closes_the_issue()
    story.read_status("Ended (cancelled)")
    worker.join(20)
    assert not worker.is_alive() and sleepers() == []
    (effect,) = (one for one in story.view().effects if one.effect.kind == "execute")
    assert effect.outcome.startswith("called off: no approval of this plan stands any more")
    nothing_was_pushed(story)
    story.ends(Closed)


def test_a_planner_that_is_called_off_asks_no_model_again(make_story: Making) -> None:
    story = make_story(script(planning(calls(("list_files", {}), delay=2.5), calls(("submit_plan", PLAN)))))
    story.away.add(Belt.PLANNER)
    story.mira.labels()
    story.away.clear()
    worker = threading.Thread(target=story.crank_once, args=(Belt.PLANNER,))
    worker.start()
    waited_for(lambda: story.model.requests)
    story.away.add(Belt.PLANNER)
    story.mira.says("/cancel")
    worker.join(20)
    assert not worker.is_alive() and len(story.model.requests) == 1
    story.ends(Closed, "Ended (cancelled)")
