"""Where there is no room for all that matters: what comes first, and that no room is left unused."""

from hypothesis import given, settings
from hypothesis import strategies as st

from worker.evidence.distill import distill
from worker.evidence.distillers.frames import is_library


def many(line: str, count: int = 150) -> str:
    return "".join(line.replace("#", str(number)) + "\n" for number in range(count))


def test_of_library_frames_the_first_of_a_trace_come_first_and_then_the_shorter_ones():
    long = "\tat org.junit.platform.engine.support.hierarchical.LongNodeTestTask{0}.run(LongNodeTestTask.java:{0})\n"
    frames = "".join(long.format(n) if n % 2 else f"\tat org.junit.Task{n}.run(Task.java:{n})\n" for n in range(60))
    view = distill("", many("step #") + "java.lang.IllegalStateException: closed\n" + frames, 900).text
    assert "IllegalStateException: closed" in view and "Task0.run" in view
    assert view.count("\tat org.junit.Task") > 3 * view.count("LongNodeTestTask1")


def test_of_lines_alike_the_last_counts_as_much_as_the_first():
    view = distill("", many("noise #") + many("Error: worker /srv/w# failed its check", 60) + many("noise #"), 500).text
    assert "Error: worker /srv/w0 failed" in view and "Error: worker /srv/w59 failed" in view


def test_of_lines_that_speak_of_errors_the_later_come_first():
    early = "".join(
        f"Error: {name} cannot be read, going on" + " without it" * 9 + "\n" for name in ("cache", "mirror", "hosts")
    )
    late = "".join(f"Error: {name} is full, nothing written" + " any more" * 11 + "\n" for name in ("disk", "queue"))
    view = distill("", early + many("step #") + late + many("step #"), 450).text
    assert late in view and "going on" not in view


def test_the_reason_of_the_first_and_of_the_last_error_comes_before_the_names_of_further_ones():
    words = [f"{chr(97 + n // 26)}{chr(97 + n % 26)}ing" for n in range(40)]
    errors = "".join(
        f"[ERROR] /srv/{word}/Cart.java:[3,5] cannot find symbol\n  symbol:   class Item{word}\n" for word in words
    )
    view = distill("maven", errors, 340).text
    assert "class Itemaaing" in view and "class Itembning" in view
    assert "/srv/acing/Cart.java" not in view


def test_all_lines_of_a_reason_stay_together():
    log = (
        "[INFO] Scanning for projects...\n"
        + many("[INFO] Downloading from central: #")
        + "[ERROR] /srv/A.java:[3,5] cannot access shop.Cart\n  bad class file: /m2/shop.jar(shop/Cart.class)\n"
        "    class file has wrong version 55.0, should be 52.0\n    Please remove it or put it in the right folder.\n"
        + many("[INFO] #", 400)
    )
    view = distill("", log, 700).text
    assert "should be 52.0\n    Please remove it or put it in the right folder." in view


def test_how_a_job_ended_is_told_even_beside_a_name_that_fills_the_view():
    error = f"src/{'cart' * 50}.py:8: error: Incompatible return value type"
    log = f"{error}\nFound 1 error in 1 file (checked 9 source files)\n" + many("step #")
    assert (
        "##[error]Process completed"
        in distill("", f"{log}{error}\n##[error]Process completed with exit code 1.\n", 320).text
    )


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(1, 90), min_size=40, max_size=120), st.integers(200, 900))
def test_no_room_is_left_that_the_next_line_would_fit_in(lengths, limit):
    lines = [f"Error {n} " + "x" * length for n, length in enumerate(lengths)]
    view = distill("", "\n".join(lines), limit).text
    if len("\n".join(lines)) > limit:
        gone = [line for line in lines if line not in view.split("\n")]
        assert len(view) + min(len(line) for line in gone) + 1 > limit - 30


def test_whose_code_a_frame_stands_in():
    for theirs in (
        "    at Module._compile (node:internal/modules/cjs/loader:1103:14)",
        "    at Module._compile (internal/modules/cjs/loader.js:999:30)",
        "\tat org.junit.platform.Runner.run(Runner.java:3)",
        '  File "/usr/lib/python3.13/json/decoder.py", line 3, in decode',
        "\t/go/pkg/mod/github.com/a/b@v1/x.go:3 +0x1d",
    ):
        assert is_library(theirs)
    for own in (
        "\t/srv/app/internal/cart/cart.go:3 +0x1d",
        "\tat shop.internal.Cart.total(Cart.java:3)",
        '  File "/srv/app/lib/cart.py", line 3, in total',
        "    at total (/srv/app/src/cart.js:3:1)",
    ):
        assert not is_library(own)
