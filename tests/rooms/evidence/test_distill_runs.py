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
        310,
    )
    for fact in (
        "FAILED tests/test_outer.py::test_outer",
        "tests/test_outer.py:9: Failed",
        "1 failed, 30 passed in 2.00s",
    ):
        assert fact in view.text
    assert "FAILED inner_" not in view.text and "E       assert" not in view.text
