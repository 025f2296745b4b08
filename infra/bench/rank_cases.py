"""Cases for the ranking: issues with the files that their fix touched, and commits taken for issues."""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from worker.repo.clone import Clone
from worker.repo.git import Bounds, GitError
from worker.repo.rank_command import issue_in
from worker.repo.ranking.issue import IssueText
from worker.repo.ranking.places import place_of

_SOUNDS_LIKE_A_FAULT = re.compile(
    r"\b(fix|bug|error|crash|fail|incorrect|wrong|raise|support|regression)", re.IGNORECASE
)
_LOOKED_AT = 6000
_MOST_LINES = 30


@dataclass(frozen=True, slots=True)
class Case:
    """An issue of `repository` at `commit`; the fix touched the `gold` files."""

    repository: str
    commit: str
    issue: IssueText
    gold: tuple[str, ...]
    name: str


def clone_of(repos: Path, repository: str) -> Clone:
    """The bare clone `owner+name.git`. Raises NoClone."""
    return Clone(repos / f"{repository.replace('/', '+')}.git")


def issues_in(file: Path) -> list[Case]:
    """The issues of a file with one JSON object a line."""
    cases = []
    for line in file.read_text("utf-8").splitlines():
        one = json.loads(line)
        issue = issue_in(one["problem_statement"])
        cases.append(Case(one["repo"], one["base_commit"], issue, tuple(one["gold_files"]), one["instance_id"]))
    return cases


def commits_in(repos: Path, many: int, seed: int) -> list[Case]:
    """Of every clone `many` commits that touch one or two source files and a test.

    Each gives two cases at its parent: its message, and its subject with the lines it adds to tests as a code block.
    """
    cases: list[Case] = []
    for folder in sorted(repos.glob("*.git")):
        found = list(_commits(folder))
        random.Random(seed).shuffle(found)
        for one in found[:many]:
            cases += _two_cases(folder, one)
    return cases


@dataclass(frozen=True, slots=True)
class _Commit:
    id: str
    parent: str
    said: str
    gold: tuple[str, ...]
    tests: tuple[str, ...]


def _commits(folder: Path) -> Iterator[_Commit]:
    words = ["log", "--no-merges", "--all", f"--max-count={_LOOKED_AT}", "--name-only", "--no-renames"]
    out = Clone(folder).git.run(*words, "--format=%x01%H%x02%P%x02%B%x02", "--", bounds=Bounds(300.0, 256_000_000))
    for record in out.decode("utf-8", "replace").split("\x01")[1:]:
        commit, parent, said, names = record.split("\x02")
        files = [name for name in names.split("\n") if name]
        code = [name for name in files if name.endswith(".py")]
        gold = tuple(name for name in code if place_of(name) == "source")
        tests = tuple(name for name in code if place_of(name) == "test")
        small = 1 <= len(gold) <= 2 and tests and len(files) <= 8
        if small and _SOUNDS_LIKE_A_FAULT.search(said) and len(said.split()) > 5 and re.fullmatch(r"\w+", parent):
            yield _Commit(commit, parent, said, gold, tests)


def _two_cases(folder: Path, one: _Commit) -> list[Case]:
    git = Clone(folder).git
    repository = folder.name.removesuffix(".git").replace("+", "/", 1)
    try:
        if any(not git.run("ls-tree", one.parent, "--", name) for name in one.gold):
            return []
        diff = git.run("diff", "-U0", "--no-ext-diff", one.parent, one.id, "--", *one.tests).decode("utf-8", "replace")
    except GitError:
        return []
    added = [line[1:] for line in diff.split("\n") if line.startswith("+") and not line.startswith("+++")]
    subject, _, rest = one.said.partition("\n")
    body = "```python\n" + "\n".join(added[:_MOST_LINES]) + "\n```\n"
    signed = re.compile(r"^(Co-authored-by|Signed-off-by).*$", re.MULTILINE)
    return [
        Case(repository, one.parent, IssueText(subject, signed.sub("", rest)), one.gold, f"{one.id[:10]} message"),
        Case(repository, one.parent, IssueText(subject, body), one.gold, f"{one.id[:10]} test"),
    ]
