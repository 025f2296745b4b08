"""The kinds of edit beside search and replace: inserting, a whole file, a diff; and edits that follow one another."""

import pytest

from app.core.verdict import Allowed, Refused
from worker.repo.edits import Applied, Overlay, StepEdits
from worker.repo.fence import Create, Fence, Insert, Move, Outside, Replace, Write
from worker.repo.placed import NotPlaced, Why
from worker.repo.textedits import WHOLE_FILE_LINES

CART = b"""import os


class Cart:
    def add(self, item):
        self.items.append(item)

    def drop(self, item):
        self.items.remove(item)
"""


def step_on(tree_of, content: bytes = CART, path: str = "a.py") -> StepEdits:
    return Overlay(tree_of({path: content})).begin(Fence({path: "change"}))


# --- inserting --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "lines"),
    [
        ("after", ["    def add(self, item):", "        # first", "        self.items.append(item)"]),
        ("before", ["class Cart:", "        # first", "    def add(self, item):"]),
    ],
)
def test_lines_are_inserted_around_the_whole_lines_of_the_anchor(tree_of, where, lines):
    step = step_on(tree_of)
    assert isinstance(step.insert(Insert("a.py", "    def add(self", "        # first\n", where)), Applied)
    assert "\n".join(lines) in step.read("a.py").decode()
    assert step.keep() == Allowed()


def test_an_insertion_keeps_line_ends_and_the_end_of_the_file(tree_of):
    step = step_on(tree_of, b"one\r\ntwo", "a.txt")
    step.insert(Insert("a.txt", "two", "three"))
    assert step.read("a.txt") == b"one\r\ntwo\r\nthree"
    step.insert(Insert("a.txt", "", "zero\n", "before"))
    assert step.read("a.txt") == b"zero\r\none\r\ntwo\r\nthree"


def test_an_insertion_that_is_there_is_not_made_twice(tree_of):
    step = step_on(tree_of)
    for fresh in (True, False):
        made = step.insert(Insert("a.py", "import os", "import re\n"))
        assert isinstance(made, Applied) and made.fresh is fresh
    for fresh in (True, False):
        made = step.insert(Insert("a.py", "", "x = 1\n", "after"))
        assert isinstance(made, Applied) and made.fresh is fresh
    assert step.read("a.py").startswith(b"import os\nimport re\n\n")
    assert step.read("a.py").endswith(b"remove(item)\nx = 1\n")


@pytest.mark.parametrize(
    ("anchor", "why"),
    [("self, item", Why.SEVERAL), ("def add(self, item):", Why.UNCLEAR), ("    def pop(self):", Why.NOT_FOUND)],
)
def test_an_anchor_that_is_not_one_place_is_refused(tree_of, anchor, why):
    step = step_on(tree_of)
    refused = step.insert(Insert("a.py", anchor, "        pass\n"))
    assert isinstance(refused, NotPlaced) and refused.why is why
    assert isinstance(step.keep(), Refused)


def test_an_insertion_into_an_empty_file_ends_with_a_newline(tree_of):
    step = step_on(tree_of, b"", "pkg/__init__.py")
    step.insert(Insert("pkg/__init__.py", "", "x = 1"))
    assert step.read("pkg/__init__.py") == b"x = 1\n"


# --- a whole file -----------------------------------------------------------------------------------------------


def test_a_whole_file_keeps_its_mark_line_ends_last_newline_and_mode(tree_of):
    tree = tree_of({"run.sh": b"\xef\xbb\xbfone\r\ntwo\nthree"}, {"run.sh": "100755"})
    overlay = Overlay(tree)
    assert overlay.apply_all(Fence({"run.sh": "change"}), [Write("run.sh", "one\n2\nthree\nfour\n")]) == Allowed()
    (change,) = overlay.changes()
    assert change.content == b"\xef\xbb\xbfone\r\n2\nthree\nfour"
    assert change.mode == "100755"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("import os\n# ... rest of the file unchanged\n", "placeholder"),
        ("", "empty the whole file"),
        ("a\0b\n", "NUL"),
    ],
)
def test_a_whole_file_that_lacks_something_is_refused(tree_of, content, why):
    refused = step_on(tree_of).write("a.py", content)
    assert isinstance(refused, Refused) and why in refused.reason


def test_a_long_file_is_not_written_anew(tree_of):
    step = step_on(tree_of, b"x = 1\n" * (WHOLE_FILE_LINES + 1))
    refused = step.write("a.py", "x = 2\n")
    assert isinstance(refused, Refused) and "301 lines" in refused.reason


def test_a_whole_file_is_written_only_where_one_is(tree_of):
    refused = Overlay(tree_of({})).begin(Fence({"a.py": "change"})).write("a.py", "x = 1\n")
    assert isinstance(refused, Refused) and "does not exist" in refused.reason


def test_a_whole_file_that_is_there_is_nothing_to_do(tree_of):
    made = step_on(tree_of).write("a.py", CART.decode())
    assert isinstance(made, Applied) and not made.fresh


def test_a_file_that_the_step_made_with_this_content_is_nothing_to_do(tree_of):
    step = Overlay(tree_of({})).begin(Fence({"a.py": "create"}))
    assert step.create("a.py", "x = 1\n") == Applied("Created a.py (6 bytes).")
    again = step.create("a.py", "x = 1\n")
    assert isinstance(again, Applied) and not again.fresh
    assert isinstance(step.create("a.py", "x = 2\n"), Refused)


# --- diffs ------------------------------------------------------------------------------------------------------


def test_a_diff_is_placed_by_its_lines_and_not_by_its_numbers(tree_of):
    step = step_on(tree_of)
    diff = (
        "--- a/a.py\n+++ b/a.py\n@@ -90,2 +90,2 @@\n     def drop(self, item):\n"
        "-        self.items.remove(item)\n+        self.items.pop()\n@@ ... @@\n-import os\n+import re\n"
    )
    assert isinstance(step.patch("a.py", diff), Applied)
    assert step.read("a.py") == CART.replace(b"remove(item)", b"pop()").replace(b"import os", b"import re")


def test_a_diff_of_which_one_part_has_no_place_is_not_made_at_all(tree_of):
    step = step_on(tree_of)
    refused = step.patch("a.py", "@@ @@\n-import os\n+import re\n@@ @@\n-import sys\n+import io\n")
    assert isinstance(refused, NotPlaced) and refused.reason.startswith("Part 2 of the diff:")
    assert step.read("a.py") == CART


def test_what_a_diff_holds_for_other_files_is_left_out_and_said(tree_of):
    step = step_on(tree_of)
    own = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-import os\n+import re\n"
    made = step.patch("a.py", f"{own}diff --git a/b.py b/b.py\n--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-x\n+y\n")
    assert isinstance(made, Applied) and "b.py were left out" in made.said
    assert step.read("a.py") == CART.replace(b"import os", b"import re")
    assert isinstance(step.patch("a.py", "--- a/b.py\n+++ b/b.py\n@@ @@\n-x\n+y\n"), Refused)


@pytest.mark.parametrize("diff", ["", "@@ @@\n+x = 1\n", "@@ @@\n import os\n", "@@ @@\n-import os\n*import re\n"])
def test_a_diff_that_says_nothing_is_refused(tree_of, diff):
    assert isinstance(step_on(tree_of).patch("a.py", diff), Refused)


# --- one edit after another -------------------------------------------------------------------------------------


def test_a_text_that_an_edit_of_the_step_changed_is_named_as_that(tree_of):
    step = step_on(tree_of)
    step.replace("a.py", "        self.items.append(item)\n", "        self.items.insert(0, item)\n")
    refused = step.replace("a.py", "    def add(self, item):\n        self.items.append(item)\n", "    pass\n")
    assert isinstance(refused, NotPlaced) and refused.why is Why.CHANGED_BEFORE
    assert "An earlier edit of this step" in refused.reason and "line 5" in refused.reason
    assert "6|         self.items.insert(0, item)" in refused.remedy


def test_a_file_that_an_earlier_step_changed_is_named_as_changed_since_the_plan(tree_of):
    overlay = Overlay(tree_of({"a.py": CART}))
    fence = Fence({"a.py": "change"})
    assert overlay.apply_all(fence, [Replace("a.py", "append(item)", "insert(0, item)")]) == Allowed()
    refused = overlay.begin(fence).replace("a.py", "        self.items.append(item)\n", "        pass\n")
    assert isinstance(refused, NotPlaced) and refused.why is Why.CHANGED_BEFORE
    assert "changed since the plan was made" in refused.reason


def test_an_edit_that_is_perhaps_made_already_is_not_owed(tree_of):
    step = step_on(tree_of)
    refused = step.replace("a.py", "import sys\n", "        self.items.remove(item)\n")
    assert isinstance(refused, NotPlaced) and refused.why is Why.DONE
    assert step.keep() == Allowed()


def test_an_edit_says_at_once_when_the_file_does_not_parse_any_more(tree_of):
    overlay = Overlay(tree_of({"a.py": b"fine\n"}), broken_at=lambda _, content: 1 if b"broken" in content else None)
    step = overlay.begin(Fence({"a.py": "change"}))
    broken = step.replace("a.py", "fine", "broken")
    assert isinstance(broken, Applied) and "does not parse: see line 1" in broken.said
    mended = step.replace("a.py", "broken", "good")
    assert isinstance(mended, Applied) and "parse" not in mended.said


def test_what_is_outside_the_step_is_refused_as_that(tree_of):
    step = step_on(tree_of)
    for edit in (Insert("b.py", "", "x"), Write("b.py", "x"), Create("c.py", "x"), Move("a.py", "b.py")):
        assert isinstance(step.apply(edit), Outside)


# --- names ------------------------------------------------------------------------------------------------------


def test_a_rename_in_case_only_and_one_to_a_decomposed_name_are_exact(tree_of):
    composed, decomposed = "caf\u00e9.py", "cafe\u0301.py"
    overlay = Overlay(tree_of({"Cart.py": b"x = 1\n", composed: b"y = 1\n"}))
    fence = Fence({"Cart.py": "move", composed: "move"}, {"Cart.py": "cart.py", composed: decomposed})
    assert overlay.apply_all(fence, [Move("Cart.py", "cart.py"), Move(composed, decomposed)]) == Allowed()
    moved = {(change.old_path, change.path) for change in overlay.changes()}
    assert moved == {("Cart.py", "cart.py"), (composed, decomposed)}
