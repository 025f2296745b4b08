"""The evaluation itself: models that play the known answer score as they must, and each failure finds its owner."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from app.core.blame import Blame, Whose
from app.core.paired import Judged, compare
from infra.eval import report
from infra.eval.__main__ import DONE, REFUSED, WORSE, main
from infra.eval.folder import Folder, FolderUnusable
from infra.eval.hidden import Unseen, Worth, passed, tried
from infra.eval.model import Scripted
from infra.eval.play import Result, Wish, play
from infra.eval.purse import Purse
from infra.eval.running import Ran, Terms, run_all
from infra.eval.task import Task, TasksUnreadable, read_tasks
from infra.eval.world import Means, Unmade, World
from infra.scripted_model.server import ScriptedModel

pytestmark = pytest.mark.needs_userns

TASKS = {task.name: task for task in read_tasks(Path(__file__).with_name("tasks.jsonl"), None)}
MADE_WITH = {"model": "known"}


def run(folder: Folder, how: Scripted, *names: str, **terms: object) -> tuple[Ran, list[str]]:
    """These tasks, played so; and what was said meanwhile."""
    said: list[str] = []
    folder.begin(MADE_WITH)
    wish = Wish(scripted=how)
    return run_all([TASKS[name] for name in names], Terms(wish, **terms), Means({}), folder, said.append), said  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def perfect(tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, Ran]:
    """What the model that does everything right came to."""
    folder = Folder(tmp_path_factory.mktemp("perfect"))
    return folder, run(folder, Scripted.PERFECT, "farewell", "unclear")[0]


def test_the_perfect_model_scores_1_where_it_plans_builds_and_asks(perfect: tuple[Folder, Ran]) -> None:
    results = perfect[1].results
    assert perfect[1].undone == {}
    assert {name: one.scores.outcome for name, one in results.items()} == {
        "farewell": "published",
        "unclear": "needs_input",
    }
    for one in results.values():
        assert one.scores.blame == Blame(whose=Whose.NOBODY)
        assert set(one.scores.figures().values()) <= {True, None}
    assert results["farewell"].scores.figures()["unseen tests pass"] is True
    assert Decimal(results["farewell"].usd) > 0


def test_a_second_start_plays_nothing_again_and_a_changed_task_is_another(perfect: tuple[Folder, Ran]) -> None:
    again, said = run(perfect[0], Scripted.PERFECT, "farewell", "unclear")
    assert (again.results, said) == (perfect[1].results, ["2 of 2 tasks are done already."])
    with pytest.raises(FolderUnusable, match="model was 'known', now 'other'"):
        perfect[0].begin({"model": "other"})


def test_a_wrong_plan_is_the_planners_failure_and_wrong_work_the_executors(tmp_path: Path) -> None:
    plan = play(TASKS["greeting"], Wish(scripted=Scripted.WRONG_PLAN), Means({}))
    work = play(TASKS["greeting"], Wish(scripted=Scripted.WRONG_WORK), Means({}))
    assert isinstance(plan, Result) and isinstance(work, Result)
    assert plan.scores.blame == Blame(whose=Whose.PLANNER, why=("missed greet.sh",))
    assert plan.scores.figures() == {
        "planner right": False,
        "planner score": 0.0,
        "executor right": None,
        "executor score": None,
        "unseen tests pass": False,
    }
    why = ("1 of 1 unseen tests fail", "reached outside the plan once")
    assert work.scores.blame == Blame(whose=Whose.EXECUTOR, why=why)
    assert work.scores.plan is not None and work.scores.plan.value() == 1.0
    assert work.scores.work is not None
    assert (work.scores.work.outside, work.scores.work.value()) == (1, pytest.approx((0.5 + 1 + 1 + 1 + 0) / 5))


@pytest.mark.parametrize(
    ("how", "task", "why"),
    [
        (Scripted.WRONG_LINES, "greeting", "ended without a plan (none, 4 turned down)"),
        (Scripted.NEEDLESS_QUESTION, "greeting", "asked although the issue is clear"),
        (Scripted.WRONG_PLAN, "unclear", "did not ask although the issue is unclear"),
    ],
)
def test_each_way_to_plan_wrongly_is_the_planners_failure(how: Scripted, task: str, why: str) -> None:
    one = play(TASKS[task], Wish(planner_only=True, scripted=how), Means({}))
    assert isinstance(one, Result)
    assert one.scores.blame == Blame(whose=Whose.PLANNER, why=(why,))


def test_a_step_left_out_and_a_false_report_are_the_executors_failure() -> None:
    left_out = play(TASKS["farewell"], Wish(scripted=Scripted.STEP_LEFT_OUT), Means({}))
    assert isinstance(left_out, Result)
    why = ("stopped with 1 of 2 steps done", "said 2 times that a step was done when nothing was changed")
    assert left_out.scores.blame == Blame(whose=Whose.EXECUTOR, why=why)
    false = play(TASKS["greeting"], Wish(scripted=Scripted.FALSE_REPORT), Means({}))
    assert isinstance(false, Result)
    why = ("1 of 1 unseen tests fail", "said once that a step was done when nothing was changed")
    assert false.scores.blame == Blame(whose=Whose.EXECUTOR, why=why)


# -- unseen tests --------------------------------------------------------------------------------------------------

GREETING = TASKS["greeting"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world in which the greeting's repository is there."""
    folder = tmp_path_factory.mktemp("world")
    folder.chmod(0o711)
    one = World(folder, Means({}, model_url="http://127.0.0.1:9", model_key="none"))
    one.open(GREETING)
    yield one
    one.close()


@pytest.mark.parametrize(
    ("changes", "worth", "words"),
    [
        ({"gold_patch": GREETING.gold_patch.replace("hello $", "hullo $")}, Worth.NOT_USABLE, "all 1 of them fail"),
        ({"gold_patch": GREETING.gold_patch.replace("helo", "halo")}, Worth.NOT_USABLE, "A patch does not"),
        ({"test_patch": GREETING.test_patch.replace("hello world", "$(sh greet.sh)")}, Worth.PROVE_NOTHING, "before"),
        ({"hidden_check": "make other"}, Worth.NOT_USABLE, "no check"),
    ],
)
def test_unseen_tests_that_do_not_tell_the_known_change_from_the_base_judge_nobody(
    world: World, changes: dict[str, Any], worth: Worth, words: str
) -> None:
    found = tried(replace(GREETING, **changes), world)
    assert isinstance(found, Unseen)
    assert (found.worth, found.counted()) == (worth, None) and words in found.notes[0]


def test_unseen_tests_that_pass_on_the_known_change_alone_count(world: World) -> None:
    assert tried(GREETING, world) == {"tests/test_hello.sh"}


def test_wrong_work_is_nobodys_failure_where_the_unseen_tests_are_not_usable() -> None:
    task = replace(GREETING, test_patch=GREETING.test_patch.replace("hello world", "of another year"))
    one = play(task, Wish(scripted=Scripted.WRONG_WORK), Means({}))
    assert isinstance(one, Result) and one.unseen is not None
    assert (one.scores.blame.whose, one.scores.figures()["unseen tests pass"]) == (Whose.NOBODY, None)
    text = report.as_text({"greeting": one}, {})
    assert "unseen tests not usable here: 1" in text
    assert "greeting  not usable here  On the known change all 1 of them fail here: make: " in text
    assert "not usable here" in report.as_html(MADE_WITH, {"greeting": one}, {})


def test_a_test_counts_as_passed_only_where_its_runner_says_so() -> None:
    names = ("a.py::b", "a.py::c::d", "e.py::f")
    assert passed(names, True, ()) == set(names)
    assert passed(names, False, ()) == set()
    assert passed(names, False, ("a.py::b",)) == {"a.py::c::d", "e.py::f"}
    assert passed(names, False, ("a.py",)) == {"e.py::f"}
    assert passed(names, False, ("a.py::c",)) == {"a.py::b", "e.py::f"}


# -- breaking off --------------------------------------------------------------------------------------------------

LATE = {"name": "late", "parts": [{"role": "planner", "turns": [{"text": "Later.", "delay": 600}]}]}


@pytest.fixture
def late() -> Iterator[ScriptedModel]:
    """A model that is asked, and does not answer."""
    with ScriptedModel.start(LATE) as model:
        yield model


def timers() -> set[threading.Thread]:
    """What will still happen by itself in this process; the end of a belt's is such a thing."""
    return {one for one in threading.enumerate() if isinstance(one, threading.Timer) and not one.finished.is_set()}


def once_asked(model: ScriptedModel, act: Callable[[], object]) -> threading.Thread:
    """The act is done as soon as the model is asked for something."""

    def wait() -> None:
        while not model.requests:
            time.sleep(0.02)
        act()

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    return waiting


def test_what_a_task_has_in_hand_when_its_time_is_over_is_given_back_and_this_process_lives_on(
    tmp_path: Path, late: ScriptedModel
) -> None:
    tmp_path.chmod(0o711)
    before = timers()
    one = World(tmp_path, Means({}, model_url=late.url, model_key="late"))
    try:
        number = one.open(GREETING)
        one.control.label(GREETING.repository, number, "countersign", "maintainer")
        once_asked(late, lambda: one.break_off("Its time is over."))
        assert one.rest() == "Its time is over."
        assert [debt.lease_until for debt in one.ledger.debts()] == [None] * len(one.ledger.debts()) != []
    finally:
        one.close()
    assert timers() <= before


def test_a_task_that_takes_too_long_does_not_end_the_others(tmp_path: Path) -> None:
    """Its clone hangs, as one on a disk that is away does."""
    clone = tmp_path / "acme+a.git"
    (clone / "objects").mkdir(parents=True)
    os.mkfifo(clone / "HEAD")
    (hung,) = read(tmp_path, CLONED, repos=tmp_path)
    folder, said = _folder(tmp_path / "out"), list[str]()
    terms, means = Terms(Wish(planner_only=True, scripted=Scripted.PERFECT)), Means({}, making_seconds=0.2)
    ran = run_all([hung, TASKS["unclear"]], terms, means, folder, said.append)
    assert ran.results.keys() == {"unclear"} and folder.lost() == 0
    assert "took longer than 0.2 seconds" in ran.undone[hung.name]
    with pytest.raises(Unmade, match="longer than the 0 minutes"):
        play(TASKS["unclear"], Wish(scripted=Scripted.PERFECT), Means({}, seconds=0.0))


def test_ctrl_c_breaks_off_what_is_under_way_and_the_same_words_go_on_from_there(
    tmp_path: Path, late: ScriptedModel
) -> None:
    folder, said = _folder(tmp_path), list[str]()
    tasks = [TASKS["unclear"], TASKS["greeting"]]
    terms = Terms(Wish(planner_only=True), jobs=1, cap=Decimal(9), each=Decimal(3))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main = threading.main_thread().ident or 0
        once_asked(late, lambda: signal.pthread_kill(main, signal.SIGINT))
        ran = run_all(tasks, terms, Means({}, model_url=late.url, model_key="late"), folder, said.append)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (ran.broken_off, ran.stuck, ran.results) == (True, False, {})
    assert ran.undone == {"unclear": "it was broken off", "greeting": "not begun"}
    # The answer never came, and may be billed all the same: what was held for it is lost, and no more.
    assert 0 < folder.lost() < 3
    assert not list(tmp_path.rglob("*.half")) and not any(one.name.startswith("task_") for one in threading.enumerate())
    again = run_all(tasks[:1], replace(terms, wish=Wish(True, Scripted.PERFECT)), Means({}), folder, said.append)
    assert again.results.keys() == {"unclear"}


def test_the_reports_tell_every_task_with_its_scores_and_whose_failure_it_was(perfect: tuple[Folder, Ran]) -> None:
    results = dict(perfect[1].results)
    failed = Blame(whose=Whose.EXECUTOR, why=("<it> stopped",))
    results["farewell"] = results["farewell"].model_copy(
        update={"scores": results["farewell"].scores.model_copy(update={"blame": failed})}
    )
    undone = {"late": "not begun"}
    text = report.as_text(results, undone)
    assert "planner right: 2 of 2" in text and "failures of the executor: 1" in text
    assert "farewell  executor  <it> stopped" in text and "Not done: late: not begun" in text
    told = json.loads(report.as_json(MADE_WITH, results, undone))
    assert [one["task"] for one in told["tasks"]] == list(results)
    assert told["tasks"][0]["figures"]["planner score"] == 1.0
    page = report.as_html(MADE_WITH, results, undone)
    assert "&lt;it&gt; stopped" in page and "<it>" not in page and "late: not begun" in page


def test_the_gate_fails_where_something_is_worse_by_more_than_noise(
    perfect: tuple[Folder, Ran], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = perfect[1].results["unclear"]
    plan = good.scores.plan
    assert plan is not None
    bad = good.model_copy(
        update={"scores": good.scores.model_copy(update={"plan": plan.model_copy(update={"asked_rightly": False})})}
    )
    before, after, few = (_folder(tmp_path / name) for name in ("before", "after", "few"))
    for number in range(8):
        before.keep(good.model_copy(update={"task": f"t{number}"}))
        after.keep(bad.model_copy(update={"task": f"t{number}"}))
    few.keep(bad.model_copy(update={"task": "t0"}))
    assert main(["--compare", str(before.place), str(after.place)]) == WORSE
    said = capsys.readouterr().out
    assert f"Before: 8 tasks, by {good.scores.template}, with these models" in said
    assert "right: 1.00 before and 0.00 after, on 8 of the same tasks. That is worse, by more than noise." in said
    assert "by chance in 0.8% of comparisons." in said and said.endswith("noise: planner right, planner score.\n")
    assert main(["--compare", str(after.place), str(before.place)]) == DONE
    assert "That is better, by more than noise." in capsys.readouterr().out
    assert main(["--compare", str(before.place), str(before.place)]) == DONE
    assert "They do not differ." in capsys.readouterr().out
    assert main(["--compare", str(before.place), str(few.place)]) == DONE
    said = capsys.readouterr().out
    assert str(Judged.TOO_FEW) in said and "That is too few to tell" in said and "Nothing is worse" in said
    few.keep(bad.model_copy(update={"task": "t0", "digest": "of another text"}))
    assert main(["--compare", str(before.place), str(few.place)]) == REFUSED
    assert "no task in common" in capsys.readouterr().err
    assert main(["--compare", str(before.place), str(tmp_path / "nothing")]) == REFUSED


def _folder(place: Path) -> Folder:
    folder = Folder(place)
    folder.begin(MADE_WITH)
    return folder


def test_scores_of_the_same_results_do_not_differ(perfect: tuple[Folder, Ran]) -> None:
    figures = {name: one.scores.figures() for name, one in perfect[1].results.items()}
    assert all(one.differing == 0 for one in compare(figures, figures))


# -- money ---------------------------------------------------------------------------------------------------------


def test_no_task_begins_that_the_money_left_would_not_hold(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    folder.lose(Decimal(2))
    ran, said = run(folder, Scripted.PERFECT, "unclear", cap=Decimal("2.50"), each=Decimal(1))
    assert ran.results == {}
    assert ran.undone == {"unclear": "not begun: less than $1 is left under the cap of $2.50"}
    assert said == ["[1/1] unclear: not begun: less than $1 is left under the cap of $2.50; $2.00 so far"]


def test_money_that_is_held_by_others_is_waited_for() -> None:
    purse, taken = Purse(Decimal(3), Decimal(0)), threading.Event()
    assert purse.take(Decimal(2))
    waiting = threading.Thread(target=lambda: purse.take(Decimal(2)) and taken.set())
    waiting.start()
    assert not taken.is_set()
    purse.settle(Decimal(2), Decimal("0.5"))
    waiting.join(10)
    assert taken.is_set()
    purse.settle(Decimal(2), Decimal(2))
    assert (purse.spent, purse.take(Decimal(1))) == (Decimal("2.5"), False)


def test_one_task_cannot_cost_more_than_is_held_for_it() -> None:
    one = play(TASKS["unclear"], Wish(scripted=Scripted.PERFECT), Means({}, usd="0.01"))
    assert isinstance(one, Result)
    assert (one.scores.blame.whose, one.usd) == (Whose.NEITHER, "0")


# -- tasks ---------------------------------------------------------------------------------------------------------

PATCH = "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-old\n+new\n"
TEST = PATCH.replace("src/a.py", "tests/test_a.py")
ISSUE = {"instance_id": "acme__a-1", "problem_statement": "# A title\n\nAnd a text."}
CLONED = {**ISSUE, "repo": "acme/a", "base_commit": "b" * 40, "patch": PATCH, "test_patch": TEST}


def read(folder: Path, *told: object, repos: Path | None = None) -> tuple[Task, ...]:
    file = folder / "tasks.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in told))
    return read_tasks(file, repos)


def test_a_task_of_the_public_sets_is_read_with_its_known_answer(tmp_path: Path) -> None:
    told = CLONED | {"FAIL_TO_PASS": '["tests/test_a.py::test_b"]'}
    (task,) = read(tmp_path, told, repos=Path("clones"))
    assert (task.title, task.body, task.clone) == ("A title", "And a text.", Path("clones/acme+a.git"))
    assert (task.gold.files, task.gold.tests, task.gold.lines) == ({"src/a.py"}, {"tests/test_a.py"}, 2)
    assert (task.hidden, task.gold.unclear) == (("tests/test_a.py::test_b",), False)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ([{"instance_id": "a"}], "no task"),
        ([ISSUE], "names no repository"),
        ([CLONED], "--repos"),
        ([CLONED | {"base_commit": "main"}], "names no repository"),
        ([ISSUE | {"files": {"a": "b"}, "instance_id": "../a"}], "cannot be the name"),
        ([ISSUE | {"files": {"a": "b"}}] * 2, "twice"),
        ([], "no task"),
    ],
)
def test_what_is_no_task_is_refused_with_its_place(tmp_path: Path, told: list[object], words: str) -> None:
    with pytest.raises(TasksUnreadable, match=words):
        read(tmp_path, *told)


def test_a_clone_that_is_not_there_is_told_and_costs_nothing(tmp_path: Path) -> None:
    (task,) = read(tmp_path, CLONED, repos=tmp_path)
    with pytest.raises(Unmade, match=r"acme\+a"):
        play(task, Wish(), Means({"ANTHROPIC_API_KEY": "none"}))
