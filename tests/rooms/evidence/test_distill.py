"""SE-02 is a field case."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.verdict import Refused
from worker.evidence.artifacts import keep_text, reopen
from worker.evidence.distill import distill, plain_output

PYTEST = """\
============================= test session starts ==============================
collected 212 items

tests/test_a.py ........................................................ [ 26%]
tests/test_cart.py ....F............................................... [ 62%]

=================================== FAILURES ===================================
_________________________________ test_total ___________________________________

    def test_total():
        cart = Cart()
>       assert cart.total == 3
E       AssertionError: assert 4 == 3
E        +  where 4 = <Cart>.total

tests/test_cart.py:12: AssertionError
----------------------------- Captured stdout call -----------------------------
{noise}
==================================== PASSES ====================================
=========================== short test summary info ============================
{passed}
FAILED tests/test_cart.py::test_total - AssertionError: assert 4 == 3
======================== 1 failed, 211 passed in 1.23s =========================
""".replace("{noise}", "\n".join(f"connecting to {n}" for n in range(300))).replace(
    "{passed}", "\n".join(f"PASSED tests/test_a.py::test_{n}" for n in range(211))
)


def test_terminal_colours_links_and_progress_are_gone():
    raw = "\x1b[31mred\x1b[0m \x1b]8;;https://x.example\x07link\x1b]8;;\x1b\\ ok\r\n 10%\r 50%\r100%\n"
    assert plain_output(raw + "\x07be\x08oom\x00\x9b1m!\n") == "red link ok\n100%\nboom!\n"


@settings(max_examples=150, deadline=None)
@given(st.text("a\x1b[]0;m\x07\\\r\n\x08\x9b\x9d?P", max_size=60))
def test_no_control_character_is_left(text):
    plain = plain_output(text)
    assert not [c for c in plain if ord(c) < 32 and c not in "\n\t"]
    assert not [c for c in plain if 0x7F <= ord(c) <= 0x9F]
    assert plain_output(plain) == plain


@pytest.mark.parametrize("limit", [700, 2_000])
def test_of_a_pytest_run_the_failure_stays_and_passing_tests_go(limit):
    view = distill("pytest", PYTEST, limit)
    for fact in (
        "FAILED tests/test_cart.py::test_total - AssertionError: assert 4 == 3",
        ">       assert cart.total == 3",
        "E       AssertionError: assert 4 == 3",
        "tests/test_cart.py:12: AssertionError",
        "1 failed, 211 passed in 1.23s",
    ):
        assert fact in view.text
    assert "PASSED" not in view.text
    assert len(view.text) <= limit
    assert view.dropped_lines > 200


def test_a_short_quiet_pytest_run_says_its_counts():
    view = distill("pytest", "...F\nFAILED a.py::test_b - assert 1 == 2\n1 failed, 3 passed in 0.01s\n", 1_000)
    assert "1 failed, 3 passed" in view.text and "FAILED a.py::test_b" in view.text


def test_of_any_output_both_ends_stay_and_the_gap_is_counted():
    view = distill("make", "\n".join(f"line {number}" for number in range(1, 1_001)), 400)
    assert view.text.startswith("line 1\n") and view.text.endswith("\nline 1000")
    gap = next(line for line in view.text.split("\n") if line.startswith("[… "))
    first, last = (int(number) for number in gap.removeprefix("[… ").removesuffix(" …]").split("–"))
    assert last - first + 1 == view.dropped_lines
    assert f"line {first - 1}\n{gap}\nline {last + 1}" in view.text


def test_a_short_output_is_whole():
    assert distill("make", "one\ntwo\n", 200).text == "one\ntwo"
    assert distill("make", "one\ntwo\n", 200).dropped_lines == 0


@settings(max_examples=120, deadline=None)
@given(
    lines=st.lists(
        st.one_of(st.text(max_size=80), st.sampled_from(PYTEST.split("\n")), st.just("x" * 3_000)), max_size=80
    ),
    kind=st.sampled_from(["pytest", "other"]),
    limit=st.integers(200, 1_500),
)
def test_a_view_keeps_its_limit_and_counts_what_it_drops(lines, kind, limit):
    text = "\n".join(lines)
    view = distill(kind, text, limit)
    assert len(view.text) <= limit
    total = len(plain_output(text).rstrip("\n").split("\n"))
    gaps = [line for line in view.text.split("\n") if line.startswith("[… ") and line.endswith(" …]")]
    assert total == view.dropped_lines + len(view.text.split("\n")) - len(gaps)
    assert view == distill(kind, text, limit)


def test_a_limit_too_small_is_refused():
    with pytest.raises(ValueError, match="200"):
        distill("other", "x", 10)


class Shelf(dict):
    """The ledger's side of the port."""

    def put_artifact(self, content: bytes, media: str) -> str:
        reference = hashlib.sha256(content).hexdigest()
        self[reference] = content
        return reference

    def artifact(self, sha: str) -> bytes | None:
        return self.get(sha)


def test_a_kept_output_is_reopened_by_line_range_and_says_where_it_was_cut():
    shelf = Shelf()
    reference = keep_text(shelf, "".join(f"line {number}\n" for number in range(1, 1_001)))
    assert reopen(shelf, reference, 7, 8).split("\n")[1:] == ["7| line 7", "8| line 8"]
    whole = reopen(shelf, reference)
    assert "lines 1-400 of 1,000; cut at the limit, read on from line 401" in whole
    assert reopen(shelf, reference, 990).split("\n")[-1] == "1000| line 1000"


@pytest.mark.parametrize(("start", "end"), [(1_001, None), (0, 5), (-3, None), (9, 3)])
def test_lines_that_are_not_there_are_refused(start, end):
    shelf = Shelf()
    reference = keep_text(shelf, "x\n" * 1_000)
    answer = reopen(shelf, reference, start, end)
    assert isinstance(answer, Refused)


def test_an_unknown_or_binary_output_is_refused():
    shelf = Shelf()
    assert isinstance(reopen(shelf, "0" * 64), Refused)
    assert isinstance(reopen(shelf, shelf.put_artifact(b"a\0b", "x")), Refused)
