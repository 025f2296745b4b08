import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.patch import Patch
from app.core.verdict import Allowed
from worker.repo import globs
from worker.repo.difference import changed_lines, file_changes
from worker.repo.edits import Overlay
from worker.repo.fence import Create, Delete, Fence, Move, Replace
from worker.repo.globs import glob_pattern
from worker.repo.symbols import extract, language_of, parser_of
from worker.repo.syntax import broken_at, lost_definitions

SOURCES = {
    "a.py": ("LIMIT = 1\nclass A:\n    x = 2\n    async def f(self):\n        def inner(): pass\n", "LIMIT A A.f"),
    "a.js": ("function f() {}\nclass A { g() {} }\nconst h = (x) => x;\nconst n = 1;\n", "f A A.g h"),
    "a.ts": (
        "interface I { x: number }\ntype T = string;\nenum E { A }\nabstract class A { f(): void {} }\n",
        "I T E A A.f",
    ),
    "a.tsx": ("export const Card = () => <b/>;\n", "Card"),
    "a.go": ("package p\ntype T struct{}\nfunc (t T) M() {}\nfunc F() {}\n", "T M F"),
    "A.java": ("class A { A() {} void f() {} interface I {} }\nrecord R(int x) {}\n", "A A.A A.f A.I R"),
    "a.rs": ("struct S;\nimpl S { fn f() {} }\ntrait T { fn g(); }\nmod m { fn h() {} }\n", "S S S.f T T.g m m.h"),
    "a.rb": ("module M\n class A\n  def f; end\n  def self.g; end\n end\nend\n", "M M.A M.A.f M.A.g"),
    "a.c": ("struct s { int x; };\nstatic int *f(struct s *p) { return 0; }\n#define M(x) x\n", "s f M"),
    "a.cpp": ("namespace n { class A { void f() {} }; }\nint A::g() { return 1; }\n", "n n.A n.A.f A::g"),
}


@pytest.mark.parametrize("path", SOURCES)
def test_the_definitions_of_each_language_are_found_in_order(path):
    source, names = SOURCES[path]
    assert " ".join(symbol.name for symbol in extract(language_of(path), source.encode())) == names


def test_names_of_what_is_nested_without_end_stay_short():
    found = extract("rust", b"mod a{" * 3_000 + b"}" * 3_000)
    assert len(found) == 3_000 and found[1].name == "a.a"
    assert max(len(one.name) for one in found) < 1_000


def test_each_thread_has_a_parser_of_its_own():
    """Scouts parse side by side, and a parser works on one text at a time."""
    here = parser_of("python")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(parser_of, "python").result() is not here
    assert parser_of("python") is here


def test_an_unknown_ending_has_no_language():
    assert language_of("README") is None and language_of("a.unknown") is None and language_of("py") is None


@pytest.mark.parametrize(
    ("path", "source", "line"),
    [
        ("a.py", "def f():\n    return 1\n", None),
        ("a.py", "def f(:\n    return 1\n", 1),
        ("a.py", "def f():\n    a()\n        b()\n", 3),
        ("a.py", "def f():\na()\n", 2),
        ("a.py", "class A:\n    def f(self):\n    a()\n", 3),
        ("a.py", "if x:\n    # only a comment\n    y = {\n  'a': 1,\n    }\nelse: z()\n", None),
        ("a.js", "function f() { return 1 }\n", None),
        ("a.js", "function f( { return 1 \n", 1),
        ("a.txt", "def f(:\n", None),
    ],
)
def test_the_first_line_that_does_not_parse_is_named(path, source, line):
    assert broken_at(path, source.encode()) == line


@pytest.mark.parametrize(
    ("path", "before", "after", "lost"),
    [
        ("a.py", "def f(): pass\ndef g(): pass\n", "def g():\n    return 1\n", ["f 1"]),
        (
            "a.py",
            "class A:\n    def f(self): pass\n    def g(self): pass\n",
            "class A:\n    def g(self): pass\n",
            ["A.f 2"],
        ),
        ("a.py", "def f(): pass\n", "def f(): return 1\ndef h(): pass\n", []),
        ("a.py", "LIMIT = 1\n", "LIMIT_2 = 1\n", ["LIMIT 1"]),
        ("A.java", "class A { void f() {}\nvoid f(int x) {} }\n", "class A { void f(int x) {} }\n", ["A.f 2"]),
        ("a.txt", "def f(): pass\n", "", []),
        ("a.py", "def f(): pass\n", "", ["f 1"]),
    ],
)
def test_definitions_that_a_file_lost_are_named_with_their_old_lines(path, before, after, lost):
    found = lost_definitions(path, before.encode(), after.encode())
    assert [f"{one.name} {one.start}" for one in found] == lost


@pytest.mark.parametrize(
    ("glob", "fits", "fails"),
    [
        ("*.py", ["a.py", "x/a.py"], ["a.pyc", "a.py/x"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "x/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py"]),
        ("docs/", ["docs/a", "docs/x/a"], ["a/docs/x", "docs"]),
        ("[ab]?.t", ["a1.t"], ["c1.t", "a.t"]),
        ("[!a].t", ["b.t"], ["a.t", "/.t"]),
        ("a+(b)^", ["a+(b)^"], ["aab"]),
        ("[", ["["], ["a"]),
        ("[z-a]", [], ["z", "a", "[z-a]"]),
        ("*a*a*/**/*b*.py", ["aa/b.py", "xaxa/y/ab.py"], ["a/b.py", "aa/x.py"]),
        ("*a" * 40 + "b", [], ["a" * 255]),
        ("**/a/" * 40 + "b", [], ["a/" * 100 + "a"]),
    ],
)
def test_a_glob_means_what_people_expect(glob, fits, fails):
    pattern = glob_pattern(glob)
    assert [path for path in fits if not pattern.search(path)] == []
    assert [path for path in fails if pattern.search(path)] == []


@given(
    st.lists(st.sampled_from(["*", "**", "**/", "/", "a", "b", "?", "[ab]", "[!a]", "."]), min_size=1, max_size=9),
    st.text("ab/.", max_size=12),
)
def test_a_glob_with_many_wildcards_means_the_same_as_its_expression(glob, path):
    pieces = globs._pieces("".join(glob))
    assert globs._Positions(pieces).reach_the_end(path) == bool(globs.expression(pieces).fullmatch(path))


def test_changed_lines_are_counted_as_git_does():
    assert changed_lines(b"a\nb\nc\n", b"a\nB\nc\nd\n") == (2, 1)
    assert changed_lines(b"a", b"a\n") == (1, 1)
    assert changed_lines(b"", b"a\nb") == (2, 0)
    assert changed_lines(b"\0a\n", b"b\n") == (0, 0)


def test_the_changes_become_a_patch_whose_contents_are_found_by_hash(tree_of):
    tree = tree_of({"a": b"1\n2\n", "b": b"x\n", "c": b"y\n"})
    overlay = Overlay(tree)
    fence = Fence({"a": "change", "b": "delete", "c": "move", "n": "create"}, {"c": "d"})
    edits = [Replace("a", "2", "two"), Delete("b"), Move("c", "d"), Create("n", "new\n")]
    assert overlay.apply_all(fence, edits) == Allowed()
    kept = {}

    def keep(content: bytes) -> str:
        reference = hashlib.sha256(content).hexdigest()
        kept[reference] = content
        return reference

    patch = Patch(base_commit="c" * 40, changes=file_changes(tree, overlay.changes(), keep))
    told = {change.path: (change.kind, change.added_lines, change.removed_lines) for change in patch.changes}
    assert told == {"a": ("change", 1, 1), "b": ("delete", 0, 1), "d": ("move", 0, 0), "n": ("create", 1, 0)}
    assert kept[patch.changes[0].content_ref] == b"1\ntwo\n"
    assert patch.changed_lines == 4
