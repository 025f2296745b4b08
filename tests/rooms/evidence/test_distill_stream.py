"""What is true of every view, whatever the output is."""

import json
import os
import re
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worker.evidence.distillers as room
from worker.evidence.distill import distill, distill_stream, plain_output
from worker.evidence.distillers.cleaning import PIECE, cleaned_batches, laid_out
from worker.evidence.distillers.kinds import ALWAYS, KINDS
from worker.evidence.distillers.marks import Mark, Role
from worker.evidence.distillers.pool import Pool
from worker.main import main

GAP = re.compile(r"\[… \d+(?:–\d+)? …\]$")
TELLING = [
    "=== FAILURES ===",
    "___ test_total ___",
    "E   AssertionError: assert 4 == 3",
    "tests/test_cart.py:12: AssertionError",
    "=========== short test summary info ===========",
    "FAILED tests/test_cart.py::test_total - AssertionError",
    "== 1 failed, 3 passed in 0.2s ==",
    "[INFO] Scanning for projects...",
    "[ERROR] /srv/A.java:[3,5] cannot find symbol",
    "[ERROR] Failed to execute goal x:y",
    "Traceback (most recent call last):",
    '  File "/srv/app.py", line 3, in load',
    "    raise KeyError(1)",
    "KeyError: 1",
    "    at load (/srv/app/src/config.js:14:11)",
    "java.lang.IllegalStateException: closed",
    "\tat shop.Cart.total(Cart.java:12)",
    "--- FAIL: TestTotal (0.00s)",
    "=== RUN   TestTotal",
    "    cart_test.go:9: got 4, want 3",
    "  ● cart › total",
    "    Expected: 3",
    "src/a.c:3:5: error: expected ‘;’",
    "  12 passing",
    "  1) total:",
    "✖ 3 problems (2 errors, 1 warning)",
    "diff --git a/x b/x",
    "@@ -1,2 +1,2 @@",
    "error[E0308]: mismatched types",
    "  --> src/main.rs:8:14",
    '{"entries": [',
    "ok",
    "",
    "   ",
    "\x1b[31mred\x1b[0m error",
    "10%\r100%",
]
LINES = st.lists(st.one_of(st.sampled_from(TELLING), st.text(max_size=60), st.just("x" * 3_000)), max_size=90)
HINTS = st.sampled_from(["", "nothing known", *(kind.name for kind in KINDS)])


def lines_of(text: str) -> list[str]:
    return [line for batch in cleaned_batches([text]) for line in batch]


@settings(max_examples=200, deadline=None)
@given(lines=LINES, hint=HINTS, limit=st.integers(200, 2_000))
def test_a_view_is_never_too_long_and_says_the_same_each_time(lines, hint, limit):
    text = "\n".join(lines)
    view = distill(hint, text, limit, "a1b2")
    assert len(view.text) <= limit
    assert view == distill(hint, text, limit, "a1b2")
    assert view.dropped_lines == 0 or view.text.endswith("\nwhole output: a1b2")


@settings(max_examples=150, deadline=None)
@given(lines=LINES, hint=HINTS, limit=st.integers(200, 2_000))
def test_every_line_of_a_view_stood_in_the_output_in_that_order(lines, hint, limit):
    text = "\n".join(lines)
    rest = iter(lines_of(text))
    for line in distill(hint, text, limit).text.split("\n"):
        if GAP.match(line):
            continue
        start = line.split("[… ")[0]
        assert any(each == line or (len(each) > len(line) and each.startswith(start)) for each in rest)


@settings(max_examples=100, deadline=None)
@given(lines=LINES, limit=st.integers(200, 2_000), cuts=st.lists(st.integers(0, 5_000), max_size=6))
def test_how_an_output_is_cut_into_pieces_does_not_matter(lines, limit, cuts):
    raw = "\n".join(lines).encode("utf-8", "replace")
    places = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})
    pieces = [raw[start:end] for start, end in pairwise(places)]
    assert distill_stream(pieces, limit) == distill("", raw.decode("utf-8"), limit)


@settings(max_examples=100, deadline=None)
@given(raw=st.binary(max_size=600), limit=st.integers(200, 900))
def test_any_bytes_have_a_view(raw, limit):
    view = distill_stream([raw], limit)
    assert len(view.text) <= limit
    assert plain_output(view.text) == view.text


@settings(max_examples=60, deadline=None)
@given(lines=LINES, limit=st.integers(200, 2_000))
def test_a_view_of_a_view_is_the_view(lines, limit):
    once = distill("", "\n".join(lines), limit)
    assert distill("", once.text, limit).text.rstrip("\n") == once.text.rstrip("\n")


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.one_of(st.integers(), st.text(max_size=9), st.none()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    )
)
def test_json_in_one_line_is_laid_out_with_blanks_only(value):
    line = json.dumps(value)
    assert json.loads("\n".join(laid_out(line))) == value


def noise(megabytes: int) -> Iterator[bytes]:
    line = b"[%07d] INFO worker heartbeat ok latency=1ms queue=0\n"
    for number in range(0, megabytes * 12_000, 100):
        yield b"".join(line % (number + each) for each in range(100))


def peak(chunks: Iterator[bytes]) -> tuple[str, int]:
    tracemalloc.start()
    text = distill_stream(chunks, 1_000).text
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return text, most


def failing(megabytes: int) -> Iterator[bytes]:
    yield from noise(megabytes)
    yield b'Traceback (most recent call last):\n  File "/srv/app.py", line 3, in load\n    x()\nKeyError: 1\n'
    yield from noise(megabytes)


def test_memory_does_not_grow_with_the_output_and_the_failure_in_its_midst_is_found():
    _, small = peak(failing(1))
    text, large = peak(failing(3))
    assert "KeyError: 1" in text and 'File "/srv/app.py", line 3, in load' in text
    assert large < small * 1.3


def test_of_marks_of_one_sort_the_first_and_the_last_are_kept_and_no_more():
    pool = Pool(4_000)
    for number in range(5_000):
        pool.add(Mark(number, "x" * 50, Role.ALARM, 0, 0))
    kept = sorted(pool.marks())
    assert kept[0] == 0 and kept[-1] == 4_999
    assert 100 < len(kept) < 130


def test_json_that_is_nested_without_end_is_not_laid_out_as_blanks():
    lines = laid_out('{"a":' * 20_000 + "1" + "}" * 20_000)
    assert len(lines) > 20_000 and max(map(len, lines)) < 200


@pytest.mark.parametrize(
    ("hint", "line"),
    [
        ("", "".join(f"{number} " + "error " * 20_000 + "\n" for number in range(4))),
        ("jest", "Tests:" + "\t" * 200_000 + "x"),
        ("cargo", "x\n" + " " * 200_000 + "x"),
    ],
)
def test_a_line_that_rules_go_over_again_and_again_is_not_slow(hint, line):
    began = time.process_time()
    distill(hint, line, 2_000)
    assert time.process_time() - began < 10


def test_a_line_without_an_end_is_held_in_bounded_memory():
    text, most = peak(b"x" * 100_000 for _ in range(80))
    assert most < 12 * PIECE
    assert len(text) <= 1_000 and text.startswith("xxx") and "[… " in text


def test_every_kind_has_a_name_of_its_own_and_a_file_that_is_listed():
    names = [kind.name for kind in (*KINDS, *ALWAYS)]
    assert len(set(names)) == len(names)
    files = [file for file in Path(room.__file__).parent.glob("*.py") if "\nKIND = " in file.read_text("utf-8")]
    assert len(files) == len(names)


def test_the_command_prints_the_view_of_a_file(tmp_path, capsys):
    file = tmp_path / "out.log"
    file.write_text("noise\n" * 400 + "KeyError: 'qty'\n" + "".join(f"n {n}\n" for n in range(300)))
    assert main(["distill", str(file), "--chars", "300"]) == 0
    told = capsys.readouterr().out
    assert "KeyError: 'qty'" in told and f"whole output: {file}" in told
    assert len(told) <= 301


def test_the_command_escapes_what_the_terminal_has_no_sign_for_and_ends_when_nobody_reads(tmp_path):
    file = tmp_path / "out.log"
    file.write_text("KeyError: 'prix en €'\n")
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "ascii", "PATH": os.environ["PATH"]}
    words = [sys.executable, "-m", "worker.main", "distill", str(file)]
    asked = {"env": environment, "stderr": subprocess.PIPE}
    shown = subprocess.run(words, stdout=subprocess.PIPE, check=False, **asked)
    assert (shown.returncode, shown.stdout) == (0, b"KeyError: 'prix en \\u20ac'\n")
    reading, writing = os.pipe()
    os.close(reading)
    unread = subprocess.run(words, stdout=writing, check=False, **asked)
    os.close(writing)
    assert (unread.returncode, unread.stderr) == (2, b"")


@pytest.mark.parametrize(("words", "code"), [(["nowhere.log"], 1), (["nowhere.log", "--chars", "10"], 2)])
def test_the_command_refuses_what_it_cannot_show_with_a_sentence(words, code, capsys):
    assert main(["distill", *words]) == code
    assert capsys.readouterr().err.endswith(".\n")
