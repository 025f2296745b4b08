"""Case numbers (ED-01 …) are those of the field cases."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.plan import MoveFile
from app.core.verdict import Allowed, Refused
from worker.repo.edits import Applied, Overlay
from worker.repo.fence import Create, Delete, Fence, Move, Replace

CART = """class Cart:
    def add(self, item):
        # keep the order
        self.items.append(item)
        self.total += item.price

    def drop(self, item):
        self.items.remove(item)
        self.total -= item.price
"""


def edited(tree_of: Callable, content: bytes, old: str, new: str, mode: str = "100644") -> bytes | Refused:
    overlay = Overlay(tree_of({"a.py": content}, {"a.py": mode}))
    verdict = overlay.apply_all(Fence({"a.py": "change"}), [Replace("a.py", old, new)])
    return verdict if isinstance(verdict, Refused) else overlay.read("a.py")


# --- ED-01: line ends and the last newline ----------------------------------------------------------------------


def test_an_lf_search_text_edits_a_crlf_file_and_only_its_own_line(tree_of):
    before = b"one\r\ntwo\r\nthree\r\nfour"
    after = edited(tree_of, before, "one\ntwo\nthree\n", "one\n2\nand\nthree\n")
    assert after == b"one\r\n2\r\nand\r\nthree\r\nfour"


def test_a_file_without_last_newline_keeps_that_when_its_last_line_is_edited_as_a_whole_line(tree_of):
    assert edited(tree_of, b"one\r\ntwo\r\nthree", "two\nthree\n", "two\n3\n") == b"one\r\ntwo\r\n3"


def test_a_line_appended_at_the_end_leaves_one_last_newline(tree_of):
    assert edited(tree_of, b"one\ntwo\n", "two\n", "two\nthree\n") == b"one\ntwo\nthree\n"
    assert edited(tree_of, b"one\ntwo\n", "two", "two\nthree") == b"one\ntwo\nthree\n"
    assert edited(tree_of, b"one\ntwo", "two", "two\nthree\n") == b"one\ntwo\nthree"


def test_lines_with_other_endings_in_a_mixed_file_stay_as_they_were(tree_of):
    before = b"a\r\nb\nc\r\nd\ne\r\nf\r\n"
    assert edited(tree_of, before, "b\nc\nd\n", "b\nC\nd\n") == b"a\r\nb\nC\r\nd\ne\r\nf\r\n"
    assert edited(tree_of, b"a\r\nb\r\nc\n", "c\n", "C\nx\n") == b"a\r\nb\r\nC\nx\r\n"


def test_a_file_without_last_newline_has_none_when_its_last_line_is_taken_away(tree_of):
    assert edited(tree_of, b"one\r\ntwo", "two", "") == b"one"
    assert edited(tree_of, b"one\r\ntwo", "two", "\n\n") == b"one"


def test_a_byte_order_mark_is_kept(tree_of):
    assert edited(tree_of, b"\xef\xbb\xbfone\ntwo\n", "one\n", "1\n") == b"\xef\xbb\xbf1\ntwo\n"


def test_new_text_with_crlf_does_not_bring_crlf_into_an_lf_file(tree_of):
    assert edited(tree_of, b"one\ntwo\n", "one\r\n", "1\r\nx\r\n") == b"1\nx\ntwo\n"


def test_whole_lines_replaced_by_text_without_its_last_newline_do_not_swallow_the_next_line(tree_of):
    assert edited(tree_of, b"one\ntwo\nthree\n", "two\n", "2") == b"one\n2\nthree\n"


# --- ED-02: exactly once ----------------------------------------------------------------------------------------


def test_a_block_that_stands_twice_is_refused_with_both_line_numbers(tree_of):
    block = "if x:\n    y()\n    z()\n"
    content = "a\n" * 9 + block + "b\n" * 27 + block
    refused = edited(tree_of, content.encode(), block, "pass\n")
    assert isinstance(refused, Refused)
    assert "at lines 10, 40" in refused.reason


def test_part_of_a_line_that_stands_twice_is_refused(tree_of):
    refused = edited(tree_of, CART.encode(), "self.total", "self.sum")
    assert isinstance(refused, Refused)
    assert "lines 5, 9" in refused.reason


def test_a_text_that_is_not_there_is_refused_with_the_closest_real_lines(tree_of):
    refused = edited(tree_of, CART.encode(), "    def add(self, item):\n        self.items.append(item)\n", "pass\n")
    assert isinstance(refused, Refused)
    assert (
        "2|     def add(self, item):\n3|         # keep the order\n4|         self.items.append(item)" in refused.remedy
    )


def test_a_typo_is_never_placed_by_likeness(tree_of):
    refused = edited(tree_of, CART.encode(), "        self.items.apend(item)\n", "        pass\n")
    assert isinstance(refused, Refused)
    assert "4|         self.items.append(item)" in refused.remedy


def test_an_edit_made_before_is_said_to_be_so_and_not_made_twice(tree_of):
    tree = tree_of({"a.py": CART.encode()})
    step = Overlay(tree).begin(Fence({"a.py": "change"}))
    new = "        self.total += item.price\n        self.dirty = True\n"
    assert step.replace("a.py", "        self.total += item.price\n", new) == Applied("Replaced at line 5 of a.py.")
    again = step.replace("a.py", "        self.total += item.price\n", new)
    assert isinstance(again, Applied) and not again.fresh
    assert step.read("a.py").count(b"dirty") == 1


def test_a_wrong_search_text_whose_result_is_there_already_counts_as_done(tree_of):
    step = Overlay(tree_of({"a.py": CART.encode()})).begin(Fence({"a.py": "change"}))
    done = step.replace("a.py", "            self.items.append(item)\n", "        self.items.append(item)\n")
    assert isinstance(done, Applied) and not done.fresh and "line 4" in done.said
    assert step.keep() == Allowed()


# --- other spellings of the same lines --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            "\tdef add(self, item):\n\t\t# keep the order\n",
            "\tdef add(self, item):\n\t\t# in order\n",
            "        # in order",
        ),
        ("                # keep the order\n", "                # in order\n", "        # in order"),
        (
            "# keep the order\n        self.items.append(item)  \n",
            "# in order\n        self.items.append(item)\n",
            None,
        ),
        ("3|         # keep the order\n", "3|         # in order\n", "        # in order"),
        (
            "    # keep the order\\n        self.items.append(item)\\n",
            "    # in order\\n        pass\\n",
            "        pass",
        ),
    ],
    ids=["tabs", "too deep", "first indent lost", "pasted line numbers", "doubled escapes"],
)
def test_a_block_in_another_spelling_is_written_with_the_indents_of_the_file(tree_of, old, new, line):
    after = edited(tree_of, CART.encode(), old, new)
    assert isinstance(after, bytes)
    text = after.decode()
    assert "# in order" in text and "# keep" not in text
    assert (line or "        # in order") in text.split("\n")


def test_escapes_are_undone_only_when_the_raw_text_is_not_there(tree_of):
    assert edited(tree_of, b"if a &lt; b: go()\nif a < b: go()\n", "if a &lt; b: go()\n", "x\n") == (
        b"x\nif a < b: go()\n"
    )
    assert edited(tree_of, b"if a < b: go()\n", "if a &lt; b: go()\n", "if a &lt;= b: go()\n") == b"if a <= b: go()\n"


def test_another_spelling_that_fits_in_two_places_is_refused(tree_of):
    content = b"  alpha(beta)\nx\n      alpha(beta)\n"
    refused = edited(tree_of, content, "\talpha(beta)\n", "\tgamma\n")
    assert isinstance(refused, Refused) and "lines 1, 3" in refused.reason


def test_a_block_whose_inner_indents_differ_is_not_placed(tree_of):
    refused = edited(tree_of, b"if alpha:\n    beta()\ngamma()\n", "if alpha:\nbeta()\ngamma()\n", "pass\n")
    assert isinstance(refused, Refused) and "like lines 1 to 3" in refused.reason
    assert "2|     beta()" in refused.remedy


@pytest.mark.parametrize(
    "line", ["    # ... existing code ...", "    // ... rest of the function unchanged", "# rest of code ..."]
)
def test_a_placeholder_for_left_out_code_is_refused(tree_of, line):
    refused = edited(tree_of, CART.encode(), "        # keep the order\n", f"{line}\n")
    assert isinstance(refused, Refused) and "placeholder" in refused.reason


def test_ellipsis_that_is_code_is_no_placeholder(tree_of):
    assert edited(tree_of, b"def f():\n    pass\n", "    pass\n", "    ...\n") == b"def f():\n    ...\n"


def test_an_edit_that_would_empty_the_file_is_refused(tree_of):
    refused = edited(tree_of, CART.encode(), CART, "")
    assert isinstance(refused, Refused) and "empty the whole file" in refused.reason


# --- contents that are not edited as text -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"caf\xe9\n", "not UTF-8 (line 1)"),
        ("café\n".encode("utf-16"), "UTF-16"),
        (b"a\0b\n", "binary"),
        (b"a" * 2_000_001, "larger than"),
    ],
)
def test_a_file_in_another_encoding_is_refused_with_the_reason(tree_of, content, why):
    refused = edited(tree_of, content, "a", "b")
    assert isinstance(refused, Refused) and why in refused.reason


def test_a_lone_surrogate_from_a_model_is_refused(tree_of):
    refused = edited(tree_of, b"one\n", "one\n", "\ud800\n")
    assert isinstance(refused, Refused) and "Unicode" in refused.reason


# --- ED-03: modes -----------------------------------------------------------------------------------------------


def test_an_edited_script_stays_executable_and_a_new_file_is_not(tree_of):
    overlay = Overlay(tree_of({"scripts/run.sh": b"#!/bin/sh\necho 1\n"}, {"scripts/run.sh": "100755"}))
    fence = Fence({"scripts/run.sh": "change", "scripts/new.sh": "create"})
    edits = [Replace("scripts/run.sh", "echo 1", "echo 2"), Create("scripts/new.sh", "#!/bin/sh\n")]
    assert overlay.apply_all(fence, edits) == Allowed()
    assert [(change.path, change.mode, change.kind) for change in overlay.changes()] == [
        ("scripts/new.sh", "100644", "create"),
        ("scripts/run.sh", "100755", "change"),
    ]


def test_a_moved_script_stays_executable_and_may_be_edited_where_it_went(tree_of):
    overlay = Overlay(tree_of({"run.sh": b"echo 1\n"}, {"run.sh": "100755"}))
    step = MoveFile(id=1, path="run.sh", to="bin/run.sh", intent="tidy", done_when="moved")
    edits = [Move("run.sh", "bin/run.sh"), Replace("bin/run.sh", "echo 1", "echo 2")]
    assert overlay.apply_all(Fence.of(step), edits) == Allowed()
    (change,) = overlay.changes()
    assert (change.kind, change.path, change.old_path, change.mode) == ("move", "bin/run.sh", "run.sh", "100755")
    assert change.content == b"echo 2\n"


# --- ED-04: a step is a transaction -----------------------------------------------------------------------------


def test_no_edit_of_a_step_survives_when_its_third_one_fails(tree_of):
    overlay = Overlay(tree_of({"a.py": b"one\n", "b.py": b"two\n"}))
    edits = [Replace("a.py", "one", "1"), Replace("b.py", "two", "2"), Replace("a.py", "no such line", "x")]
    refused = overlay.apply_all(Fence({"a.py": "change", "b.py": "change"}), edits)
    assert isinstance(refused, Refused)
    assert refused.reason.startswith("Edit 3 (replace in a.py):")
    assert overlay.changes() == ()
    assert (overlay.read("a.py"), overlay.read("b.py")) == (b"one\n", b"two\n")


def test_a_step_is_not_kept_while_an_edit_is_owed_and_is_once_it_was_made(tree_of):
    overlay = Overlay(tree_of({"a.py": b"one\ntwo\n"}))
    step = overlay.begin(Fence({"a.py": "change"}))
    assert isinstance(step.replace("a.py", "three", "3"), Refused)
    owed = step.keep()
    assert isinstance(owed, Refused) and "a.py was not made" in owed.reason
    assert overlay.changes() == ()
    assert isinstance(step.replace("a.py", "two", "2"), Applied)
    assert step.keep() == Allowed()
    assert overlay.read("a.py") == b"one\n2\n"


def test_a_dropped_step_leaves_nothing_and_its_own_reads_see_its_edits(tree_of):
    overlay = Overlay(tree_of({"a.py": b"one\n"}))
    step = overlay.begin(Fence({"a.py": "change"}))
    step.replace("a.py", "one", "1")
    assert (step.read("a.py"), overlay.read("a.py")) == (b"1\n", b"one\n")


def test_a_step_begun_before_another_one_was_kept_cannot_overwrite_it(tree_of):
    overlay = Overlay(tree_of({"a.py": b"one\n", "b.py": b"two\n"}))
    late, early = overlay.begin(Fence({"a.py": "change"})), overlay.begin(Fence({"b.py": "change"}))
    early.replace("b.py", "two", "2")
    late.replace("a.py", "one", "1")
    early.keep()
    with pytest.raises(RuntimeError, match="another step"):
        late.keep()


def test_a_step_that_breaks_a_file_is_not_kept(tree_of):
    overlay = Overlay(tree_of({"a.py": b"fine\n"}), broken_at=lambda _, content: 1 if b"broken" in content else None)
    refused = overlay.apply_all(Fence({"a.py": "change"}), [Replace("a.py", "fine", "broken")])
    assert isinstance(refused, Refused) and "no longer parses: see line 1" in refused.reason
    assert overlay.changes() == ()


def test_a_file_that_was_broken_before_may_be_edited(tree_of):
    overlay = Overlay(tree_of({"a.py": b"broken\n"}), broken_at=lambda _, content: 1 if b"broken" in content else None)
    assert overlay.apply_all(Fence({"a.py": "change"}), [Replace("a.py", "broken\n", "broken 2\n")]) == Allowed()


# --- the fence and PI-03: links ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        Replace("tax.py", "one", "1"),
        Create("new.py", "x\n"),
        Delete("a.py"),
        Move("a.py", "b.py"),
        Create("a.py", "x\n"),
        Create("../up.py", "x\n"),
        Create(".GIT/hooks/pre-commit", "x\n"),
        Create("a.py/below.py", "x\n"),
    ],
    ids=lambda edit: f"{type(edit).__name__} {edit.path}",
)
def test_what_the_step_does_not_name_is_refused_by_path(tree_of, edit):
    overlay = Overlay(tree_of({"a.py": b"one\n", "tax.py": b"one\n"}))
    refused = overlay.apply_all(Fence({"a.py": "change"}), [edit])
    assert isinstance(refused, Refused) and edit.path in refused.reason
    assert overlay.changes() == ()


def test_links_and_everything_below_them_are_refused_dangling_ones_too(tree_of):
    tree = tree_of(
        {"notes.md": b"../secret", "data": b"/etc", "fresh.txt": b"/nowhere/x", "vendored": b""},
        {"notes.md": "120000", "data": "120000", "fresh.txt": "120000", "vendored": "160000"},
    )
    tried = {
        Replace("notes.md", "../secret", "x"): "notes.md is a link",
        Create("data/x.conf", "x\n"): "data is a link",
        Create("fresh.txt", "x\n"): "fresh.txt is a link",
        Delete("notes.md"): "notes.md is a link",
        Move("fresh.txt", "old.txt"): "fresh.txt is a link",
        Create("vendored/x.py", "x\n"): "vendored is a submodule",
    }
    for edit, why in tried.items():
        overlay = Overlay(tree)
        kind = {Replace: "change", Create: "create", Delete: "delete", Move: "move"}[type(edit)]
        moves = {edit.path: edit.to} if isinstance(edit, Move) else {}
        refused = overlay.apply_all(Fence({edit.path: kind}, moves), [edit])
        assert isinstance(refused, Refused) and why in refused.reason
        assert overlay.changes() == ()


def test_a_sibling_test_may_be_changed_or_created_but_not_deleted(tree_of):
    fence = Fence({"a.py": "change"}, beside=lambda path: path.startswith("tests/"))
    overlay = Overlay(tree_of({"a.py": b"one\n", "tests/test_a.py": b"x = 1\n"}))
    edits = [Replace("tests/test_a.py", "x = 1", "x = 2"), Create("tests/test_b.py", "y = 1\n")]
    assert overlay.apply_all(fence, edits) == Allowed()
    assert isinstance(overlay.apply_all(fence, [Delete("tests/test_a.py")]), Refused)


def test_a_planned_creation_may_not_change_a_file_that_stood_there(tree_of):
    overlay = Overlay(tree_of({"a.py": b"one\n"}))
    fence = Fence({"a.py": "create"})
    assert isinstance(overlay.apply_all(fence, [Create("a.py", "x\n")]), Refused)
    assert isinstance(overlay.apply_all(fence, [Replace("a.py", "one", "1")]), Refused)


def test_a_file_edited_back_to_what_it_was_is_no_change(tree_of):
    overlay = Overlay(tree_of({"a.py": b"one\n"}))
    fence = Fence({"a.py": "change"})
    overlay.apply_all(fence, [Replace("a.py", "one", "two")])
    overlay.apply_all(fence, [Replace("a.py", "two", "one")])
    assert overlay.changes() == ()


# --- properties -------------------------------------------------------------------------------------------------

LINE = st.text("ab \t(é", max_size=4)
ENDING = st.sampled_from(["\n", "\r\n"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    lines = draw(st.lists(st.tuples(LINE, ENDING), min_size=1, max_size=7))
    return "".join(line + ending for line, ending in lines) + draw(LINE)


@settings(max_examples=120, deadline=None)
@given(raw=texts(), marked=st.booleans(), cut=st.tuples(st.integers(0, 60), st.integers(1, 30)), new=texts())
def test_an_exact_edit_changes_nothing_outside_its_lines_and_nothing_about_the_end(tree_of, raw, marked, cut, new):
    plain = raw.replace("\r\n", "\n")
    old = plain[cut[0] : cut[0] + cut[1]]
    mark = b"\xef\xbb\xbf" if marked else b""
    after = edited(tree_of, mark + raw.encode(), old, new)
    if isinstance(after, Refused):
        return
    assert after.startswith(mark)
    text = after.decode("utf-8-sig" if marked else "utf-8")
    if plain.count(old) == 1 and text != raw:
        at = plain.index(old)
        before, behind = plain.count("\n", 0, at), plain.count("\n", at + len(old))
        stays = "".join(line + "\n" for line in raw.split("\n")[:before])
        if behind == 0 and not raw.endswith("\n"):
            # Where nothing is left of the last line, the one before it is the last now and ends as that did.
            stays = stays.rstrip("\r\n")
        assert text.startswith(stays)
        assert behind <= 1 or text.split("\n")[-behind + 1 :] == raw.split("\n")[-behind + 1 :]
    # A blank line before a last one that is gone is the last now, and stays as it was.
    assert not text or text.endswith("\n") == raw.endswith("\n") or raw.startswith(text)


@settings(max_examples=60, deadline=None)
@given(raw=texts(), start=st.integers(0, 6), count=st.integers(1, 3), new=st.lists(LINE, max_size=3))
def test_a_file_whose_lines_end_in_returns_alone_is_edited_as_any_other(tree_of, raw, start, count, new):
    plain = raw.replace("\r\n", "\n")
    old = "".join(line + "\n" for line in plain.split("\n")[start : start + count])
    wanted = "".join(line + "\n" for line in new)
    with_feeds = edited(tree_of, plain.encode(), old, wanted)
    with_returns = edited(tree_of, plain.replace("\n", "\r").encode(), old, wanted)
    if isinstance(with_feeds, Refused):
        assert isinstance(with_returns, Refused) and with_returns.reason == with_feeds.reason
    else:
        assert with_returns == with_feeds.replace(b"\n", b"\r")


PATHS = st.sampled_from(["a", "b", "c/d", "e"])
EDITS = st.one_of(
    st.builds(Replace, PATHS, st.sampled_from(["one", "two", "x"]), st.sampled_from(["two", "three", ""])),
    st.builds(Create, PATHS, st.sampled_from(["one\n", "x\n", ""])),
    st.builds(Delete, PATHS),
    st.builds(Move, PATHS, PATHS),
)


class _Open(dict):
    """Allows every kind for every path: for the property below the fence is not the question."""

    def __init__(self, kind: str) -> None:
        super().__init__(dict.fromkeys(("a", "b", "c/d", "e"), kind))


@settings(max_examples=200, deadline=None)
@given(edits=st.lists(EDITS, max_size=12))
def test_the_changes_of_an_overlay_lead_from_the_base_to_exactly_its_state(tree_of, edits):
    base = {"a": b"one\n", "b": b"two\r\nx", "c/d": b""}
    overlay = Overlay(tree_of(dict(base), {"b": "100755"}))
    for edit in edits:
        kind = {Replace: "change", Create: "create", Delete: "delete", Move: "move"}[type(edit)]
        moves = {edit.path: edit.to} if isinstance(edit, Move) else {}
        overlay.apply_all(Fence(_Open(kind), moves), [edit])
    state = dict(base)
    changes = overlay.changes()
    for change in changes:
        if change.old_path is not None:
            assert state.pop(change.old_path) == base[change.old_path]
        elif change.kind != "create":
            assert change.path in base
    for change in changes:
        if change.content is None:
            del state[change.path]
        else:
            state[change.path] = change.content
    seen = {path: overlay.read(path) for path in ("a", "b", "c/d", "e") if overlay.entry(path) is not None}
    assert state == seen
    named = [path for change in changes for path in (change.path, change.old_path) if path]
    assert len(named) == len(set(named))
