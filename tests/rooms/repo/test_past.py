"""The history as a planner asks it: who last touched these lines and why, since when a text stands, what was done."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.verdict import Refused
from worker.model.conversation import Answer, Failed
from worker.repo import past
from worker.repo.history import PastChange
from worker.repo.reading import READ_CHARACTERS
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache
from worker.repo.tools import ReadTools


@pytest.fixture
def at(git_server, mirror) -> Callable[[str], Snapshot]:
    def opened(commit: str) -> Snapshot:
        mirror.fetch(git_server.remote(), commit)
        return Snapshot(mirror, commit)

    return opened


def numbered(**changed: str) -> bytes:
    lines = [changed.get(f"_{number}", f"{number}") for number in range(1, 30)]
    return "".join(f"{line}\n" for line in lines).encode()


def subjects(answer) -> list[str]:
    assert isinstance(answer, str), answer
    return [found[1] for row in answer.split("\n") if (found := re.search(r"mira: (.*?)(?: \[| \(the|$)", row))]


def test_history_names_the_commits_of_a_file_and_of_its_lines(origin, at):
    origin.commit({"a": numbered()}, "start")
    origin.commit({"a": numbered(_20="twenty")}, "line twenty")
    with at(origin.commit({"b": numbered(_20="twenty")}, "renamed to b")) as snapshot:
        assert subjects(past.history(snapshot, "b")) == ["renamed to b", "line twenty", "start"]
        assert subjects(past.history(snapshot, "b", (20, 20))) == ["line twenty", "start"]
        assert subjects(past.history(snapshot, "b", (1, 2))) == ["start"]
        assert isinstance(past.history(snapshot, "b", (31, 32)), Refused)
        assert isinstance(past.history(snapshot, "a"), Refused)


def test_history_of_a_text_names_the_commits_that_brought_and_took_it(origin, at):
    origin.commit({"a": numbered()}, "start")
    origin.commit({"a": numbered(_5="--retry")}, "bring it")
    origin.commit({"a": numbered(_5="--retry", _9="x")}, "something else")
    with at(origin.commit({"a": numbered(_9="x")}, "take it")) as snapshot:
        assert subjects(past.history(snapshot, "a", None, "--retry")) == ["take it", "bring it"]
        nothing = past.history(snapshot, "a", None, "never there")
        assert isinstance(nothing, Refused) and "No commit is known" in nothing.reason
        assert isinstance(past.history(snapshot, "a", (1, 2), "--retry"), Refused)


def test_blame_names_the_last_commit_of_each_line_and_joins_neighbours(origin, at):
    origin.commit({"a": numbered()}, "start")
    second = origin.commit({"a": numbered(_3="three", _4="four")}, "Spell three and four (#77)")
    with at(origin.commit({"a": numbered(_3="three", _4="four"), "b": b"x\n"}, "another file")) as snapshot:
        head, *rows = past.blame(snapshot, "a", (2, 6)).split("\n")
        assert head == "a, lines 2-6 of 29"
        assert [row.split(": ")[0] for row in rows] == ["2", "3-4", "5-6"]
        assert rows[1].startswith(f"3-4: {second[:12]} 20") and rows[1].endswith("(#77) [pull request 77]")
        assert subjects(past.blame(snapshot, "a")) == ["start", "Spell three and four (#77)", "start"]


def test_blame_follows_a_rename_and_says_what_the_file_was_called(origin, at):
    origin.commit({"old name.txt": numbered()}, "start")
    with at(origin.commit({"a": numbered(_2="two")}, "renamed")) as snapshot:
        assert past.blame(snapshot, "a", (1, 2)).split("\n")[1].endswith("mira: start (the file was old name.txt)")


def test_blame_looks_through_indenting_and_through_commits_that_only_formatted(origin, at):
    origin.commit({"a": b"if x:\n  y = 'a'\nz = 1\n"}, "start")
    origin.commit({"a": b"if x:\n      y = 'a'\nz = 1\n"}, "indent")
    quotes = origin.commit({"a": b'if x:\n      y = "a"\nz = 1\n'}, "quotes")
    revisions = f"# formatting\n{quotes}  # quotes\n{'1' * 40}\nnonsense\n--output=x\n".encode()
    files = {"a": b'if x:\n      y = "a"\nz = 1\n', past.PASSED_OVER: revisions}
    with at(origin.commit(files, "say so")) as snapshot:
        assert subjects(past.blame(snapshot, "a")) == ["start"]


@pytest.mark.parametrize(("path", "lines", "why"), [
    ("a", (0, 2), "is not a range"), ("a", (5, 4), "is not a range"), ("a", (29, 30), "is not a range"),
    ("no", None, "does not exist"), ("empty", None, "is empty"), ("bin", None, "binary"), ("dir", None, "is a folder"),
])  # fmt: skip
def test_blame_of_what_has_no_such_lines_is_refused_by_name(origin, at, path, lines, why):
    files = {"a": numbered(), "empty": b"", "bin": b"\0\1", "dir/x": b"x\n"}
    with at(origin.commit(files)) as snapshot:
        refused = past.blame(snapshot, path, lines)
        assert isinstance(refused, Refused) and why in refused.reason


def test_blame_of_a_long_file_says_where_to_ask_on(origin, at):
    with at(origin.commit({"a": b"x\n" * 1000}, "start")) as snapshot:
        text = past.blame(snapshot, "a")
        assert text.startswith("a, lines 1-400 of 1,000; cut at the limit, ask on from line 401\n1-400: ")


def test_a_commit_tells_its_message_files_and_patch(origin, at):
    origin.commit({"a": numbered(), "b": b"b\n", "bin": b"\0"}, "start")
    message = "Spell three\n\nThe school wants it so.\n\nFixes #12"
    second = origin.commit({"a": numbered(_3="three"), "c": b"b\n", "bin": b"\0\1"}, message)
    with at(origin.commit({"a": numbered()}, "later")) as snapshot:
        text = past.commit(snapshot, second[:9])
        assert text.startswith(f"commit {second[:12]} 20") and "Fixes #12\n3 files:\n" in text
        assert "  a +1 -1\n" in text and "  b => c +0 -0\n" in text and "  bin (binary)\n" in text
        assert "-3\n+three\n" in text and "rename from b" in text
        of_one = past.commit(snapshot, second, "a")
        assert "1 files:\n  a +1 -1\n" in of_one and "rename" not in of_one
        assert isinstance(past.commit(snapshot, second, "elsewhere"), Refused)


def test_a_merge_is_told_by_what_it_brought_to_its_branch(origin, at):
    base = origin.commit({"a": b"a\n"}, "start")
    side = origin.commit({"a": b"a\n", "b": b"brought\n"}, "on the side")
    words = ["commit-tree", tree_of(origin, side), "-p", base, "-p", side, "-m", "Merge pull request #9 from x/y"]
    merge = origin.git(*words).decode().strip()
    origin.git("update-ref", "refs/heads/main", merge)
    with at(merge) as snapshot:
        text = past.commit(snapshot, merge)
        assert "Merge pull request #9" in text and "1 files:\n  b +1 -0\n" in text and "+brought" in text
        assert subjects(past.blame(snapshot, "b")) == ["on the side"]


def tree_of(origin, commit: str) -> str:
    return origin.git("rev-parse", f"{commit}^{{tree}}").decode().strip()


def test_only_commits_of_the_base_commits_history_are_told(origin, at):
    first = origin.commit({"a": b"1\n"}, "first")
    later = origin.commit({"a": b"2\n"}, "later, and maybe of somebody else")
    at(later).close()
    with at(first) as snapshot:
        for name in (later, "1" * 40, "main", "HEAD", "--output=x", "a", "refs/heads/main", f"{first}..{later}"):
            refused = past.commit(snapshot, name)
            assert isinstance(refused, Refused), name


def test_a_long_patch_is_cut_and_a_huge_one_is_asked_for_by_path(origin, at):
    origin.commit({"a": b"", "b": b""}, "start")
    lines = b"".join(b"%d %s\n" % (number, b"x" * 80) for number in range(1_000))
    long = origin.commit({"a": lines, "b": b""}, "long")
    huge = origin.commit({"a": lines, "b": lines * 100}, "huge")
    with at(huge) as snapshot:
        text = past.commit(snapshot, long)
        assert len(text) < READ_CHARACTERS + 1_000 and text.endswith("more characters; ask for it with a path]")
        assert past.commit(snapshot, huge).endswith("too large to be read as a whole; ask for it with a path.")


def test_the_tools_hand_on_what_they_are_asked(origin, at, tmp_path):
    origin.commit({"a": numbered()}, "start")
    with at(origin.commit({"a": numbered(_3="three")}, "three")) as snapshot:
        tools = ReadTools(snapshot, SymbolCache(tmp_path / "symbols.db")).every()
        (_, blame), (_, history), (_, commit) = tools["blame"], tools["history"], tools["commit"]
        assert subjects(blame({"path": "a", "start": 3}).text) == ["three"]
        assert subjects(blame({"path": "a", "end": 3}).text) == ["three"]
        assert subjects(history({"path": "a", "start": 4, "end": 5}).text) == ["start"]
        assert subjects(history({"path": "a", "text": "three"}).text) == ["three"]
        told = commit({"commit": snapshot.commit.upper(), "path": "a"})
        assert isinstance(told, Answer) and "+three" in told.text
        assert isinstance(commit({"commit": "no such"}), Failed)


@given(number=st.integers(1, 999_999_999), words=st.text(st.characters(exclude_characters="\n"), max_size=40))
def test_a_first_line_tells_its_pull_request_only_as_github_writes_it(number, words):
    def pull_of(subject):
        return PastChange("c", "a", "w", subject).pull

    assert pull_of(f"{words} (#{number})") == number
    assert pull_of(f"Merge pull request #{number} from mira/fix") == number
    assert pull_of(f"{words} fixes #{number}, see there") is None
    assert pull_of(f"see (#{number}) for why") is None
