"""Where to look first: a hint, of which it is said when there is none."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.core.belts import Belt
from worker.belts.conversation import Conversation
from worker.belts.places import places
from worker.belts.reading_up import ReadUp
from worker.evidence.trace import Trace
from worker.repo.clone import Clone
from worker.repo.ranking.store import IndexCache
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[dict[str, str]], Snapshot]]:
    folder, snapshots = tmp_path / "shop", []

    def open_(files: dict[str, str]) -> Snapshot:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        who = ["-c", "user.name=mira", "-c", "user.email=mira@example.org"]
        for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "a shop"]):
            subprocess.run(["git", *words], cwd=folder, check=True)
        clone = Clone(folder)
        snapshots.append(Snapshot(clone, clone.commit("HEAD")))
        return snapshots[-1]

    yield open_
    for one in snapshots:
        one.close()


@pytest.fixture
def index(tmp_path: Path) -> IndexCache:
    return IndexCache(tmp_path / "kept" / "index.db", SymbolCache(tmp_path / "kept" / "symbols.db"))


def read_up(title: str, body: str = "") -> ReadUp:
    return ReadUp(title, body, "olga", Conversation(), (), "0" * 64, "main", "0" * 40)


def test_ten_paths_are_told_each_with_its_reason_as_data(opened, index):
    files = {f"shop/part_{number:02}.py": f"def part_{number}():\n    pass\n" for number in range(20)}
    files |= {"shop/cart.py": "def total_price():\n    return 0\n"}
    text = places(read_up("`total_price` is wrong"), opened(files), index, Trace("a run", Belt.PLANNER))
    assert text.startswith("# Places to look first") and "a hint" in text
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(lines) == 10
    assert lines[0] == "- shop/cart.py: defines `total_price`, named in the issue [total_price]"
    assert text.index("<untrusted-text") < text.index(lines[0])


def test_a_ranking_that_fails_ends_nothing_and_is_said_on_the_page_and_in_the_trace(opened, index, tmp_path):
    snapshot, trace = opened({"shop/cart.py": "def total_price():\n    return 0\n"}), Trace("a run", Belt.PLANNER)
    assert snapshot.list()
    shutil.rmtree(tmp_path / "shop" / ".git" / "objects")
    text = places(read_up("`total_price` is wrong"), snapshot, index, trace)
    assert text == "# Places to look first\n\nNone: the ranking ended with GitError. Search for yourself."
    assert [(one.name, one.outcome) for one in trace.taken()] == [("rank", "GitError")]


def test_a_repository_without_source_files_has_no_places(opened, index):
    text = places(read_up("A typo"), opened({"README.md": "helo\n"}), index, Trace("a run", Belt.PLANNER))
    assert "None: there is no source file that a ranking knows." in text


def test_of_a_very_large_repository_it_is_said_that_few_files_were_compared(tmp_path, index):
    """4,050 files of one content, which is read once; the one that is asked for comes late in the alphabet."""
    folder = tmp_path / "large.git"
    files = {f"shop/part_{number:04}.py": b"pass\n" for number in range(4_050)}
    files["zoo/cart.py"] = b"def total_price():\n    return 0\n"
    stream = b"commit refs/heads/main\ncommitter mira <mira@example.org> 1700000000 +0000\ndata 4\nmany\n"
    for path, text in files.items():
        stream += f"M 100644 inline {path}\ndata {len(text)}\n".encode() + text + b"\n"
    subprocess.run(["git", "init", "-q", "--bare", str(folder)], check=True)
    subprocess.run(["git", f"--git-dir={folder}", "fast-import", "--quiet"], input=stream, check=True)
    clone = Clone(folder)
    with Snapshot(clone, clone.commit("main")) as snapshot:
        text = places(read_up("`total_price` is wrong"), snapshot, index, Trace("a run", Belt.PLANNER))
    assert "Of 4,051 source files only the likeliest 4,000 were compared." in text
    assert "- zoo/cart.py: defines `total_price`" in text
