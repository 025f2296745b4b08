import os
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from app.core.patch import FileChange, Patch
from app.core.paths import Protection, is_protected, protection_of, safe_path, shown, unsafe_in_tree
from app.core.verdict import Refused


@pytest.mark.parametrize(
    "path", ["a", "src/app.py", "docs/café menu.md", "x b/y", ".github/x", ".gitignore", "a..b", "...a"]
)
def test_an_ordinary_path_comes_back_byte_for_byte(path):
    assert safe_path(path) == path
    decomposed = unicodedata.normalize("NFD", path)
    assert safe_path(decomposed) == decomposed


@pytest.mark.parametrize(
    "path",
    [
        "", "/", "/etc/passwd", "a//b", "a/", "./a", "a/./b", "../a", "a/../b", "a/..", "..",
        ".git", ".git/config", "a/.git/hooks/x", ".GIT/config", ".Git", ".git.", ".git ", ".git::$INDEX_ALLOCATION",
        "git~1", "GIT~1/config", ".g\u200cit/config", "\ufeff.git", ".ｇｉｔ/config", ".gıt\u200d/../x",
        "a\\b", "..\\a", "C:\\a", "a\nb", "a\0b", "a\x7f", "a\x85b", "trailing ", "dot.", " a", "a /b",
        "zero\u200bwidth", "right\u202eleft", "line\u2028end", "\udcff", "x" * 4_097, "é" * 2_049,
    ],
)  # fmt: skip
def test_31_a_path_that_leaves_hides_or_names_a_git_directory_is_refused(path):
    assert isinstance(safe_path(path), Refused)


@settings(max_examples=300, deadline=None)
@given(st.text("aG.git~1/\\ \u200c\u202e\x00\n\udc80éE", max_size=14))
@example(".git")
def test_what_is_safe_stays_below_the_root_and_never_names_a_git_directory(text):
    answer = safe_path(text)
    if isinstance(answer, Refused):
        assert "\n" not in answer.reason and "\0" not in answer.reason and "\u202e" not in answer.reason
        return
    assert answer == text
    assert os.path.normpath(os.path.join("/root", text)) == "/root/" + text
    assert not any(part.lower() in (".git", "git~1") for part in text.split("/"))
    assert unsafe_in_tree(text) is None


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".github/workflows/ci.yml", Protection.WORKFLOW),
        (".GitHub/Workflows/deep/ci.yml", Protection.WORKFLOW),
        (".gitmodules", Protection.SUBMODULES),
        ("a/.GITMODULES", Protection.SUBMODULES),
        ("GITMOD~1", Protection.SUBMODULES),
        ("GI7EBA~1", Protection.SUBMODULES),
        (".github/countersign.yml", Protection.POLICY),
        ("CODEOWNERS", Protection.CODE_OWNERS),
        (".github/CODEOWNERS", Protection.CODE_OWNERS),
        ("docs/codeowners", Protection.CODE_OWNERS),
        ("web/package-lock.json", Protection.LOCK_FILE),
        ("Cargo.lock", Protection.LOCK_FILE),
        ("src/app.py", None),
        ("src/CODEOWNERS", None),
        (".github/workflows", None),
        ("docs/workflows/ci.yml", None),
    ],
)
def test_protected_paths_are_known_by_their_kind(path, kind):
    assert protection_of(path) == kind
    assert is_protected(path) == (kind is not None)


def test_a_path_is_shown_in_one_line_of_visible_characters():
    assert shown("a\nb\u200b\udcff café") == "a\\u000ab\\u200b\\xff café"


REF = "a" * 64
BLOB = "b" * 40


def test_a_change_fits_its_kind():
    FileChange(kind="change", path="a", mode="100644", content_ref=REF, base_blob=BLOB)
    FileChange(kind="delete", path="a", mode="100644", base_blob=BLOB)
    for wrong in (
        {"kind": "change", "content_ref": REF},
        {"kind": "change", "base_blob": BLOB},
        {"kind": "create", "content_ref": REF, "base_blob": BLOB},
        {"kind": "delete", "content_ref": REF, "base_blob": BLOB},
        {"kind": "move", "content_ref": REF, "base_blob": BLOB},
        {"kind": "create", "content_ref": REF, "path": "../a"},
        {"kind": "create", "content_ref": REF, "mode": "120000"},
    ):
        with pytest.raises(ValidationError):
            FileChange.model_validate({"path": "a", "mode": "100644"} | wrong)


def test_no_two_changes_of_a_patch_name_one_path():
    create = FileChange(kind="create", path="a", mode="100644", content_ref=REF, added_lines=2)
    move = FileChange(
        kind="move", path="b", old_path="a", mode="100644", content_ref=REF, base_blob=BLOB, removed_lines=1
    )
    assert Patch(base_commit="c" * 40, changes=(create,)).changed_lines == 2
    with pytest.raises(ValidationError, match="two changes"):
        Patch(base_commit="c" * 40, changes=(create, move))
