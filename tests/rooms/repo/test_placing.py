"""Placing a search text: what is exact and still unclear, what means the same lines, and what only looks like them."""

import pytest

from worker.repo.filetext import FileText
from worker.repo.indents import Shift, shift_of, unit_of
from worker.repo.leftout import placeholder_in
from worker.repo.placed import AlreadyThere, NotPlaced, Placement, Why
from worker.repo.placing import place

CART = """class Cart:
    def add(self, item):
        # keep the order
        self.items.append(item)
        self.total += item.price

    def drop(self, item):
        self.items.remove(item)
        self.total -= item.price
"""


def result(plain: str, old: str, new: str) -> str | NotPlaced | AlreadyThere:
    placed = place(plain, old, new)
    return FileText(plain, mark=False).spliced(placed.splices).raw if isinstance(placed, Placement) else placed


def refused(plain: str, old: str, new: str) -> NotPlaced:
    placed = place(plain, old, new)
    assert isinstance(placed, NotPlaced), placed
    return placed


# --- exact, and yet unclear -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("items.append(item)", "self.items.extend(item)", "begins inside line 4"),
        ("self.items.append", "self.items.extend(item)", "ends inside line 4"),
        ("elf.items.append(item)", "x", "inside a word of line 4"),
        ("self.items.appen", "x", "inside a word of line 4"),
        ("append(item)\n        self.total += item.price\n", "x\n", "more than one line"),
        ("        self.items.append", "", "is the beginning of line 4"),
        ("        self.items.append(", "        self.items.extend(\n", "ends inside line 4"),
        (".append(item)", "    .extend(item)", "begins inside line 4"),
    ],
)
def test_a_search_text_that_is_cut_inside_a_line_is_refused_where_the_new_one_may_mean_all_of_it(old, new, what):
    outcome = refused(CART, old, new)
    assert outcome.why is Why.UNCLEAR and what in outcome.reason
    assert "4|         self.items.append(item)" in outcome.remedy


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("item.price\n\n    def drop", None, ""),
        ("self.items.append(item)", "self.items.extend([item])", "        self.items.extend([item])"),
        ("append(item)", "append(item.copy())", "        self.items.append(item.copy())"),
        ("order", "order of arrival", "        # keep the order of arrival"),
    ],
)
def test_a_part_of_one_line_is_replaced_where_it_stands(old, new, line):
    if new is None:
        assert refused(CART, old, "x").why is Why.UNCLEAR
        return
    assert line in str(result(CART, old, new)).split("\n")


def test_a_first_line_without_its_indent_is_placed_only_where_the_other_lines_show_theirs():
    lines = "self.items.remove(item)\n        self.total -= item.price\n"
    after = result(CART, lines, "self.items.remove(item)\n        self.total -= item.sum\n")
    assert after == CART.replace("-= item.price", "-= item.sum")
    several = refused(CART, "self.items.remove(item)", "if item in self.items:\n    self.items.remove(item)")
    assert several.why is Why.UNCLEAR and "after the indent of line 8" in several.reason
    other = refused(CART, lines, "def other(self):\n        self.total -= 1\n")
    assert other.why is Why.UNCLEAR


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("        self.items.append(item)\n", "        # keep the order\n        self.items.insert(0, item)\n", 3),
        (
            "        self.items.append(item)\n",
            "        self.items.insert(0, item)\n        self.total += item.price\n",
            5,
        ),
    ],
)
def test_a_line_around_the_place_that_the_new_text_repeats_does_not_come_to_stand_twice(old, new, line):
    outcome = refused(CART, old, new)
    assert outcome.why is Why.UNCLEAR and f"repeats line {line}" in outcome.reason


def test_the_beginning_of_another_line_is_not_the_new_text_already():
    plain = "import os\nimport regex\n"
    assert result(plain, "import os\n", "import os\nimport re") == "import os\nimport re\nimport regex\n"
    assert place("import os\nimport re\n", "import os\n", "import os\nimport re\n") == AlreadyThere(1)


def test_a_further_blank_line_is_no_repetition_of_the_line_end_before():
    plain = "x = 1\n\ndef f():\n"
    assert result(plain, "\ndef f():\n", "\n\ndef f():\n") == "x = 1\n\n\ndef f():\n"


def test_texts_that_begin_with_the_end_of_the_line_before_are_of_whole_lines():
    assert result("49\n50\n51\n", "\n50\n", "\n50\nmore\n") == "49\n50\nmore\n51\n"
    assert refused("49\n50\n51\n", "\n50\n", "50\n").why is Why.UNCLEAR
    assert result("49\n\n50\n51\n", "\n50\n", "50\n") == "49\n50\n51\n"


def test_a_new_text_equal_to_the_search_text_is_nothing_to_do():
    assert place(CART, "    def drop(self, item):\n", "    def drop(self, item):\n") == AlreadyThere(7, same=True)
    assert place("", "\n", "x") == refused("", "\n", "x")


# --- lines that mean the same -----------------------------------------------------------------------------------


def test_lines_that_the_change_keeps_stay_byte_for_byte():
    plain = "one  \ntwo\t\nthree 'x'\nfour\n"
    assert result(plain, 'one\ntwo\nthree "x"\nfour\n', 'one\n2\nthree "x"\nfour\n') == "one  \n2\nthree 'x'\nfour\n"


def test_a_block_of_another_depth_gives_its_new_lines_the_depth_of_the_file():
    old = "def drop(self, item):\n    self.items.remove(item)\n"
    after = str(result(CART, old, f"{old}    if not self.items:\n        self.total = 0\n"))
    assert "        if not self.items:\n            self.total = 0\n        self.total -= item.price\n" in after


def test_tabs_become_the_blanks_of_the_file_and_blanks_its_tabs():
    old, new = "\tdef drop(self, item):\n\t\tself.items.remove(item)\n", "\tdef drop(self, item):\n\t\tpass\n"
    assert "        pass\n        self.total" in str(result(CART, old, new))
    tabbed = CART.replace("    ", "\t")
    blanks = "    def drop(self, item):\n        self.items.remove(item)\n"
    assert "\t\tpass\n" in str(result(tabbed, blanks, "    def drop(self, item):\n        pass\n"))


def test_new_lines_with_tabs_do_not_come_into_a_file_of_blanks_nor_the_other_way_round():
    plain = "def f():\n    return 1\n"
    assert refused(plain, "def f():\n", "def f():\n\tx = 1\n").why is Why.UNCLEAR
    assert refused(plain.replace("    ", "\t"), "def f():\n", "def f():\n    x = 1\n").why is Why.UNCLEAR


def test_quotes_stay_those_of_the_file_where_the_line_changes_elsewhere():
    plain = "    return 'cart: %d' % len(items)\nx\n"
    after = result(plain, '    return "cart: %d" % len(items)\n', '    return "cart: %d" % (len(items) or 0)\n')
    assert after == "    return 'cart: %d' % (len(items) or 0)\nx\n"


def test_a_change_inside_quotes_of_another_kind_is_not_guessed():
    plain = "    return 'cart: %d' % len(items)\nx\n"
    assert (
        refused(plain, '    return "cart: %d" % len(items)\n', '    return "it\'s %d" % len(items)\n').why
        is Why.UNCLEAR
    )


def test_blank_lines_that_both_texts_drop_stay_where_the_file_has_them():
    plain = "alpha = 1\n\nbeta = 2\ngamma = 3\n"
    assert result(plain, "alpha = 1\nbeta = 2\ngamma = 3\n", "alpha = 1\nbeta = 2\ngamma = 4\n") == (
        "alpha = 1\n\nbeta = 2\ngamma = 4\n"
    )


def test_a_blank_line_that_was_dropped_just_where_the_change_is_makes_it_unclear():
    plain = "alpha = 1\n\nbeta = 2\n"
    assert refused(plain, "alpha = 1\nbeta = 2\n", "alpha = 1\nnew = 0\nbeta = 2\n").why is Why.UNCLEAR


def test_pasted_line_numbers_are_left_out_of_both_texts():
    after = result(CART, "3|         # keep the order\n", "3|         # in order\n4|         # of arrival\n")
    assert "        # in order\n        # of arrival\n        self.items" in str(after)
    assert "# in order" in str(result(CART, "     3\t        # keep the order\n", "     3\t        # in order\n"))


def test_lines_that_really_begin_with_numbers_are_not_taken_for_numbered():
    plain = "404: not found\n500: broken\n"
    assert result(plain, "404: not found\n", "404: gone\n") == "404: gone\n500: broken\n"
    assert refused(plain, "404: not here\n", "404: gone\n").why is Why.NOT_FOUND


def test_escapes_are_undone_in_both_texts_and_only_where_they_are_escaped_throughout():
    plain = "if alpha < beta:\n    go(1)\n"
    assert result(plain, "if alpha &lt; beta:\n", "if alpha &lt;= beta:\n") == "if alpha <= beta:\n    go(1)\n"
    assert refused(plain, "if alpha &lt; beta:\n", "if alpha <= beta:\n").why is Why.NOT_FOUND
    doubled = "if alpha < beta:\\n    go(1)\\n"
    assert result(plain, doubled, doubled.replace("(1)", "(2)")) == "if alpha < beta:\n    go(2)\n"
    assert refused(plain, doubled, doubled.replace("go(1)", 'go("\\n")')).why is Why.NOT_FOUND


def test_lines_left_out_in_both_texts_stay_as_they_are():
    old = "class Cart:\n    ...\n        self.items.remove(item)\n        self.total -= item.price\n"
    new = "class Basket:\n    ...\n        self.items.remove(item)\n        self.total -= item.sum\n"
    assert result(CART, old, new) == CART.replace("Cart", "Basket").replace("-= item.price", "-= item.sum")


def test_lines_left_out_only_in_the_search_text_are_not_thrown_away():
    outcome = refused(CART, "class Cart:\n    # ...\n        self.total -= item.price\n", "class Basket:\n")
    assert outcome.why is Why.LEFT_OUT


def test_pieces_that_could_be_joined_in_two_ways_are_refused():
    plain = "alpha()\nx\nbeta(1)\ny\nbeta(1)\nz\n"
    assert refused(plain, "alpha()\n...\nbeta(1)\n", "alpha()\n...\nbeta(2)\n").why is Why.SEVERAL


def test_two_places_that_fit_in_different_ways_are_two_places():
    plain = "    alpha('x')\ny\nalpha(\"x\")\nz\n"
    outcome = refused(plain, "\talpha('x')\n", "\tgamma\n")
    assert outcome.why is Why.SEVERAL and "lines 1, 3" in outcome.reason


def test_a_change_of_blank_lines_alone_is_not_taken_for_made():
    plain = "alpha(1)\n\nbeta(2)\ngamma(3)\n\ndelta(4)\n"
    after = result(plain, "\nbeta(2)  \ngamma(3)\n\n", "beta(2)\ngamma(3)\n")
    assert after == "alpha(1)\nbeta(2)\ngamma(3)\ndelta(4)\n"


def test_every_candidate_is_named():
    outcome = refused("return x\n" * 60, "return x\n", "pass\n")
    assert all(f" {number}" in outcome.reason for number in range(1, 61)) and "60 places" in outcome.reason


def test_a_place_is_not_believed_while_the_new_text_stands_elsewhere():
    plain = "    assert same(a, b)\nx\n        assert equal(a, b)\n"
    outcome = refused(plain, "      assert same(a, b)\n", "        assert equal(a, b)\n")
    assert outcome.why is Why.DONE and "line 3" in outcome.reason


def test_a_short_text_is_believed_only_byte_for_byte():
    assert refused("if x:\n    a()\n", "\ta()\n", "\tb()\n").why is Why.NOT_FOUND


def test_a_text_like_nothing_in_the_file_gets_no_lines_offered():
    outcome = refused(CART, "SELECT name FROM customers WHERE id = 1\n", "x\n")
    assert outcome.why is Why.NOT_FOUND and "nor anything like it" in outcome.reason


def test_the_closest_lines_are_offered_with_their_numbers_and_not_changed():
    outcome = refused(CART, "    def drop(self, thing):\n        self.items.remove(thing)\n", "    pass\n")
    assert "7|     def drop(self, item):\n8|         self.items.remove(item)" in outcome.remedy


# --- what the rest is made of -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "indent", "carried"),
    [
        ([("", "    ")], "    ", "        "),
        ([("        ", "    ")], "    ", None),
        ([("        ", "    "), ("            ", "        ")], "    ", ""),
        ([("    ", "  "), ("        ", "    ")], "            ", "      "),
        ([("\t", "    ")], "\t\t", "        "),
        ([("", "        "), ("        ", "        ")], "    ", "    "),
        ([("", "\t")], "    ", None),
        ([("\t", "    "), ("  ", "  ")], "\t\t", "        "),
        ([("", "\t"), ("  ", "\t\t")], "    ", "\t\t\t"),
    ],
)
def test_an_indent_is_carried_over_or_not_known(pairs, indent, carried):
    shift = shift_of(pairs, "    ")
    assert shift is not None and shift.carried(indent) == carried


@pytest.mark.parametrize(
    "pairs",
    [
        [("    ", "    "), ("        ", "    ")],
        [("    ", "    "), ("    ", "        ")],
        [("  ", "    "), ("    ", "      "), ("        ", "      ")],
    ],
)
def test_indents_that_do_not_belong_to_one_another_are_no_shift(pairs):
    assert shift_of(pairs, "    ") is None


def test_the_unit_of_a_file_is_what_its_lines_go_in_by():
    assert unit_of(["a", "  b", "    c"]) == "  "
    assert unit_of(["a", "\tb", "\t\tc", "    d"]) == "\t"
    assert unit_of(["a"]) == "    "
    assert Shift((("    ", "    "),)).same


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("a.py", "x = 1\n# ... existing code ...\n", True),
        ("a.js", "// rest of the function unchanged\n", True),
        ("a.py", "    ...\n    x = 1\n", True),
        ("a.py", "def f():\n    ...\n\ndef g():\n    ...\n", False),
        ("a.py", 'def f():\n    """Says."""\n    ...\n', False),
        ("a.md", "first\n...\nlast\n", False),
        ("a.py", "x = [1, ...]\n# the rest is history\n", False),
    ],
)
def test_a_placeholder_is_told_from_code_that_is_an_ellipsis(path, text, found):
    assert (placeholder_in(path, text, frozenset()) is not None) is found
