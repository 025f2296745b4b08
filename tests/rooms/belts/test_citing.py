"""A quote is believed where code finds it, letter by letter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.belts.citing import missing, stands_in

DIFF = (
    "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@\n"
    " def f():\n-    return 1\n+    x = 2\n+    return x\n"
)


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        ("+    x = 2", True),
        ("x = 2", True),
        ("    x = 2\n    return x", True),
        ("+    x = 2\n+    return x", True),
        ("  x = 2  \n    return x ", True),
        ("def f():\n    return x", False),
        ("x = 3", False),
        ("X = 2", False),
        ("x = 2\nreturn x", False),
        ("", False),
        ("+", False),
        ("= 2", False),
    ],
)
def test_a_quote_stands_within_a_line_or_over_lines_in_a_row(quote: str, stands: bool) -> None:
    assert stands_in(quote, DIFF) is stands


def test_what_is_not_there_to_be_cited_is_named() -> None:
    assert missing("difference", "return x", {"difference": DIFF}) == ""
    assert "do not stand in difference" in missing("difference", "return y", {"difference": DIFF})
    assert "there is: difference" in missing("my memory", "return x", {"difference": DIFF})


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "Zs")), min_size=1, max_size=60), st.data())
def test_any_part_of_a_line_with_enough_in_it_stands_in_it(line: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(line)))
    part = line[start : data.draw(st.integers(start, len(line)))]
    enough = len("".join(part.split())) >= 3
    assert stands_in(part, f"a\n{line}\nb") is enough
