"""What `countersign try` makes of a folder of the user's own, and where it leaves a change: without a run."""

import subprocess
from pathlib import Path

import pytest

from infra.demo.local import Kept, Subject, exported, keep_locally
from infra.demo.playing import say
from infra.demo.stage import DemoRefused, Wish, set_up

DIFF = b"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
ISSUE = Path("issue.md")


def git(folder, *words):
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    done = subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "own"
    made.mkdir()
    (made / "a.txt").write_text("one\n")
    return made


@pytest.fixture
def repository(folder):
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def test_a_folder_without_git_is_tried_on_as_it_is_and_only_a_patch_is_left(folder, tmp_path, capsys):
    with exported(folder, ISSUE) as subject:
        assert (subject.tree, subject.commit) == (folder, "")
    keep_locally(subject, tmp_path / "out", DIFF, Kept("", "countersign/issue-1", "A title"))
    assert (tmp_path / "out" / "issue-1.patch").read_bytes() == DIFF and list(folder.iterdir()) == [folder / "a.txt"]
    said = capsys.readouterr().out
    assert "is no git repository with a commit: its files are tried on as they are" in said and "branch" not in said


def test_a_repository_without_a_commit_is_as_a_folder(folder):
    git(folder, "init", "-q")
    with exported(folder, ISSUE) as subject:
        assert (subject.tree, subject.commit) == (folder, "")


def test_what_is_not_committed_is_not_tried_on_and_that_is_said(repository, capsys):
    with exported(repository, ISSUE):
        assert "not committed" not in capsys.readouterr().out
    (repository / "a.txt").write_text("in hand\n")
    (repository / "new.txt").write_text("new\n")
    with exported(repository, ISSUE) as subject:
        assert [(path.name, path.read_text()) for path in subject.tree.iterdir()] == [("a.txt", "one\n")]
    assert f"What is not committed in {repository} is not tried on" in capsys.readouterr().out
    assert not subject.tree.exists() and (repository / "a.txt").read_text() == "in hand\n"


def test_a_clone_is_kept_beside_the_patch_under_a_name_that_nothing_has(repository, tmp_path, capsys):
    out = tmp_path / "out"
    (out / "own-issue-1").mkdir(parents=True)
    subject = Subject(repository, git(repository, "rev-parse", "HEAD"), repository, ISSUE, "own-issue-1")
    keep_locally(subject, out, DIFF, Kept(subject.commit, "countersign/issue-1", "A title"))
    clone = out / "own-issue-1-2"
    assert f"The clone is {clone}" in capsys.readouterr().out and list((out / "own-issue-1").iterdir()) == []
    assert git(clone, "show", "countersign/issue-1:a.txt") == "two" and not repository.exists()


def test_a_change_that_does_not_apply_makes_no_branch_and_says_so(repository, tmp_path, capsys):
    subject = Subject(repository, git(repository, "rev-parse", "HEAD"), repository, ISSUE)
    keep_locally(subject, tmp_path, DIFF.replace(b"one", b"won"), Kept(subject.commit, "countersign/x", "A title"))
    assert "No branch was made (" in capsys.readouterr().out and git(repository, "branch", "--list", "*/x") == ""


def test_an_empty_issue_file_begins_nothing(repository, tmp_path):
    empty = tmp_path / "issue.md"
    empty.write_text(" \n")
    with pytest.raises(DemoRefused, match=r"is empty\. Its first line is the issue's title"):
        set_up(Wish(repository, empty), {"ANTHROPIC_API_KEY": "a key"}, say).__enter__()
