"""What fits: a plan into its template and policy, a patch into its plan, a report into its checks."""

from typing import Any

import pytest
from pydantic import ValidationError

from app.core.fit import beyond_plan, is_test, patch_fits
from app.core.lint import plan_fits
from app.core.patch import FileChange, Patch
from app.core.plan import Check, Expectation
from app.core.policy import Policy, Spending
from app.core.report import CheckRun, Report, Showing, When, checks_shown, fewer_tests, plan_shown, showing
from app.core.shelf import Shelf
from app.core.verdict import Allowed, Refused
from tests.fakes.plans import BASE, plan

TEMPLATE = Shelf().read("bugfix", "1.0.0")
STEPS = [step.model_dump(mode="json") for step in plan().steps]


def step(id: int, kind: str, path: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "kind": kind, "path": path, "intent": "i", "done_when": "d", **more}


def change(path: str, kind: str = "change", **more: Any) -> FileChange:
    values: dict[str, Any] = {"kind": kind, "path": path, "mode": "100644", "content_ref": "1" * 64, "added_lines": 2}
    if kind != "create":
        values["base_blob"] = "2" * 40
    if kind == "delete":
        values["content_ref"] = None
    return FileChange(**(values | more))


def patch(*changes: FileChange) -> Patch:
    return Patch(base_commit=BASE, changes=changes)


WHOLE = (change("src/sizes.py"), change("tests/test_sizes.py"))


def test_a_good_plan_fits() -> None:
    assert plan_fits(plan(), TEMPLATE, Policy()) == Allowed()


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([step(1, "change", ".github/workflows/ci.yml"), *STEPS[1:]], "workflow"),
        ([step(1, "change", "../outside.py"), *STEPS[1:]], "`..`"),
        ([step(1, "create", ".git/config"), *STEPS[1:]], "git directory"),
        ([step(1, "change", ".github/countersign.yml"), *STEPS[1:]], "policy"),
        ([step(1, "change", "CODEOWNERS"), *STEPS[1:]], "code owners"),
        ([step(1, "change", "poetry.lock"), *STEPS[1:]], "lock file"),
        ([STEPS[0]], "regression test"),
        ([step(1, "create", "a.py"), step(2, "create", "a.py"), step(3, "change", "tests/test_a.py")], "more than one"),
    ],
)
def test_a_plan_with_a_step_that_must_not_be_is_refused(steps: list[dict[str, Any]], words: str) -> None:
    refused = plan_fits(plan(steps=steps), TEMPLATE, Policy())
    assert isinstance(refused, Refused)
    assert words in str(refused)


def test_a_lock_file_may_be_touched_where_the_plan_says_so() -> None:
    steps = [step(1, "change", "poetry.lock"), step(2, "change", "tests/test_sizes.py")]
    assert plan_fits(plan(steps=steps, protected_paths=["poetry.lock"]), TEMPLATE, Policy()) == Allowed()
    owners = plan(steps=[step(1, "change", "CODEOWNERS"), STEPS[1]], protected_paths=["CODEOWNERS"])
    assert plan_fits(owners, TEMPLATE, Policy()) == Allowed()
    for never in (".github/workflows/ci.yml", ".gitmodules"):
        lifted = plan(steps=[step(1, "create", never), STEPS[1]], protected_paths=[never])
        assert isinstance(plan_fits(lifted, TEMPLATE, Policy()), Refused)


def test_a_path_that_the_policy_protects_is_named_by_the_plan_also_among_the_tests_beside_a_file() -> None:
    policy = Policy(protected={"paths": ["src/"]})
    assert isinstance(plan_fits(plan(), TEMPLATE, policy), Refused)
    named = plan(protected_paths=["src/sizes.py"])
    assert plan_fits(named, TEMPLATE, policy) == Allowed()
    assert patch_fits(named, patch(*WHOLE), policy) == Allowed()
    beside = patch_fits(named, patch(*WHOLE, change("src/test_sizes.py", "create")), policy)
    assert isinstance(beside, Refused)
    assert "src/test_sizes.py is protected (policy's protected paths)" in beside.reason


def test_policy_forbids_paths_and_bounds_budgets() -> None:
    assert isinstance(plan_fits(plan(), TEMPLATE, Policy(forbidden_paths=("src/*",))), Refused)
    assert isinstance(plan_fits(plan(), TEMPLATE, Policy(budget=Spending(files=2))), Refused)
    assert isinstance(plan_fits(plan(hosts=["example.org:443"]), TEMPLATE, Policy()), Refused)


def test_a_patch_of_exactly_the_plan_fits() -> None:
    assert patch_fits(plan(), patch(*WHOLE), Policy()) == Allowed()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ((*WHOLE, change("src/other.py")), "does not name"),
        ((*WHOLE, change("src/new.py", "create")), "does not name"),
        ((WHOLE[0],), "left no change"),
        ((change("src/sizes.py", "delete"), WHOLE[1]), "does not say to delete"),
        ((), "empty"),
        ((change("src/sizes.py", added_lines=59), change("tests/test_sizes.py", removed_lines=2)), "changed lines"),
        ((*WHOLE, change(".github/workflows/x.yml", "create")), "workflow"),
    ],
)
def test_31_a_patch_that_holds_anything_else_or_less_is_refused(changes: tuple[FileChange, ...], words: str) -> None:
    refused = patch_fits(plan(), patch(*changes), Policy())
    assert isinstance(refused, Refused)
    assert words in str(refused)


def test_tests_beside_a_file_count_among_the_files_that_a_plan_may_change() -> None:
    room = plan()
    most = room.model_copy(update={"budget": room.budget.model_copy(update={"files": 2})})
    refused = patch_fits(most, patch(*WHOLE, change("src/test_sizes.py", "create")), Policy())
    assert isinstance(refused, Refused) and "3 files are more than the 2 allowed" in refused.reason
    assert patch_fits(most, patch(*WHOLE), Policy()) == Allowed()


def test_a_patch_on_another_commit_is_refused() -> None:
    assert isinstance(patch_fits(plan(), Patch(base_commit="c" * 40, changes=WHOLE), Policy()), Refused)


def test_a_sibling_test_may_be_changed_or_made_without_being_named() -> None:
    only = plan(steps=[STEPS[0], step(2, "change", "tests/test_units.py")])
    changes = (change("src/sizes.py"), change("tests/test_units.py"), change("src/test_sizes.py", "create"))
    assert patch_fits(only, patch(*changes), Policy()) == Allowed()
    gone = (change("src/sizes.py"), change("tests/test_units.py"), change("tests/test_sizes.py", "delete"))
    assert isinstance(patch_fits(only, patch(*gone), Policy()), Refused)


def test_a_move_is_told_by_both_its_ends() -> None:
    moving = plan(steps=[step(1, "move", "src/a.py", to="src/b.py"), STEPS[1]])
    there = change("src/b.py", "move", old_path="src/a.py")
    assert patch_fits(moving, patch(there, WHOLE[1]), Policy()) == Allowed()
    elsewhere = change("src/c.py", "move", old_path="src/a.py")
    assert isinstance(patch_fits(moving, patch(elsewhere, WHOLE[1]), Policy()), Refused)


@pytest.mark.parametrize(
    "path",
    [
        "tests/a.py",
        "src/test_a.py",
        "a_test.go",
        "web/x.spec.ts",
        "src/FooTest.java",
        "test/a",
        "testing/a.py",
        "test.js",
        "shop/tests.py",
        "src/tests.rs",
        "lib/test-a.js",
        "a-test.js",
        "FooTests.cs",
        "FooSpec.scala",
        "conftest.py",
        "t/a.t",
    ],
)
def test_tests_are_known_by_their_names(path: str) -> None:
    assert is_test(path)


@pytest.mark.parametrize(
    "path",
    ["src/contest.py", "latest.js", "src/attest/a.py", "testing.py", "inspec.rb", ".github/workflows/test.yml", "test"],
)
def test_what_only_sounds_like_a_test_is_none(path: str) -> None:
    assert not is_test(path)


CHECK = plan().checks[0]


def ran(when: When, exit_status: int | None, ended: str = "exited", check: Check = CHECK) -> CheckRun:
    return CheckRun(
        name=check.name,
        argv=check.argv,
        when=when,
        ended=ended,
        exit_status=exit_status,
        seconds=1,
        output_ref="1" * 64,
    )


def report(*runs: CheckRun) -> Report:
    return Report(runs=runs, diff_ref="2" * 64, changed_lines=1)


def test_a_regression_test_must_fail_without_the_fix_and_pass_with_it() -> None:
    good = report(ran(When.TESTS_ONLY, 1), ran(When.AFTER, 0))
    assert checks_shown((CHECK,), good) == Allowed()


@pytest.mark.parametrize(
    "runs",
    [
        (),
        (ran(When.AFTER, 0),),
        (ran(When.TESTS_ONLY, 1),),
        (ran(When.TESTS_ONLY, 0), ran(When.AFTER, 0)),
        (ran(When.TESTS_ONLY, 1), ran(When.AFTER, 1)),
        (ran(When.TESTS_ONLY, None, "timeout"), ran(When.AFTER, 0)),
        (ran(When.TESTS_ONLY, 1), ran(When.AFTER, None, "memory")),
        (ran(When.BEFORE, 1), ran(When.AFTER, 0)),
    ],
)
def test_anything_less_shows_nothing(runs: tuple[CheckRun, ...]) -> None:
    assert isinstance(checks_shown((CHECK,), report(*runs)), Refused)


def test_a_regression_test_that_is_not_there_without_the_fix_proves_nothing() -> None:
    """A runner that finds no such test ends as if it had failed (pytest: status 4)."""
    absent = told(When.TESTS_ONLY, 4, tests=0)
    refused = checks_shown((CHECK,), report(absent, ran(When.AFTER, 0)))
    assert isinstance(refused, Refused) and "no test ran" in refused.reason
    unreadable = told(When.TESTS_ONLY, 2, tests=0, failing=("tests/test_a.py",))
    assert checks_shown((CHECK,), report(unreadable, ran(When.AFTER, 0))) == Allowed()


def told(when: When, exit_status: int, **more: object) -> CheckRun:
    return ran(when, exit_status).model_copy(update=more)


PLAIN_CHECK = CHECK.model_copy(update={"expect": Expectation.PASSES})


@pytest.mark.parametrize(
    ("runs", "shows", "allowed"),
    [
        ((ran(When.BEFORE, 1), ran(When.AFTER, 0)), Showing.FIXED, True),
        ((ran(When.BEFORE, 0), ran(When.AFTER, 0)), Showing.PASSES, True),
        ((ran(When.BEFORE, 0), ran(When.AFTER, 1)), Showing.BROKE, False),
        ((ran(When.AFTER, 1),), Showing.NOT_SHOWN, False),
        ((), Showing.NOT_SHOWN, False),
        (
            (told(When.BEFORE, 1, failing=("a", "b")), told(When.AFTER, 1, failing=("a",))),
            Showing.WAS_FAILING,
            True,
        ),
        ((told(When.BEFORE, 1, failing=("a",)), told(When.AFTER, 1, failing=("a", "b"))), Showing.NOT_SHOWN, False),
        (
            (
                told(When.BEFORE, 1, failing=("a",), errors=("OSError",)),
                told(When.AFTER, 1, failing=("a",), errors=("NameError",)),
            ),
            Showing.NOT_SHOWN,
            False,
        ),
        (
            (told(When.BEFORE, 1, failing=("a",), failed=1), told(When.AFTER, 1, failing=("a",), failed=1)),
            Showing.WAS_FAILING,
            True,
        ),
        (  # What fails besides has no name.
            (told(When.BEFORE, 1, failing=("a",), failed=1), told(When.AFTER, 1, failing=("a",), failed=2)),
            Showing.NOT_SHOWN,
            False,
        ),
        ((told(When.BEFORE, 1, marks="x"), told(When.AFTER, 1, marks="x")), Showing.WAS_FAILING, True),
        ((told(When.BEFORE, 1, marks="x"), told(When.AFTER, 1, marks="y")), Showing.NOT_SHOWN, False),
        ((told(When.BEFORE, 1, marks="x"), told(When.AFTER, 2, marks="x")), Showing.NOT_SHOWN, False),
        ((told(When.BEFORE, 1, marks="x"), told(When.AFTER, 1, marks="x", failing=("a",))), Showing.NOT_SHOWN, False),
        ((ran(When.BEFORE, 1), ran(When.AFTER, 1)), Showing.NOT_SHOWN, False),
        ((ran(When.BEFORE, None, "timeout"), ran(When.AFTER, None, "timeout")), Showing.NOT_SHOWN, False),
        ((ran(When.BEFORE, 0), told(When.AFTER, 0, doubt="it ran no test")), Showing.BROKE, False),
    ],
)
def test_what_a_check_shows_is_told_from_its_runs_alone(
    runs: tuple[CheckRun, ...], shows: Showing, allowed: bool
) -> None:
    assert showing(PLAIN_CHECK, report(*runs)) is shows
    assert (checks_shown((PLAIN_CHECK,), report(*runs)) == Allowed()) is allowed


def test_a_regression_test_is_never_let_pass_for_having_failed_before() -> None:
    same = (told(When.BEFORE, 1, failing=("a",)), told(When.TESTS_ONLY, 1), told(When.AFTER, 1, failing=("a",)))
    assert isinstance(checks_shown((CHECK,), report(*same)), Refused)


def test_a_pass_that_cannot_be_believed_is_told_with_its_reason() -> None:
    refused = checks_shown((PLAIN_CHECK,), report(told(When.AFTER, 0, doubt="it ended with status 0 and ran no test")))
    assert isinstance(refused, Refused) and "ran no test" in refused.reason


def test_another_command_under_the_same_name_shows_nothing() -> None:
    other = CHECK.model_copy(update={"argv": ("/bin/true",), "expect": Expectation.PASSES})
    assert isinstance(
        checks_shown((CHECK,), report(ran(When.TESTS_ONLY, 1, check=other), ran(When.AFTER, 0, check=other))), Refused
    )


def test_a_plan_without_checks_is_not_shown_to_work() -> None:
    assert isinstance(checks_shown((), report()), Refused)


RULE = {"kind": "literal", "pattern": "old", "replacement": "new", "paths": ["src/**"]}


def by_rule(**more: Any) -> Any:
    use = {"places": 2, "result": "1" * 64}
    steps = [step(1, "change", "src/sizes.py", who="rule", tools=[], rule=use)]
    checks = [{"name": "pytest", "argv": ["/usr/bin/pytest"]}]
    return plan(rule=RULE, steps=steps, checks=checks, **more)


def test_a_plan_by_rule_admits_exactly_the_bytes_that_it_lists() -> None:
    good = Patch(base_commit=BASE, changes=(change("src/sizes.py"),))
    assert patch_fits(by_rule(), good, Policy()) == Allowed()
    other = Patch(base_commit=BASE, changes=(change("src/sizes.py", content_ref="9" * 64),))
    refused = patch_fits(by_rule(), other, Policy())
    assert isinstance(refused, Refused)
    assert "something else of src/sizes.py than the plan lists" in str(refused)


def test_a_plan_by_rule_has_no_tests_beside_what_it_touches() -> None:
    beside = (change("src/sizes.py"), change("src/test_sizes.py", content_ref="1" * 64))
    assert isinstance(patch_fits(by_rule(), Patch(base_commit=BASE, changes=beside), Policy()), Refused)


@pytest.mark.parametrize(
    "changes",
    [
        {"rule": None},
        {"steps": [step(1, "change", "a.py", who="rule", tools=[])]},
        {"steps": [step(1, "change", "a.py", rule={"places": 1, "result": "1" * 64})]},
        {"steps": [step(1, "answer", "a.py")]},
        {"steps": [{"id": 1, "kind": "answer", "intent": "?", "done_when": "d"}, step(2, "change", "a.py")]},
        {"steps": [{"id": 1, "kind": "answer", "intent": "?", "done_when": "d"}], "rule": None},
        {"rule": RULE | {"paths": []}},
        {"rule": RULE | {"shell": "x"}},
    ],
)
def test_a_plan_is_by_rule_of_questions_or_of_steps_and_never_a_mixture(changes: dict[str, Any]) -> None:
    steps = by_rule().model_dump(mode="json")["steps"]
    with pytest.raises(ValidationError):
        plan(**({"rule": RULE, "steps": steps} | changes))


def test_questions_name_no_path_and_have_no_checks() -> None:
    asked = plan(steps=[{"id": 1, "kind": "answer", "intent": "?", "done_when": "d"}], checks=[])
    assert asked.paths() == frozenset()
    assert asked.file_steps() == ()
    assert [one.intent for one in asked.questions()] == ["?"]
    refused = plan_fits(asked, TEMPLATE, Policy())
    assert isinstance(refused, Refused)
    assert "no step of the kind answer" in str(refused)


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("feature", {"constraints": ["c"], "out_of_scope": ["o"]}, ""),
        ("feature", {"constraints": [], "out_of_scope": ["o"]}, "asks for constraints"),
        ("feature", {"constraints": ["c"]}, "asks for out of scope"),
        ("tests", {}, "asks for nothing but tests"),
        ("tests", {"steps": [step(1, "change", "tests/test_sizes.py")]}, "promises what this template does not know"),
        ("dependency", {"risks": ["r"]}, "asks for manifest"),
        ("dependency", {"steps": [step(1, "change", "pyproject.toml")]}, "asks for risks"),
        ("dependency", {"risks": ["r"], "steps": [step(1, "change", "requirements/dev.txt")]}, ""),
        ("refactor", {"constraints": ["c"]}, "asks for risks"),
    ],
)
def test_each_template_asks_for_what_its_work_needs(name: str, changes: dict[str, Any], words: str) -> None:
    verdict = plan_fits(plan(**changes), Shelf().read(name, "1.0.0"), Policy())
    if words:
        assert words in str(verdict)
    else:
        assert verdict == Allowed()


def test_more_steps_than_the_template_has_room_for_are_refused() -> None:
    steps = [step(number, "change", "tests/test_sizes.py") for number in range(1, 22)]
    assert "21 steps are more than the 20" in str(plan_fits(plan(steps=steps), TEMPLATE, Policy()))


def test_a_plan_that_was_approved_without_a_check_promises_none() -> None:
    assert plan_shown(plan(checks=[]), report(), Policy()) == Allowed()
    assert isinstance(plan_shown(plan(), report(), Policy()), Refused)


def test_forbidden_paths_bind_the_tests_beside_a_file_as_well() -> None:
    only = plan(steps=[STEPS[0], step(2, "change", "tests/test_units.py")])
    changes = (change("src/sizes.py"), change("tests/test_units.py"), change("tests/locked/test_sizes.py"))
    assert patch_fits(only, patch(*changes), Policy()) == Allowed()
    assert isinstance(patch_fits(only, patch(*changes), Policy(forbidden_paths=("tests/locked/*",))), Refused)


def test_what_the_plan_does_not_name_is_told() -> None:
    assert beyond_plan(plan(), patch(*WHOLE)) == ()
    assert beyond_plan(plan(), patch(*WHOLE, change("src/test_sizes.py", "create"))) == ("src/test_sizes.py",)


def test_a_new_file_that_git_ignores_is_the_plans_own_or_is_refused() -> None:
    beside = change("src/test_sizes.py", "create", ignored_by="test_*")
    refused = patch_fits(plan(), patch(*WHOLE, beside), Policy())
    assert isinstance(refused, Refused)
    assert "src/test_sizes.py, which git ignores (`test_*`) and the plan does not name" in refused.reason
    named = plan(steps=[*STEPS, step(3, "create", "build/made.py")])
    made = change("build/made.py", "create", ignored_by="build/")
    assert patch_fits(named, patch(*WHOLE, made), Policy()) == Allowed()


def test_a_check_that_runs_fewer_tests_than_before_is_told() -> None:
    def counted(before: int | None, after: int) -> Report:
        runs = (ran(When.BEFORE, 1), before), (ran(When.AFTER, 0), after)
        return report(*(run.model_copy(update={"tests": tests}) for run, tests in runs))

    name = plan().checks[0].name
    assert fewer_tests(plan(), counted(12, 5)) == (f"`{name}` ran 12 tests before the change and 5 after it.",)
    assert fewer_tests(plan(), counted(5, 5)) == fewer_tests(plan(), counted(None, 5)) == ()
