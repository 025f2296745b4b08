"""What runners say of their own runs. Each text is what the tool prints, shortened."""

import pytest

from worker.evidence.tallies import Tally, tally

SAID = {
    "pytest": (
        "..F\nFAILED tests/test_a.py::test_b[1] - assert 1 == 2\n1 failed, 2 passed, 1 skipped in 0.12s\n",
        3,
        1,
    ),
    "pytest, old": ("======= 2 failed, 94 passed, 1 xfailed in 9.87 seconds =======\n", 97, 2),
    "pytest, nothing": ("no tests ran in 0.01s\n", 0, 0),
    "pytest, all left out": ("ss\n2 skipped in 0.01s\n", 0, 0),
    "pytest, an inner run": ("E   1 failed\n=== 1 failed in 0.1s ===\n=== 5 passed in 2.00s ===\n", 5, 0),
    "pytest, told twice to be quiet": (".....s..x.R. [ 50%]\n..F. [100%]\nFAILED tests/test_a.py::test_b - x\n", 14, 1),
    "unittest": ("Ran 64 tests in 0.039s\n\nFAILED (failures=2, errors=1, skipped=1)\n", 63, 3),
    "unittest, nothing": ("\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n", 0, 0),
    "jest": ("Test Suites: 3 failed, 3 total\nTests:       4 failed, 151 passed, 155 total\n", 155, 4),
    "vitest": (" Test Files  1 failed (1)\n      Tests  2 failed | 81 passed (83)\n", 83, 2),
    "mocha": ("  61 passing (74ms)\n  2 failing\n", 63, 2),
    "node": ("ℹ tests 3\nℹ suites 0\nℹ pass 2\nℹ fail 1\nℹ cancelled 0\n", 3, 1),
    "tap": ("1..3\nok 1 - a\nnot ok 2 - b\nnot ok 3 - c # TO" "DO later\n", 2, 1),
    "go": ("ok  \texample.com/a\t0.01s\n--- FAIL: TestB (0.00s)\nFAIL\texample.com/b\t0.02s\n", 2, 1),
    "go, nothing": ("?   \texample.com/a\t[no test files]\n", 0, 0),
    "cargo": ("running 2 tests\ntest result: FAILED. 1 passed; 1 failed; 0 ignored;\n", 2, 1),
    "cargo, nothing": ("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored;\n", 0, 0),
    "ctest": ("67% tests passed, 1 tests failed out of 3\n", 3, 1),
    "ctest, nothing": ("No tests were found!!!\n", 0, 0),
    "maven": ("Tests run: 5, Failures: 1, Errors: 1, Skipped: 1\n", 4, 2),
    "gradle": ("5 tests completed, 1 failed\n", 5, 1),
    "phpunit": ("OK (3 tests, 5 assertions)\n", 3, 0),
    "phpunit, failed": ("Tests: 74, Assertions: 73, Errors: 1, Failures: 2.\n", 74, 3),
    "rspec": ("62 examples, 2 failures\n", 62, 2),
    "dotnet": ("Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3\n", 3, 1),
    "automake": ("# TOTAL: 5\n# PASS:  3\n# SKIP:  1\n# XFAIL: 0\n# FAIL:  1\n# XPASS: 0\n", 4, 1),
    "two suites": ("test result: ok. 1 passed; 0 failed;\ntest result: ok. 2 passed; 0 failed;\n", 3, 0),
    "colours": ("\x1b[31m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m in 0.12s\n", 3, 1),
}


@pytest.mark.parametrize("runner", SAID)
def test_tests_that_ran_and_failed_are_counted(runner: str) -> None:
    text, ran, failed = SAID[runner]
    found = tally(text)
    assert (found.ran, found.failed) == (ran, failed)


@pytest.mark.parametrize(
    "text", ["", "..... [ 50%]\n", "all good\n", "ok\n", "hello world\nerror: 1 thing failed\n", "ok\ntest_a ... ok\n"]
)
def test_what_no_runner_said_is_not_known(text: str) -> None:
    assert tally(text) == Tally()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "FAILED a.py::test_b - assert 1\nERROR a.py::test_c - OSError\n1 failed, 1 error in 1s\n",
            ["a.py::test_b", "a.py::test_c"],
        ),
        ("FAIL: test_x (t.T.test_x)\nFAIL: test_x (t.T.test_x)\n", ["test_x (t.T.test_x)"]),
        ("--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/one (0.00s)\n", ["TestA", "TestA/one"]),
        ("FAIL\texample.com/b [build failed]\nFAIL\texample.com/c\t0.02s\nFAIL\n", ["example.com/b [build failed]"]),
        ("FAIL src/a.test.js (5.2 s)\n  ● Test suite failed to run\n", ["src/a.test.js", "Test suite failed to run"]),
        (" FAIL  src/a.test.ts [ src/a.test.ts ]\n FAIL  b.test.ts > adds\n", ["src/a.test.ts", "b.test.ts > adds"]),
        ("test a::b ... FAILED\ntest a::c ... ok\n", ["a::b"]),
        ("  ● Console\n  ● cart › adds\n", ["cart › adds"]),
        ("1..2\nok 1 - a\nnot ok 2 - b\n", ["b"]),
        ("rspec ./spec/a_spec.rb:3 # A b\n", ["./spec/a_spec.rb:3"]),
        ("ERROR: Could not install packages\n", []),
        (
            "=== short test summary info ===\nFAILED inner.py::test_a\n1 failed in 0.1s\n"
            "=== short test summary info ===\nFAILED t/test_outer.py::test_b\n1 failed in 2.0s\n",
            ["t/test_outer.py::test_b"],
        ),
    ],
)
def test_what_failed_is_named_once(text: str, names: list[str]) -> None:
    assert list(tally(text).failing) == names


def test_kinds_of_errors_are_named_once() -> None:
    said = "E  KeyError: 'a'\nE  KeyError: 'b'\njava.io.IOException: x\nerror: no\nanError\n\x1b[31mTypeError\x1b[0m\n"
    assert tally(said).errors == ("KeyError", "IOException", "TypeError")
