"""What git would not see of a tree is told by git itself, by the ignore files as they are to be."""

from worker.repo.edits import Overlay
from worker.repo.fence import Create, Fence, Replace
from worker.repo.ignoring import ignored_among

RULES = b"# made\n*.log\n/build/\n!keep.log\n\\#odd\nca[ck]he\n"
FILES = {".gitignore": RULES, "a.py": b"a\n", "lib/.gitignore": b"*.tmp\n!/build/\n", "old.log": b"tracked\n"}


def test_the_line_that_hides_a_file_is_told_with_it(snapshot_of):
    tree = snapshot_of(FILES)
    asked = (
        "new.log", "keep.log", "build/x/y.py", "lib/build/x.py", "lib/x.tmp", "x.tmp", "#odd", "cache/a b\n.py",
        ":(top)x.log", "ok.py",
    )  # fmt: skip
    found = ignored_among(tree.git, tree, asked)
    assert found == {
        "new.log": "*.log", "build/x/y.py": "/build/", "lib/x.tmp": "*.tmp", "#odd": "\\#odd",
        "cache/a b\n.py": "ca[ck]he", ":(top)x.log": "*.log",
    }  # fmt: skip


def test_the_ignore_files_count_as_the_change_leaves_them_and_a_link_is_none(snapshot_of):
    tree = snapshot_of({**FILES, "linked/.gitignore": ("120000", b"../.gitignore")})
    overlay = Overlay(tree)
    fence = Fence({".gitignore": "change", "src/.gitignore": "create"})
    overlay.apply_all(fence, [Replace(".gitignore", "*.log\n", ""), Create("src/.gitignore", "*\n")])
    assert ignored_among(tree.git, overlay, ("new.log", "src/deep/a.py")) == {"src/deep/a.py": "*"}
    assert ignored_among(tree.git, tree, ("linked/build/a.py", "linked/a.log")) == {"linked/a.log": "*.log"}
    assert ignored_among(tree.git, tree, ()) == {}
