"""The page that a reviewer judges by: what it shows, and what it lets be cited."""

from typing import Any

from app.core.report import CheckRun, Report, When
from tests.fakes.plans import plan
from worker.belts.citing import missing
from worker.belts.review_page import DIFF_SHOWN, DIFFERENCE, shown_to


def run(when: When, excerpt: str, name: str = "pytest") -> CheckRun:
    return CheckRun(
        name=name,
        argv=("/usr/bin/pytest",),
        when=when,
        ended="exited",
        exit_status=0,
        seconds=1,
        output_ref="1" * 64,
        excerpt=excerpt,
    )


def page(diff: str, *runs: CheckRun) -> Any:
    return shown_to(plan(), "Review.", Report(runs=runs, diff_ref="2" * 64, changed_lines=1), diff)


def test_what_was_printed_before_the_change_is_neither_shown_nor_to_be_cited() -> None:
    shown = page("+x", run(When.BEFORE, "tests of old: good"), run(When.AFTER, "tests of new: good"))
    assert missing("pytest", "tests of new", shown.sources) == ""
    assert missing("pytest", "tests of old", shown.sources)
    assert "tests of old" not in shown.opening.text and "tests of new" in shown.opening.text


def test_a_check_by_the_name_of_the_difference_takes_nothing_from_it() -> None:
    shown = page("+    return 2", run(When.AFTER, "all good", DIFFERENCE))
    assert missing(DIFFERENCE, "return 2", shown.sources) == missing(DIFFERENCE, "all good", shown.sources) == ""


def test_a_reviewer_is_told_what_of_a_long_difference_it_does_not_see() -> None:
    first = "diff --git a/a.py b/a.py\n" + "+a\n" * 10
    second = "diff --git a/b.py b/b.py\n" + "+b\n" * DIFF_SHOWN
    third = "diff --git a/c.py b/c.py\n+c\n"
    told = page(first + second + third).opening.text.partition("The difference is longer")[2]
    assert "- a/b.py b/b.py" in told and "- a/c.py b/c.py" in told and "a/a.py" not in told
    assert "The difference is longer" not in page(first).opening.text
