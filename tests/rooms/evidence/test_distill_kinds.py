"""Each kind of output: what decides stays in a view that is far smaller than the output, and what repeats goes."""

import re
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.evidence.distill import distill, plain_output
from worker.evidence.distillers.cleaning import cleaned_batches
from worker.evidence.distillers.kinds import KINDS


@dataclass(frozen=True)
class Case:
    kind: str
    text: str
    keeps: tuple[str, ...]
    drops: tuple[str, ...] = ()
    limit: int = 900


def many(line: str, count: int = 150) -> str:
    return "".join(line.replace("#", str(number)) + "\n" for number in range(count))


CASES = [
    Case(
        "pytest",
        "============ test session starts ============\n"
        + many("tests/test_a#.py ......... [ 50%]")
        + "================= FAILURES =================\n________ test_total ________\n\n    def test_total():\n"
        ">       assert total([1]) == 3\nE       assert 4 == 3\n\ntests/test_cart.py:12: AssertionError\n"
        "------------ Captured stdout call ------------\n"
        + many("step # done")
        + "======== short test summary info ========\nFAILED tests/test_cart.py::test_total - assert 4 == 3\n"
        "======= 1 failed, 900 passed in 3.21s =======\n",
        (
            "FAILED tests/test_cart.py::test_total - assert 4 == 3",
            "E       assert 4 == 3",
            "tests/test_cart.py:12: AssertionError",
            "1 failed, 900 passed in 3.21s",
        ),
        ("tests/test_a7.py",),
    ),
    Case(
        "unittest",
        many("test_case_# (test_cart.Bulk.test_case_#) ... ok")
        + "======================================================================\n"
        "FAIL: test_total (test_cart.Total.test_total)\n"
        "----------------------------------------------------------------------\nTraceback (most recent call last):\n"
        '  File "/srv/test_cart.py", line 11, in test_total\n    self.assertEqual(total(), 3)\n'
        "AssertionError: 4 != 3\n\nRan 151 tests in 0.1s\n\nFAILED (failures=1)\n",
        (
            "FAIL: test_total (test_cart.Total.test_total)",
            'File "/srv/test_cart.py", line 11, in test_total',
            "AssertionError: 4 != 3",
            "Ran 151 tests in 0.1s",
            "FAILED (failures=1)",
        ),
        ("test_case_9 (",),
    ),
    Case(
        "jest",
        "FAIL src/cart.test.js\n"
        + many("  console.log\n    total of cart # is fine\n")
        + "  ● cart › total is rounded\n\n    expect(received).toBe(expected) // Object.is equality\n\n"
        "    Expected: 35.66\n    Received: 35.6643\n\n      10 | test(\n    > 11 |   expect(total()).toBe(35.66);\n\n"
        "      at Object.toBe (src/cart.test.js:11:19)\n      at run (node_modules/jest/build/x.js:3:1)\n\n"
        "Test Suites: 1 failed, 1 total\nTests:       1 failed, 9 passed, 10 total\n",
        (
            "● cart › total is rounded",
            "Expected: 35.66",
            "Received: 35.6643",
            "src/cart.test.js:11:19",
            "Tests:       1 failed, 9 passed, 10 total",
        ),
    ),
    Case(
        "vitest",
        " RUN  v2.1.9 /srv\n\n"
        + many(" ✓ cart.test.js > ok #")
        + " × cart.test.js > total\n⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯\n\n FAIL  cart.test.js > total\n"
        "AssertionError: expected 4 to be 3\n\n ❯ cart.test.js:3:88\n\n Test Files  1 failed (1)\n"
        "      Tests  1 failed | 150 passed (151)\n",
        (
            " FAIL  cart.test.js > total",
            "AssertionError: expected 4 to be 3",
            "❯ cart.test.js:3:88",
            "1 failed | 150 passed",
        ),
        ("✓",),
    ),
    Case(
        "mocha",
        "\n  queue\n"
        + many("    ✔ holds #")
        + "    1) is first in first out\n\n  150 passing (2s)\n  1 failing\n\n  1) queue\n"
        "       is first in first out:\n\n"
        "      AssertionError [ERR_ASSERTION]: 2 !== 1\n      at Context.<anonymous> (test/queue.test.js:4:10)\n"
        "      at process.processImmediate (node:internal/timers:476:21)\n",
        ("1) is first in first out", "150 passing", "1 failing", "2 !== 1", "test/queue.test.js:4:10"),
        ("✔",),
        limit=600,
    ),
    Case(
        "node test",
        many("✔ adds item # (0.512ms)") + "✖ total is rounded (2.676953ms)\n"
        "  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n  \n  35.6643 !== 35.66\n  \n"
        "      at TestContext.<anonymous> (/srv/cart.test.js:3:37)\n"
        "      at Test.run (node:internal/test_runner/test:796:25) {\n    generatedMessage: true,\n"
        "    code: 'ERR_ASSERTION'\n  }\n\nℹ tests 151\nℹ suites 0\nℹ pass 150\nℹ fail 1\nℹ duration_ms 53.1\n\n"
        "✖ failing tests:\n\ntest at cart.test.js:3:1\n✖ total is rounded (2.676953ms)\n",
        (
            "✖ total is rounded (2.676953ms)",
            "35.6643 !== 35.66",
            "/srv/cart.test.js:3:37",
            "ℹ pass 150",
            "ℹ fail 1",
            "test at cart.test.js:3:1",
        ),
        ("✔", "ℹ suites"),
        limit=600,
    ),
    Case(
        "go test",
        "=== RUN   TestTable\n"
        + many("=== RUN   TestTable/case_#\n    cart_test.go:9: running #")
        + "=== RUN   TestTable/last\n    cart_test.go:17: got 4, want 3\n--- FAIL: TestTable (0.00s)\n"
        + many("    --- PASS: TestTable/case_# (0.00s)")
        + "    --- FAIL: TestTable/last (0.00s)\nFAIL\nFAIL\texample.com/cart\t0.009s\n",
        ("--- FAIL: TestTable/last", "cart_test.go:17: got 4, want 3", "FAIL\texample.com/cart"),
        ("--- PASS", "running 3\n"),
        limit=500,
    ),
    Case(
        "cargo",
        many("   Compiling crate# v0.1.0")
        + "error[E0308]: mismatched types\n  --> src/main.rs:8:14\n   |\n8  |     total(1)\n"
        "   |           ^ expected `&str`, found integer\n\nerror: could not compile `cart` due to 1 previous error\n",
        (
            "error[E0308]: mismatched types",
            "--> src/main.rs:8:14",
            "expected `&str`, found integer",
            "could not compile `cart`",
        ),
        ("Compiling crate70",),
    ),
    Case(
        "maven",
        "[INFO] Scanning for projects...\n"
        + many("Downloading from central: https://repo.example/a/#.pom")
        + "[ERROR] shop.CartTest.total  Time elapsed: 0.01 s  <<< FAILURE!\n"
        "org.opentest4j.AssertionFailedError: expected: <3> but was: <4>\n"
        + many("\tat org.junit.platform.commons.util.ReflectionUtils.m#(ReflectionUtils.java:#)", 40)
        + "\tat shop.CartTest.total(CartTest.java:12)\n[ERROR] Tests run: 9, Failures: 1, Errors: 0, Skipped: 0\n"
        "[INFO] BUILD FAILURE\n"
        "[ERROR] Failed to execute goal org.apache:surefire:test on project shop: There are test failures.\n"
        "[ERROR] Re-run Maven using the -X switch to enable full debug logging.\n",
        (
            "shop.CartTest.total  Time elapsed: 0.01 s  <<< FAILURE!",
            "expected: <3> but was: <4>",
            "at shop.CartTest.total(CartTest.java:12)",
            "Tests run: 9, Failures: 1",
            "BUILD FAILURE",
            "Failed to execute goal",
        ),
        ("Downloading from central: https://repo.example/a/70.pom",),
    ),
    Case(
        "gradle",
        "Starting a Gradle Daemon\n"
        + many("> Task :lib#:compileJava UP-TO-DATE")
        + "> Task :test FAILED\n\nCartTest > total() FAILED\n    java.lang.AssertionError at CartTest.java:12\n\n"
        "9 tests completed, 1 failed\n\nFAILURE: Build failed with an exception.\n\n* What went wrong:\n"
        "Execution failed for task ':test'.\n> There were failing tests.\n\nBUILD FAILED in 13s\n",
        (
            "CartTest > total() FAILED",
            "AssertionError at CartTest.java:12",
            "9 tests completed, 1 failed",
            "for task ':test'",
        ),
        ("UP-TO-DATE",),
    ),
    Case(
        "rspec",
        many("loaded example group #")
        + "Failures:\n\n  1) Stack pops the last pushed value\n     Failure/Error: expect(s.pop).to eq(2)\n\n"
        "       expected: 2\n            got: 1\n\n     # ./spec/stack_spec.rb:3:in `block'\n\n"
        "62 examples, 1 failure\n\n"
        "Failed examples:\n\nrspec ./spec/stack_spec.rb:3 # Stack pops the last pushed value\n",
        ("1) Stack pops the last pushed value", "expected: 2", "got: 1", "stack_spec.rb:3", "62 examples, 1 failure"),
    ),
    Case(
        "phpunit",
        "PHPUnit 10.5.1 by Sebastian Bergmann and contributors.\n\n"
        + many("................ # / 150")
        + "There was 1 failure:\n\n1) CartTest::testTotal\nFailed asserting that 4 matches expected 3.\n\n"
        "/srv/tests/CartTest.php:12\n\nFAILURES!\nTests: 150, Assertions: 150, Failures: 1.\n",
        (
            "1) CartTest::testTotal",
            "Failed asserting that 4 matches expected 3.",
            "CartTest.php:12",
            "Tests: 150, Assertions",
        ),
    ),
    Case(
        "dotnet",
        "  Determining projects to restore...\n"
        + many("  Passed Cart.Tests.Case# [1 ms]")
        + "  Failed Cart.Tests.Total [12 ms]\n  Error Message:\n   Assert.Equal() Failure: Values differ\n"
        "Expected: 3\nActual:   4\n  Stack Trace:\n     at Cart.Tests.Total() in /srv/Tests.cs:line 21\n\n"
        "Failed!  - Failed:     1, Passed:   150, Skipped:     0, Total:   151\n",
        (
            "Failed Cart.Tests.Total [12 ms]",
            "Expected: 3",
            "Actual:   4",
            "/srv/Tests.cs:line 21",
            "Failed:     1, Passed",
        ),
        ("Passed Cart.Tests.Case70",),
    ),
    Case(
        "ctest",
        "Test project /srv/build\n"
        + many("  #/150 Test  ##: t# ......   Passed    0.01 sec")
        + "[ RUN      ] Totals.Rounds\n/srv/src/totals_test.cc:17: Failure\nExpected equality of these values:\n"
        "  total(items)\n    Which is: 4\n  3\n[  FAILED  ] Totals.Rounds (0 ms)\n\n"
        "99% tests passed, 1 tests failed out of 151\n\nThe following tests FAILED:\n\t  2 - totals (Failed)\n",
        (
            "[  FAILED  ] Totals.Rounds",
            "totals_test.cc:17: Failure",
            "Which is: 4",
            "1 tests failed out of 151",
            "2 - totals (Failed)",
        ),
    ),
    Case(
        "mypy",
        many('app/m#.py:3: note: Revealed type is "int"')
        + 'app/cart.py:8: error: Incompatible return value type (got "None", expected "Item")  [return-value]\n'
        "Found 1 error in 1 file (checked 9 source files)\n",
        ("app/cart.py:8: error: Incompatible return value type", "Found 1 error in 1 file"),
        (),
    ),
    Case(
        "pylint",
        "************* Module app.cart\n"
        + many("app/cart.py:#:0: C0116: Missing function or method docstring (missing-function-docstring)")
        + "app/cart.py:21:4: E0602: Undefined variable 'totl' (undefined-variable)\n\n"
        "Your code has been rated at 1.36/10\n",
        ("app/cart.py:21:4: E0602: Undefined variable 'totl'", "rated at 1.36/10"),
    ),
    Case(
        "ruff",
        many("D100 Missing docstring in public module\n--> app/m#.py:1:1\n", 60)
        + "F821 Undefined name `totl`\n  --> app/cart.py:21:12\n   |\n21 |     return totl\n"
        "   |            ^^^^\n\nFound 61 errors.\n",
        ("F821 Undefined name `totl`", "--> app/cart.py:21:12", "Found 61 errors."),
    ),
    Case(
        "tsc",
        many("Processing file#.ts") + "src/api.ts(3,51): error TS2339: Property 'name' does not exist on type 'User'.\n"
        "Found 1 error in src/api.ts:3\n",
        ("src/api.ts(3,51): error TS2339: Property 'name' does not exist on type 'User'.", "Found 1 error"),
    ),
    Case(
        "javac",
        many("[checking Class#]") + "Calc.java:4: error: incompatible types: String cannot be converted to int\n"
        "        int x = name;\n                ^\n"
        "  symbol:   variable name\n1 error\n",
        ("Calc.java:4: error: incompatible types: String cannot be converted to int", "1 error"),
    ),
    Case(
        "eslint",
        "/srv/app/src/other.js\n"
        + many("  #:3   warning  Unexpected console statement  no-console")
        + "\n/srv/app/src/cart.js\n  1:10  error  'total' is not defined  no-undef\n\n"
        "✖ 151 problems (1 error, 150 warnings)\n",
        ("/srv/app/src/cart.js", "1:10  error  'total' is not defined  no-undef", "✖ 151 problems"),
    ),
    Case(
        "pip",
        many("Collecting package#==1.0")
        + "ERROR: Cannot install flask==3.0.0 and werkzeug<1 because these package versions have "
        "conflicting dependencies.\n\n"
        "The conflict is caused by:\n    The user requested werkzeug<1\n    flask 3.0.0 depends on Werkzeug>=3.0.0\n",
        ("ERROR: Cannot install flask==3.0.0 and werkzeug<1", "flask 3.0.0 depends on Werkzeug>=3.0.0"),
        ("Collecting package70",),
    ),
    Case(
        "npm",
        many("npm http fetch GET 200 https://registry.example/p#")
        + "npm error code ERESOLVE\nnpm error ERESOLVE could not resolve\nnpm error Found: eslint@9.39.5\n"
        "npm error A complete log of this run can be found in: /x/_logs/1.log\n",
        ("npm error code ERESOLVE", "ERESOLVE could not resolve", "Found: eslint@9.39.5"),
        ("registry.example/p70",),
    ),
    Case(
        "diff",
        "diff --git a/src/cart.py b/src/cart.py\nindex 1..2 100644\n--- a/src/cart.py\n"
        "+++ b/src/cart.py\n@@ -1,80 +1,80 @@\n"
        + many("     unchanged line #")
        + "-    return 4\n+    return 3\n"
        + many("     more unchanged #"),
        ("diff --git a/src/cart.py b/src/cart.py", "@@ -1,80 +1,80 @@", "-    return 4", "+    return 3"),
    ),
    Case(
        "har",
        '{"log": {"entries": ['
        + "".join(
            f'{{"startedDateTime": "x", "request": {{"method": "GET", "url": "https://shop.example/a/{n}"}}, '
            f'"response": {{"status": {502 if n == 77 else 200}, "statusText": "Bad Gateway"}}}},'
            for n in range(150)
        )
        + "{}]}}",
        ('"url": "https://shop.example/a/77"', '"status": 502'),
        ('"status": 200',),
    ),
    Case(
        "json",
        '{"items": [' + ",".join(f'{{"n": {n}}}' for n in range(300)) + '], "error": {"message": "quota exceeded"}}',
        ('"message": "quota exceeded"',),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_what_decides_stays_and_what_repeats_goes(case):
    view = distill("", case.text, case.limit)
    assert case.kind in view.kinds
    for fact in case.keeps:
        assert fact in view.text
    for repeated in case.drops:
        assert repeated not in view.text
    assert len(view.text) <= case.limit < len(case.text) / 3


def test_each_kind_that_is_known_by_itself_has_a_case():
    assert {kind.name for kind in KINDS if kind.signs} == {case.kind for case in CASES}


def test_a_job_of_many_steps_is_read_by_all_its_kinds_without_its_clock():
    stamp = "2024-03-01T10:00:00.1234567Z "
    log = (
        many(stamp + "Collecting package#")
        + f"{stamp}============ test session starts ============\n{stamp}E       assert 4 == 3\n"
        + f"{stamp}FAILED tests/test_cart.py::test_total - assert 4 == 3\n{stamp}=== 1 failed in 1.00s ===\n"
        + many(stamp + "[INFO] Downloading from central: #")
        + f"{stamp}[INFO] Scanning for projects...\n{stamp}[ERROR] /srv/A.java:[3,5] cannot find symbol\n"
        + f"{stamp}##[error]Process completed with exit code 1.\n"
        + many(stamp + "[command]/usr/bin/git config #")
    )
    view = distill("", log, 700)
    assert {"pytest", "maven", "pip"} <= set(view.kinds)
    for fact in (
        "FAILED tests/test_cart.py::test_total",
        "[ERROR] /srv/A.java:[3,5] cannot find symbol",
        "exit code 1",
    ):
        assert fact in view.text
    assert "1234567Z" not in view.text


def test_search_hits_keep_their_files():
    text = "".join(f"src/m{n}.py\n" + many(f"{n}#:    total()", 20) for n in range(12))
    view = distill("search", text, 600)
    assert sum(f"src/m{n}.py" in view.text for n in range(12)) >= 6


def test_subtests_of_tap_are_told_below_their_own_line():
    text = (
        "TAP version 13\n"
        + many("# Subtest: adds #\nok # - adds #\n  ---\n  duration_ms: 1\n  ...")
        + "# Subtest: cart\n    not ok 1 - total\n      ---\n      error: 'got 4, want 3'\n      ...\n"
        "not ok 151 - cart\n  ---\n  error: '1 subtest failed'\n  ...\n# pass 150\n# fail 1\n"
    )
    view = distill("", text, 500).text
    for fact in ("    not ok 1 - total", "error: 'got 4, want 3'", "not ok 151 - cart", "# fail 1"):
        assert fact in view
    assert "ok 70 - adds 70" not in view


_JUNK = ("", "\0", "\ud800", " 10%\r 50%\r100%\r", "x" * 70_000, "\x1b[31m", "\ufeff", "  ", "[… 3–4 …]")
_WHOLE = st.sampled_from(CASES).map(lambda case: case.text)
_TORN = st.builds(lambda text, cut: text[: int(len(text) * cut)], _WHOLE, st.floats(0, 1))
_ENDS = st.builds(lambda text, cut: text[int(len(text) * cut) :], _WHOLE, st.floats(0, 1))
_PIECES = st.lists(st.one_of(_WHOLE, _TORN, _ENDS, st.sampled_from(_JUNK)), max_size=5)
_GAP = re.compile(r"\[… \d+(?:–\d+)? …\]$")


@settings(max_examples=120, deadline=None)
@given(
    _PIECES, st.sampled_from(["", *(kind.name for kind in KINDS)]), st.integers(200, 3_000), st.sampled_from(["", "\n"])
)
def test_torn_mixed_and_damaged_outputs_have_a_view_of_their_own_lines(pieces, hint, limit, between):
    text = between.join(pieces)
    view = distill(hint, text, limit)
    assert len(view.text) <= limit
    assert plain_output(view.text) == view.text
    lines = {line for batch in cleaned_batches([text]) for line in batch}
    cut = [line.partition("[… ")[0] for line in lines]
    for line in view.text.split("\n"):
        start = line.partition("[… ")[0]
        assert (
            line in lines or _GAP.match(line) or any(len(each) >= len(start) and each.startswith(start) for each in cut)
        )


@pytest.mark.parametrize("junk", _JUNK)
@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_no_kind_stumbles_over_an_output_that_is_none(kind, junk):
    assert len(distill(kind, junk, 200).text) <= 200
    assert len(distill(kind, f"{junk}\n" * 50, 200).text) <= 200
