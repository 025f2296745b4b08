"""What a test said stays with the test, and what a test printed is not taken for the run."""

from worker.evidence.distill import distill


def many(line: str, count: int = 150) -> str:
    return "".join(line.replace("#", str(number)) + "\n" for number in range(count))


def test_a_message_is_never_shown_without_the_test_that_it_belongs_to():
    tests = "".join(
        f"________ test_{n} ________\n\n>       assert {n} == 0\nE       assert {n} == 0\n\n"
        f"tests/test_{n}.py:3: AssertionError\n"
        for n in range(1, 60)
    )
    listed = "".join(f"FAILED tests/test_{n}.py::test_{n} - assert {n} == 0\n" for n in range(1, 60))
    progress = "".join(f"[gw0] [ {n}%] FAILED tests/test_{n}.py::test_{n} \n" for n in range(1, 60))
    log = (
        f"============ test session starts ============\n{progress}"
        f"================= FAILURES =================\n{tests}"
        f"======== short test summary info ========\n{listed}===== 59 failed in 1.00s =====\n"
    )
    view = distill("", log, 1_600)
    assert "[gw0]" not in view.text and "59 failed in 1.00s" in view.text
    shown = view.text.split("\n")
    messages = [at for at, line in enumerate(shown) if line.startswith("E  ")]
    assert messages
    for at in messages:
        number = shown[at].split()[2]
        title = next(line for line in reversed(shown[:at]) if line.startswith("___"))
        assert title == f"___ test_{number} ___"


def test_of_what_go_tests_say_only_the_failing_ones_words_stay():
    words = [f"{chr(97 + n // 26)}{chr(97 + n % 26)}ing" for n in range(150)]
    said = "".join(f"=== RUN   TestTable/{word}\n    cart_test.go:9: {word} the cart\n" for word in words)
    passed = "".join(f"    --- PASS: TestTable/{word} (0.00s)\n" for word in words)
    failed = "=== RUN   TestTable/last\n    cart_test.go:17: got 4, want 3\n--- FAIL: TestTable (0.00s)\n"
    view = distill("", said + failed + passed + "    --- FAIL: TestTable/last (0.00s)\nFAIL\n", 220)
    assert "cart_test.go:17: got 4, want 3" in view.text and "--- FAIL: TestTable/last" in view.text


def test_of_two_runs_in_one_log_both_tell_what_failed():
    run = (
        "============ test session starts ============\n================= FAILURES =================\n"
        "________ test_# ________\nE       assert # == 0\n\ntests/test_#.py:3: AssertionError\n"
        "======== short test summary info ========\nFAILED tests/test_#.py::test_# - assert # == 0\n"
        "=== # failed in 0.01s ===\n"
    )
    log = run.replace("#", "1") + many("+ step #") + run.replace("#", "2") + many("+ clean #")
    view = distill("", log, 800)
    for number in (1, 2):
        assert f"FAILED tests/test_{number}.py::test_{number}" in view.text
        assert f"=== {number} failed in 0.01s ===" in view.text


def test_a_run_that_a_test_printed_is_not_taken_for_the_run_itself():
    inner = "".join(
        "============ test session starts ============\n================= FAILURES =================\n"
        f"________ test_inner_{n} ________\nE       assert {n} == 0\n\ninner_{n}.py:3: AssertionError\n"
        f"======== short test summary info ========\nFAILED inner_{n}.py::test_inner_{n}\n=== {n} failed in 0.01s ===\n"
        for n in range(1, 9)
    )
    view = distill(
        "",
        "================= FAILURES =================\n________ test_outer ________\n>       run()\n"
        "E       Failed: nomatch: '*1 passed*'\n\ntests/test_outer.py:9: Failed\n"
        f"------------ Captured stdout call ------------\n{inner}"
        "======== short test summary info ========\nFAILED tests/test_outer.py::test_outer - Failed: nomatch\n"
        "=== 1 failed, 30 passed in 2.00s ===\n",
        400,
    )
    for fact in (
        "FAILED tests/test_outer.py::test_outer",
        "tests/test_outer.py:9: Failed",
        "1 failed, 30 passed in 2.00s",
    ):
        assert fact in view.text
    own, _, printed = view.text.partition("------------ Captured stdout call ------------\n")
    assert "E       assert" not in own and "E       assert 1 == 0\n" in printed
    assert "FAILED inner_" not in view.text


def test_an_error_that_a_failing_test_printed_is_told_with_its_place_before_what_else_it_printed():
    log = (
        "================= FAILURES =================\n________ test_outer ________\n>       assert run().ret == 0\n"
        "E       assert 2 == 0\n\ntests/test_outer.py:9: AssertionError\n"
        "------------ Captured stdout call ------------\n"
        + many("plugin # is loaded")
        + "src/tool/rewrite.py:681: in run\n    if self.off(doc):\nsrc/tool/rewrite.py:746: in off\n    return doc.x\n"
        "E   TypeError: argument of type 'int' is not iterable\n"
        + many("plugin # is unloaded")
        + "======== short test summary info ========\nFAILED tests/test_outer.py::test_outer - assert 2 == 0\n"
    )
    view = distill("", log, 600).text
    assert "src/tool/rewrite.py:746: in off\n" in view and "E   TypeError: argument of type 'int'" in view
    assert "plugin 70" not in view


def test_a_title_that_fills_its_line_is_a_title():
    titles = [f"_ TestProxies.test_select[{'x' * 60}-{n}] _" for n in range(20)]
    failures = "".join(
        f"{title}\n>       assert total({n}) == 0\nE       assert {n} == 0\n\ntests/test_p.py:{n + 9}: AssertionError\n"
        "_ _ _ _ _ _ _ _ _ _ _ _ _\n"
        for n, title in enumerate(titles)
    )
    shown = distill("", "================= FAILURES =================\n" + failures, 900).text.split("\n")
    messages = [at for at, line in enumerate(shown) if line.startswith("E  ")]
    assert len(messages) > 3
    for at in messages:
        number = int(shown[at].split()[2])
        assert next(line for line in reversed(shown[:at]) if line.startswith("_ ")) == titles[number]


MAVEN = "[INFO] Scanning for projects...\n" + many("[INFO] Downloading from central: #")
FAILED_CLASS = (
    "[INFO] Running shop.TotalTest\njava.lang.IllegalStateException: broken on purpose, again\n"
    "\tat shop.TotalTest.quiet(TotalTest.java:4)\n"
    "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! - in shop.TotalTest\n"
    "[ERROR] shop.TotalTest.total  Time elapsed: 0 s  <<< FAILURE!\n"
    "java.lang.AssertionError: expected:<3> but was:<4>\n"
    "\tat shop.TotalTest.total(TotalTest.java:12)\n"
)


def passing_class(name: str) -> str:
    return (
        f"[INFO] Running shop.{name}\njava.lang.IllegalStateException: {name} crashes on purpose{' so' * 80}\n"
        f"\tat shop.{name}.crash({name}.java:7)\n\tat shop.Cart.add(Cart.java:3)\n"
        f"[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.6 s - in shop.{name}\n"
    )


def test_what_a_passing_test_class_printed_is_not_why_the_build_failed():
    log = MAVEN + passing_class("CrashTest") + FAILED_CLASS + passing_class("LateTest") + many("[INFO] #")
    view = distill("", log, 430).text
    assert "expected:<3> but was:<4>" in view and "TotalTest.java:12" in view and "broken on purpose, again" in view
    assert "CrashTest crashes" not in view and "LateTest crashes" not in view


def test_where_test_classes_run_side_by_side_their_words_stay():
    first, second = passing_class("CrashTest").split("\n", 1), passing_class("LateTest").split("\n", 1)
    log = MAVEN + f"{first[0]}\n{second[0]}\n{first[1]}{second[1]}" + many("[INFO] #")
    view = distill("", log, 860).text
    assert "CrashTest crashes on purpose" in view and "LateTest crashes on purpose" in view


def test_errors_that_maven_says_again_are_told_once_and_in_one_piece():
    error = (
        "/srv/shop/Cart.java:[{0},5] cannot find symbol\n{1}  symbol:   class Item{0}\n{1}  location: class shop.Cart\n"
    )
    log = (
        MAVEN
        + "[ERROR] COMPILATION ERROR : \n"
        + "".join("[ERROR] " + error.format(n, "") for n in (3, 4))
        + "[INFO] 2 errors\n[INFO] BUILD FAILURE\n"
        "[ERROR] Failed to execute goal org.apache:maven-compiler-plugin:3.1:compile: Compilation failure\n"
        + "".join("[ERROR] " + error.format(n, "[ERROR] ") for n in (3, 4))
        + "[ERROR] -> [Help 1]\n"
    )
    view = distill("", log, 800).text
    assert view.count("Cart.java:[3,5] cannot find symbol") == view.count("Cart.java:[4,5] cannot find symbol") == 1
    assert (
        "[ERROR] /srv/shop/Cart.java:[3,5] cannot find symbol\n[ERROR]   symbol:   class Item3\n"
        "[ERROR]   location: class shop.Cart\n[ERROR] /srv/shop/Cart.java:[4,5]" in view
    )
