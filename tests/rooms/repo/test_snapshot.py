"""Against real git objects. GT-03 and PI-03 are field cases."""

import os
import unicodedata

import pytest

from app.core.verdict import Allowed, Refused
from worker.repo import reading
from worker.repo.difference import unified_diff
from worker.repo.edits import Overlay
from worker.repo.export import TreeWriter, materialise
from worker.repo.fence import Create, Delete, Fence, Move, Replace
from worker.repo.searching import Query
from worker.repo.snapshot import Snapshot, TooLarge, UnsafeTree
from worker.repo.symbols import SymbolCache

COMPOSED = unicodedata.normalize("NFC", "docs/café menu.md")
DECOMPOSED = unicodedata.normalize("NFD", "docs/café menu.md")
ODD = "docs/x b/y.md"
RAW = os.fsdecode(b"docs/\xff.md")

FILES = {
    COMPOSED: b"composed\n",
    DECOMPOSED: b"decomposed\n",
    ODD: b"odd\n",
    RAW: b"raw bytes\n",
    "src/app.py": b"""'The app.'

LIMIT = 3


class Shop:
    def sell(self):
        return LIMIT


def main():
    pass
""",
    "src/deep/logo.png": b"\x89PNG\0\0",
    "run.sh": ("100755", b"#!/bin/sh\n"),
    "notes.md": ("120000", b"../../etc/passwd"),
    "vendor/lib": ("160000", b"1" * 40),
    ".gitattributes": b"docs export-ignore\n*.md text eol=crlf\n*.py filter=lfs ident export-subst\n",
}


def test_paths_are_listed_byte_for_byte_and_none_is_dropped(snapshot_of):
    snapshot = snapshot_of(FILES)
    assert {entry.path for entry in snapshot.list()} == set(FILES)
    assert snapshot.read(COMPOSED) == b"composed\n"
    assert snapshot.read(DECOMPOSED) == b"decomposed\n"
    assert snapshot.read(RAW) == b"raw bytes\n"
    assert snapshot.entry("run.sh").mode == "100755"
    assert [entry.path for entry in snapshot.list("src", "*.py")] == ["src/app.py"]
    assert [entry.path for entry in snapshot.list(glob="src/**/*.png")] == ["src/deep/logo.png"]


def test_exactly_the_edited_ones_of_two_alike_names_change(snapshot_of, tmp_path):
    snapshot = snapshot_of(FILES)
    overlay = Overlay(snapshot)
    fence = Fence({COMPOSED: "change", ODD: "change"})
    assert overlay.apply_all(fence, [Replace(COMPOSED, "composed", "new"), Replace(ODD, "odd", "even")]) == Allowed()
    assert [change.path for change in overlay.changes()] == sorted([COMPOSED, ODD])
    materialise(snapshot, overlay.changes(), tmp_path / "tree")
    assert (tmp_path / "tree" / COMPOSED).read_bytes() == b"new\n"
    assert (tmp_path / "tree" / DECOMPOSED).read_bytes() == b"decomposed\n"
    assert (tmp_path / "tree" / ODD).read_bytes() == b"even\n"


def test_an_export_is_the_tree_itself_whatever_its_attributes_say(snapshot_of, tmp_path):
    snapshot = snapshot_of(FILES)
    outside = tmp_path / "outside"
    outside.write_text("secret")
    snapshot.export(tmp_path / "tree")
    tree = tmp_path / "tree"
    for path, value in FILES.items():
        if isinstance(value, bytes):
            assert (tree / path).read_bytes() == value
    assert (tree / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (tree / "src/app.py").stat().st_mode & 0o777 == 0o644
    assert os.readlink(tree / "notes.md") == "../../etc/passwd"
    assert list((tree / "vendor/lib").iterdir()) == []
    assert not (tree / ".git").exists()


@pytest.mark.parametrize("bad", ["a\x01b", "sub/ｇｉｔ~1/config", ".ｇｉｔ/config"])
def test_a_tree_with_a_dangerous_path_is_listed_and_not_exported(snapshot_of, tmp_path, bad):
    snapshot = snapshot_of({"a": b"1", bad: b"2"})
    assert len(snapshot.list()) == 2
    with pytest.raises(UnsafeTree):
        snapshot.export(tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


def test_a_tree_beyond_the_limit_is_not_exported(snapshot_of, tmp_path):
    with pytest.raises(TooLarge):
        snapshot_of({"a": b"1" * 1000}).export(tmp_path / "tree", limit_bytes=999)


def test_a_snapshot_of_a_commit_that_is_not_there_is_a_key_error(mirror):
    with pytest.raises(KeyError):
        Snapshot(mirror, "1" * 40)


def test_an_open_snapshot_keeps_its_mirror(snapshot_of, mirrors):
    snapshot = snapshot_of(FILES)
    assert mirrors.keep_under(0) == ()
    snapshot.close()
    assert len(mirrors.keep_under(0)) == 1


def test_many_blobs_come_in_order_and_whole(snapshot_of):
    files = {f"f{number:04}": os.urandom(number) + b"\n" for number in range(300)}
    snapshot = snapshot_of(files)
    assert {entry.path: content for entry, content in snapshot.read_many(snapshot.list())} == files


# --- search -----------------------------------------------------------------------------------------------------


def test_a_search_counts_all_and_shows_the_first(snapshot_of):
    snapshot = snapshot_of({f"f{number}.txt": b"needle\nhay\nneedle\n" for number in range(9)})
    found = snapshot.search(Query("needle", limit=5))
    assert (len(found.hits), found.lines, found.files) == (5, 18, 9)
    text = reading.search(snapshot, None, Query("needle", limit=5))
    assert text.startswith("18 matching lines in 9 files; the first 5 are shown")


def test_a_search_is_not_fooled_by_options_specs_or_odd_names(snapshot_of):
    snapshot = snapshot_of({"-O": b"--open\n", ":(glob)**": b"x --open\n", "a\nb": b"--open\n", COMPOSED: b"--open\n"})
    found = snapshot.search(Query("--open"))
    assert {hit.path for hit in found.hits} == {"-O", ":(glob)**", "a\nb", COMPOSED}
    assert [hit.path for hit in snapshot.search(Query("--open", path=":(glob)**")).hits] == [":(glob)**"]


def test_a_regex_is_perl_compatible_and_a_bad_one_is_refused(snapshot_of):
    snapshot = snapshot_of({"a": b"x = 12\nx = y\n"})
    assert [hit.line for hit in snapshot.search(Query(r"x = \d+$", "regex")).hits] == [1]
    assert [hit.line for hit in snapshot.search(Query(r"x = \d+$")).hits] == []
    assert isinstance(reading.search(snapshot, None, Query("(", "regex")), Refused)
    assert isinstance(reading.search(snapshot, None, Query("", "regex")), Refused)
    assert isinstance(reading.search(snapshot, None, Query("a\nb")), Refused)


def test_a_search_on_a_step_sees_its_edits_and_nothing_of_what_it_replaced(snapshot_of):
    snapshot = snapshot_of({"a/x": b"old word\n", "b": b"word\n", "c": b"gone word\n", "d": b"moved word\n"})
    overlay = Overlay(snapshot)
    fence = Fence({"a/x": "change", "c": "delete", "n": "create", "d": "move"}, {"d": "e"})
    edits = [Replace("a/x", "old word", "new word"), Delete("c"), Create("n", "a word\n"), Move("d", "e")]
    assert overlay.apply_all(fence, edits) == Allowed()
    text = reading.search(snapshot, overlay, Query("word"))
    assert text.split("\n")[1:] == ["a/x:1: new word", "b:1: word", "e:1: moved word", "n:1: a word"]
    assert text.startswith("4 matching lines in 4 files")
    assert reading.search(snapshot, overlay, Query("word", path="a")).split("\n")[1:] == ["a/x:1: new word"]


# --- answers for a model ----------------------------------------------------------------------------------------


def test_a_file_is_read_with_line_numbers_and_says_where_it_was_cut(snapshot_of):
    snapshot = snapshot_of({"long": b"".join(b"line %d\n" % n for n in range(1, 1001)), "wide": b"x" * 5_000})
    assert reading.read_file(snapshot, "long", 10, 11) == "long, lines 10-11 of 1,000\n10| line 10\n11| line 11"
    whole = reading.read_file(snapshot, "long")
    assert whole.startswith("long, lines 1-400 of 1,000; cut at the limit, read on from line 401\n")
    assert "[4,600 more characters]" in reading.read_file(snapshot, "wide")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("notes.md", "notes.md is a link to ../../etc/passwd (not followed)"),
        ("vendor/lib", "submodule"),
        ("src/deep/logo.png", "binary file of 6 bytes"),
        ("src", "is a folder"),
        ("nothing", "does not exist"),
        ("../up", "does not exist"),
        ("/etc/passwd", "does not exist"),
    ],
)
def test_what_is_no_text_file_of_the_tree_is_refused_by_name(snapshot_of, path, why):
    snapshot = snapshot_of(FILES)
    refused = reading.read_file(snapshot, path)
    assert isinstance(refused, Refused) and why in refused.reason
    assert isinstance(reading.verify_citation(snapshot, path, 1, 1), Refused)


def test_a_citation_is_allowed_only_for_lines_that_exist(snapshot_of):
    snapshot = snapshot_of({"a": b"1\n2\n3", "empty": b"", "long": b"x\n" * 1000})
    assert reading.verify_citation(snapshot, "a", 1, 3) == Allowed()
    assert reading.verify_citation(snapshot, "long", 601, 1000) == Allowed()
    for path, start, end in [("a", 3, 4), ("a", 0, 1), ("a", 2, 1), ("long", 1, 401), ("empty", 1, 1)]:
        assert isinstance(reading.verify_citation(snapshot, path, start, end), Refused)


def test_a_long_listing_says_what_is_left_out_and_where(snapshot_of):
    snapshot = snapshot_of({f"d{number % 3}/f{number:04}": b"x" for number in range(400)})
    text = reading.list_files(snapshot)
    assert "100 more of 400 files" in text and "  d2/" in text
    assert isinstance(reading.list_files(snapshot, "nowhere"), Refused)


def test_names_that_cannot_be_seen_are_listed_in_quotes(snapshot_of):
    text = reading.list_files(snapshot_of({"a\u200bb": b"", "c d": b""}))
    assert '"a\\u200bb"' in text and "\nc d  0 bytes" in text


def test_symbols_are_found_by_file_and_by_name_and_kept_by_blob(snapshot_of, tmp_path):
    snapshot = snapshot_of(FILES)
    cache = SymbolCache(tmp_path / "cache" / "symbols.sqlite")
    assert reading.symbols(snapshot, cache, snapshot, "src/app.py").split("\n") == [
        "3-3 value LIMIT",
        "6-8 class Shop",
        "7-8 method Shop.sell",
        "11-12 function main",
    ]
    assert reading.symbols(snapshot, cache, snapshot, name="SELL") == "src/app.py: 7-8 method Shop.sell"
    assert isinstance(reading.symbols(snapshot, cache, snapshot, name="nope"), Refused)
    assert isinstance(reading.symbols(snapshot, cache, snapshot, "run.sh"), Refused)

    class Unreadable:
        entry = staticmethod(snapshot.entry)

        def read(self, path: str) -> bytes:
            raise AssertionError("the file was parsed again")

    assert len(SymbolCache(tmp_path / "cache" / "symbols.sqlite").symbols(Unreadable(), "src/app.py")) == 4


def test_a_damaged_symbol_cache_decides_nothing(snapshot_of, tmp_path):
    (tmp_path / "symbols.sqlite").write_bytes(b"no database" * 100)
    cache = SymbolCache(tmp_path / "symbols.sqlite")
    assert len(cache.symbols(snapshot_of(FILES), "src/app.py")) == 4


# --- patches ----------------------------------------------------------------------------------------------------


def test_git_applies_the_unified_diff_and_gets_the_overlays_tree(snapshot_of, origin, tmp_path):
    files = {
        COMPOSED: b"one\ntwo\nthree",
        ODD: b"".join(b"%d\n" % number for number in range(60)),
        "gone": b"x\n",
        "old name.sh": ("100755", b"a\nb\nc\nd\ne\n"),
        'qu"ote': b"q\n",
        "crlf": b"a\r\nb\r\n",
    }
    snapshot = snapshot_of(files)
    overlay = Overlay(snapshot)
    kinds = {COMPOSED: "change", ODD: "change", "gone": "delete", "new": "create", "old name.sh": "move"}
    fence = Fence(kinds | {'qu"ote': "change", "crlf": "change"}, {"old name.sh": "new name.sh"})
    edits = [
        Replace(COMPOSED, "three", "3"),
        Replace(ODD, "5\n6\n7\n", "five\n7\n"),
        Replace(ODD, "\n50\n", "\n50\nmore\n"),
        Delete("gone"),
        Create("new", "n"),
        Move("old name.sh", "new name.sh"),
        Replace("new name.sh", "c", "C"),
        Replace('qu"ote', "q", "Q"),
        Replace("crlf", "b", "B"),
    ]
    assert overlay.apply_all(fence, edits) == Allowed()
    materialise(snapshot, overlay.changes(), tmp_path / "wanted")
    snapshot.export(tmp_path / "tree")
    (tmp_path / "p.diff").write_bytes(unified_diff(snapshot, overlay.changes()).encode("utf-8", "surrogateescape"))
    origin.git(f"--work-tree={tmp_path / 'tree'}", "-C", str(tmp_path / "tree"), "apply", str(tmp_path / "p.diff"))
    assert _contents(tmp_path / "tree") == _contents(tmp_path / "wanted")


def _contents(directory):
    return {
        str(path.relative_to(directory)): (path.stat().st_mode & 0o777, path.read_bytes())
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_a_link_where_a_folder_is_needed_ends_the_writing_and_leads_nowhere(tmp_path):
    outside, tree = tmp_path / "outside", tmp_path / "tree"
    outside.mkdir()
    tree.mkdir()
    with TreeWriter(tree) as writer:
        writer.write("data", "120000", b"../outside")
        writer.write("fresh", "120000", b"../outside/new")
        for path in ("data/x.conf", "data/deep/x.conf", "fresh"):
            with pytest.raises(OSError, match=r"data|fresh"):
                writer.write(path, "100644", b"x")
        with pytest.raises(OSError, match=r"data|fresh"):
            writer.folder("data")
    assert list(outside.iterdir()) == []


def test_nothing_is_left_of_a_directory_that_could_not_be_materialised(snapshot_of, tmp_path):
    snapshot = snapshot_of({"a": b"1\n", "A/b": b"2\n"})
    overlay = Overlay(snapshot)
    overlay.apply_all(Fence({"a": "delete"}), [Delete("a")])
    (change,) = overlay.changes()
    with pytest.raises(OSError, match="a"):
        materialise(snapshot, (change, change), tmp_path / "tree")
    assert not (tmp_path / "tree").exists()
